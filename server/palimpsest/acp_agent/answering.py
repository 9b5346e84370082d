"""The answer to a prompt: of a slash command at once, of a message by a turn, which is shown as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Final

from palimpsest.acp_agent.prompts import Prompt, read_prompt
from palimpsest.acp_agent.sessions import NOT_OFFERED, OpenConversation, Sessions
from palimpsest.acp_agent.updates import TurnUpdates, agent_text, context_note, note
from palimpsest.domain.command_names import TYPED, CommandName
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.turns.states import TurnState
from palimpsest.machine import machine
from palimpsest.services.chat.attachments import Said, take_snapshots, user_content, window_of
from palimpsest.services.chat.commands.markdown import plain
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Scope
from palimpsest.services.chat.commands.table import parse
from palimpsest.services.chat.commands.worded import worded_message
from palimpsest.services.chat.mentioned import Mentioning, mentioned
from palimpsest.services.chat.pages import Pages
from palimpsest.services.events import ContextEvent, FolderEvent
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.models.offline_notice import ELSEWHERE, notice_of
from palimpsest.services.turns.running import RunningTurn, begun
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.texts import WorkspaceTexts


class StopReason(Enum):
    """The protocol's stop reason for the end of an answer."""

    END = "end_turn"
    OUTPUT_LIMIT = "max_tokens"
    TOOL_ROUNDS = "max_turn_requests"
    FILTERED = "refusal"
    CANCELLED = "cancelled"


_STOP_REASONS: Final = {
    "output_limit": StopReason.OUTPUT_LIMIT,
    "tool_rounds": StopReason.TOOL_ROUNDS,
    "filtered": StopReason.FILTERED,
}
"""The stop reasons of committed turns; an unknown one is an ordinary end."""


async def answer(sessions: Sessions, opened: OpenConversation, blocks: Sequence[Any]) -> StopReason:
    """Answer a prompt. Returns the protocol's stop reason when everything is sent. Cancelling cancels the turn and
    waits until its partial answer is kept and shown. Raises PalimpsestError."""
    session = await sessions.session(opened.root)
    asked = await asyncio.to_thread(read_prompt, blocks, session.folder.root)
    worded = await worded_message(session.folder, asked.text) if _is_command(asked) else None
    if worded is not None:
        asked = replace(asked, text=worded.message)  # a client of this protocol has no draft
    elif _is_command(asked):
        opened.outbox.put(agent_text(await _run_command(sessions, session, opened, asked.text)))
        await sessions.tell_state(opened)
        await opened.outbox.flush()
        return StopReason.END
    said, request_id = await _said(session, opened, asked, is_typed=worded is None), machine.new_id()
    if opened.blank is not None and await session.conversations.holds(opened.id):
        opened.blank = None  # the first message was stored, and then cancelled
    if opened.blank is None:
        starting = session.turns.start(opened.id, request_id, said.content, None, said.pictures)
    else:
        starting = session.turns.begin(opened.blank, request_id, said.content, None, said.pictures)
    started = await begun(starting, lambda turn: _stop(sessions, turn))
    opened.blank = None
    assert isinstance(started, RunningTurn), "a new request begins a turn"
    try:
        await _show(sessions, session, opened, started)
    finally:
        await sessions.tell_state(opened)
    turn = (await session.conversations.require_success(started.id)).turn
    notice = await notice_of(session.folder.store, started.id, session.contexts.models, ELSEWHERE)
    if notice is not None:
        opened.outbox.put(note(notice))
        await opened.outbox.flush()
    if turn.state is TurnState.CANCELLED:
        return StopReason.CANCELLED
    return _STOP_REASONS.get(turn.stop_reason or "", StopReason.END)


def _stop(sessions: Sessions, turn: RunningTurn) -> None:
    """Stop a turn for the user, or because the client has left; then the user may want to continue it."""
    if sessions.has_left:
        turn.interrupt()
    else:
        turn.cancel()


async def _show(sessions: Sessions, session: FolderSession, opened: OpenConversation, turn: RunningTurn) -> None:
    """Show a turn to its end."""
    updates = sessions.turns[turn.id] = TurnUpdates(session.folder.root, turn.id)

    def hear(event: FolderEvent) -> None:
        if isinstance(event, ContextEvent) and event.conversation_id == opened.id:
            opened.outbox.put(context_note(event))

    unsubscribe = session.folder.listeners.add(hear)
    unfollow = turn.follow(lambda each: opened.outbox.put(updates.of(each)), 0)
    try:
        await turn.wait()
    except asyncio.CancelledError:
        _stop(sessions, turn)
        await turn.wait()
        raise
    finally:
        unfollow()
        unsubscribe()
        sessions.turns.pop(turn.id, None)


async def _run_command(sessions: Sessions, session: FolderSession, opened: OpenConversation, text: str) -> str:
    """The answer of a command, in Markdown. Raises PalimpsestError."""
    asked = parse(text)
    if asked.command.name in NOT_OFFERED:
        raise InvalidRequest(
            "A session is one conversation, and each answer belongs to a prompt. Start another session in your client, "
            "or send the message again."
        )
    if opened.blank is None:
        return (await run_command(Scope(session, opened.id), text)).text
    if asked.command.name is CommandName.MODEL and asked.argument:
        return f"The model is now {plain(await sessions.switch_model(opened, session, asked.argument))}."
    return (await run_command(Scope(session, None), text)).text


async def _said(session: FolderSession, opened: OpenConversation, asked: Prompt, *, is_typed: bool) -> Said:
    texts = WorkspaceTexts(WorkspaceFiles(session.folder.root), session.folder.editors.texts())
    files = await take_snapshots(texts, asked.attachments)
    window = await window_of(session.contexts, None if opened.blank else opened.id)
    pages = Pages(session.folder, session.settings.web, opened.id) if is_typed else None
    found = await mentioned(Mentioning(session.folder, texts, asked.text, files, window, pages))
    for remark in found.remarks:
        opened.outbox.put(note(remark))
    return user_content(asked.text, [*files, *found.snapshots])


def _is_command(asked: Prompt) -> bool:
    return not asked.attachments and TYPED.fullmatch(asked.text.rstrip()) is not None
