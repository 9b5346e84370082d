"""Shows an existing conversation: its messages, a broken answer, and a running one."""

from __future__ import annotations

import asyncio
import logging

from palimpsest.acp_agent.sessions import OpenConversation, Sessions
from palimpsest.acp_agent.updates import TurnUpdates, agent_text, note, replay
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import MessageId
from palimpsest.services.conversation.conversations import MAX_PAGE, Running
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.turns.recovery import BrokenAnswer, Recovery
from palimpsest.wording import counted

log = logging.getLogger(__name__)


async def show(sessions: Sessions, session: FolderSession, opened: OpenConversation) -> None:
    """Send all stored messages, then return; a running turn is shown further."""
    start: MessageId | None = MessageId(0)
    running: Running | None = None
    visible: list[StoredMessage] = []
    while start is not None:
        page = await session.conversations.read(opened.id, start, MAX_PAGE)
        visible += [m for m in page.messages if m.id not in page.hidden and m.purged is None]
        start, running = page.next, page.running
    for update in replay(visible, session.folder.root):
        opened.outbox.put(update)
    broken = [each for each in await Recovery(session.turns).unresolved() if each.turn.conversation_id == opened.id]
    if broken:
        opened.outbox.put(note(_sentence(broken[-1])))
    if running is not None:
        opened.outbox.put(agent_text(running.text) if running.text else None)
        _show_on(sessions, session, opened, running)
    await opened.outbox.flush()


def _show_on(sessions: Sessions, session: FolderSession, opened: OpenConversation, running: Running) -> None:
    """Follow a turn of another client or another server."""
    if opened.following is not None and not opened.following.done():
        opened.following.cancel()
    updates = sessions.turns.setdefault(running.turn_id, TurnUpdates(session.folder.root, running.turn_id))

    async def follow() -> None:
        turn = session.folder.running.get(running.turn_id)
        try:
            if turn is not None:
                unfollow = turn.follow(lambda each: opened.outbox.put(updates.of(each)), running.last_seq)
                try:
                    await turn.wait()
                finally:
                    unfollow()
            else:
                await session.folder.following.follow(
                    running.turn_id, running.last_seq, lambda each: opened.outbox.put(updates.of(each))
                )
            await sessions.tell_state(opened)
        except PalimpsestError as error:  # for instance because the folder was closed meanwhile
            log.info("a turn is no longer followed: %s", error.kind)
        finally:
            sessions.turns.pop(running.turn_id, None)
            opened.followed = None

    opened.followed = running.turn_id
    opened.following = asyncio.create_task(follow(), name=f"following {running.turn_id}")


def _sentence(broken: BrokenAnswer) -> str:
    n_kept = counted(broken.n_characters, "character")
    kept = f"its text so far is kept ({n_kept})" if broken.n_characters else "it has no text"
    why = f" {broken.turn.error_message}" if broken.turn.error_message else ""
    return (
        f"the last answer broke off; {kept}.{why} Send a message to go on from there. To continue, discard or retry "
        "that answer, open the conversation in `palimpsest chat` or in an editor with Palimpsest's plugin."
    )
