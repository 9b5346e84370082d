"""One open chat document: sends the message in its input, and writes the answer as it comes.

The document is a view. Deleting text in it deletes nothing of the conversation.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from palimpsest.domain.chat_documents.document import (
    BREAK,
    MOST_SHOWN,
    AnswerStream,
    Shown,
    Unsendable,
    aside,
    user_section,
)
from palimpsest.domain.command_names import TYPED
from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.domain.messages import Content, ConversationId, SummaryId, TurnId
from palimpsest.domain.sharing.status import HubState
from palimpsest.domain.turns.journal import Numbered
from palimpsest.lsp.abilities import can_apply, could_apply
from palimpsest.lsp.features.attachments import content_of
from palimpsest.lsp.features.chat import stop_turn
from palimpsest.lsp.features.chat_documents.remains import Remains
from palimpsest.lsp.features.chat_documents.written_document import Reading, WrittenDocument
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.features.search_notice import tell_of_search
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.machine import machine
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Scope
from palimpsest.services.conversation.conversations import NewestHidden
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.turns.running import RunningTurn, begun

log = logging.getLogger(__name__)

NO_EDITS: Final = (
    "This editor does not let a language server edit documents (workspace/applyEdit), so it cannot chat in one. Plain "
    "requests work: palimpsest/chat, palimpsest/conversation/read."
)
_SENTENCES: Final = {
    Unsendable.EMPTY: "There is no message yet. Write one below the last line of that kind, then send it.",
    Unsendable.ONLY_FENCED: "All of the message is fenced. Say outside the fence what it is about.",
}


class OpenChat:
    """One document on one connection, which shows one conversation."""

    def __init__(
        self, ls: PalimpsestServer, root: Path, uri: str, conversation_id: ConversationId, before: Remains | None
    ) -> None:
        self._ls, self.root, self.uri, self.conversation_id = ls, root, uri, conversation_id
        self.document = WrittenDocument(ls, uri, before)
        self.summaries: Sequence[Summary] = ()
        """The summaries that the document shows."""
        self._asides: list[tuple[int, str]] = []
        """Answers of commands: the number of messages before each, and its text."""
        self._aside_since = 0
        """The newest range that was hidden or purged in the folder when the commands were answered. After a newer one
        the answers may quote text that is gone."""
        self._beginning = asyncio.Lock()
        """Held while a message is being sent, until its turn is admitted."""
        self._is_finishing = False
        """Whether an answer has ended and the document is being brought in line with the stored messages."""
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._is_outdated = False
        """Whether the conversation has changed since it was last read for the view."""

    @property
    def is_answering(self) -> bool:
        """Whether an answer is being written into the document."""
        return self.document.answering is not None or self._is_finishing

    @property
    def is_under_way(self) -> bool:
        """Whether a message is being sent, or an edit is under way."""
        return self._beginning.locked() or self.document.is_sending

    @property
    def has_asides(self) -> bool:
        """Whether the document shows answers of commands, which may quote other conversations."""
        return bool(self._asides)

    async def session(self) -> FolderSession:
        """The folder's current session. Never keep it: a change of settings or keys replaces it."""
        return await (await self._ls.folders()).get(self.root)

    # ------------------------------------------------------------------------------------------ the conversation

    async def show(self) -> None:
        """Writes the conversation as it is, whatever the document holds. The input stays, unless it was sent before the
        document was saved. An empty input gets the draft."""
        reading = await self._read()
        while self.document.is_writing and not self.document.is_closed:  # another writer may have begun meanwhile
            await self.document.settled.wait()
            reading = await self._read()
        if not self.document.is_closed:
            self.document.show(reading)

    async def require_edits(self) -> None:
        """Lets the document be edited, because the user asked for something that edits it: an editor that has not
        announced edits is asked to make them all the same. Raises InvalidRequest when it makes none."""
        if not could_apply(self._ls):
            raise InvalidRequest(NO_EDITS)
        if not can_apply(self._ls):
            self._ls.edits_unannounced = True
            await self.show()
            await self.document.settle()
            if not can_apply(self._ls):
                raise InvalidRequest(NO_EDITS)

    def changed_elsewhere(self) -> None:
        """Shows a change of the conversation soon, unless the user has edited the view."""
        self._is_outdated = True
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = self._start(self._refresh())

    async def _refresh(self) -> None:
        while self._is_outdated:
            await self.document.settled.wait()
            if self.document.is_closed or self.is_answering:  # the end of an answer brings the document up to date
                return
            await self._bring_up_to_date()

    async def _bring_up_to_date(self) -> None:
        """Replaces an untouched view by the conversation as it is. A no-op when another writer begins meanwhile."""
        self._is_outdated = False
        reading = await self._read()
        if self.document.is_writing:
            self._is_outdated = True
            return
        self.document.update(reading)

    async def _read(self) -> Reading:
        session = await self.session()
        gone = await self._forget_asides(session)
        conversations = session.conversations
        record = (await conversations.read(self.conversation_id, 0, 1)).record
        page = await conversations.read(self.conversation_id, max(0, record.n_messages - MOST_SHOWN), MOST_SHOWN + 1)
        if record.shared is not None and not record.shared.is_detached:
            session.folder.sharing.look_at(self.conversation_id)
        state = await session.contexts.state(self.conversation_id)
        self.summaries = [piece.summary for piece in state.pieces if isinstance(piece, SummaryPiece)]
        visible = [each for each in page.messages if each.id not in page.hidden]
        self.document.note_reading(gone)
        shown = Shown(page.record.title, visible, self.summaries, self._asides, page.authors)
        return Reading(shown, page.record.draft, gone)

    async def _forget_asides(self, session: FolderSession) -> NewestHidden:
        """Drops answers of commands when they may quote text that is gone since; returns the newest hidden range."""
        gone = await session.conversations.newest_hidden(self.conversation_id)
        if gone.anywhere != self._aside_since:
            self._asides, self._aside_since = [], gone.anywhere
        return gone

    async def obstacle(self) -> str | None:
        """Why a message can be sent in a fork only: somebody else writes the shared conversation, or the hub is away;
        None otherwise."""
        session = await self.session()
        if (writing := session.folder.sharing.writing(self.conversation_id)) is not None:
            who = (
                f"You are {writing.work} on another machine" if writing.is_self else f"{writing.name} is {writing.work}"
            )
            return f"{who}. Go on in a fork, or wait for the end."
        mark = (await session.conversations.read(self.conversation_id, 0, 1)).record.shared
        if mark is None or mark.is_detached or session.folder.sharing.status.state is not HubState.AWAY:
            return None
        return "The hub of this shared conversation does not answer. Go on in a fork, or wait until it does."

    async def mark(self) -> str | None:
        """That the conversation is shared, and with whom; None for one that is not."""
        session = await self.session()
        mark = (await session.conversations.read(self.conversation_id, 0, 1)).record.shared
        if mark is None or mark.is_detached:
            return None
        watch = session.folder.sharing.watch
        team = None if watch is None else watch.teams.get(mark.team)
        return "This conversation is shared" + ("." if team is None else f" with the team {team.name}.")

    # ------------------------------------------------------------------------------------------ sending

    async def send(self, asked: str) -> dict[str, Any]:
        """Begins a turn with `asked`, the input at the moment when the user sent it, and returns when it is admitted.
        Raises InvalidRequest for what cannot be sent, and the errors of the turn's beginning; the document is unchanged
        then."""
        await self.require_edits()
        self._require_free("Wait for its end or stop it, then send.")
        async with self._beginning:
            message = await self._input(asked)
            self.document.hold_input()
            return await self._send(message)

    async def go_on_in(self, conversation_id: ConversationId, said: tuple[str, str] | None = None) -> OpenChat:
        """The document shows another conversation from now on, with `said`, a command and its answer. What stands in
        its input stays. Raises InvalidRequest while an answer is being written, and NotFound when the document is
        closed meanwhile."""
        self._require_free("Wait for its end or stop it, then go on in another conversation.")
        async with self._beginning:
            await self.document.settle()
            return await self._ls.part(OpenChats).move(await self.session(), self, conversation_id, said)

    async def note_command(self, command: str, answer: str) -> None:
        """Has the view show a command and its answer behind the newest message."""
        session = await self.session()
        await self._forget_asides(session)
        n_messages = (await session.contexts.state(self.conversation_id)).n_messages
        self._asides.append((n_messages, aside(n_messages, command, answer)))

    async def run(self, text: str) -> dict[str, Any]:
        """Carries out a slash command that was not typed here, and writes its answer into the document. Raises
        InvalidRequest while an answer is being written, and the errors of the command."""
        await self.require_edits()
        self._require_free("Wait for its end or stop it, then go on.")
        async with self._beginning:
            await self.document.settle()
            self.document.hold()
            return await self._send(text)

    async def add_to_input(self, text: str) -> None:
        """Adds a text to the end of the input. Returns before the editor has made the edit: some make none before the
        command that asked for it is answered. Raises InvalidRequest while an answer is being written."""
        await self.require_edits()
        self._require_free("Wait for its end or stop it, then try again.")
        async with self._beginning:
            await self.document.settle()
            self.document.add_to_input(text)

    def _require_free(self, advice: str) -> None:
        if self.is_answering or self._beginning.locked():
            raise InvalidRequest(f"The answer is still being written. {advice}")

    async def _input(self, asked: str) -> str:
        """The message in the input, once nothing is under way. Raises InvalidRequest when it cannot be sent, and when
        it is not `asked`: the user did not send another text."""
        await self.document.settle()
        parsed = self.document.parsed
        if parsed.marker_line is None:
            raise InvalidRequest("The line that begins the input was deleted. Close the document and open it again.")
        if (problem := parsed.problem) is not None:
            raise InvalidRequest(_SENTENCES[problem])
        if parsed.message != asked:
            raise InvalidRequest("The message has changed since you sent it, so it was not sent. Send it again.")
        return parsed.message

    async def _send(self, message: str) -> dict[str, Any]:
        try:
            return await (self._command(message) if TYPED.fullmatch(message) else self._ask_model(message))
        except BaseException:
            if self.document.drop_held() and self.document.is_closed:
                await (await self.session()).conversations.set_draft(self.conversation_id, message)
            raise

    async def _command(self, message: str) -> dict[str, Any]:
        """Carries out a slash command. Its answer is written into the document and is no message."""
        session = await self.session()
        reply = await run_command(Scope(session, self.conversation_id, self._ls.part(OfferedModels).id), message)
        await self.note_command(message, reply.text)
        self.document.write_quoting(f"{BREAK}{self._asides[-1][1]}")
        self.document.release()
        if reply.conversation_id in (None, self.conversation_id):
            self.changed_elsewhere()
        else:
            following = self._start(self._follow_command(reply.conversation_id, (message, reply.text)))
            self._ls.part(OpenChats).note_move(following)
        answer = {"conversationId": reply.conversation_id or self.conversation_id, "text": reply.text}
        return answer if reply.turn_id is None else answer | {"turnId": reply.turn_id}

    async def _follow_command(self, conversation_id: ConversationId, said: tuple[str, str]) -> None:
        """The command chose another conversation, which the document shows now. Behind the command's own answer: an
        editor may make no edit before it has that."""
        async with self._beginning:
            pass
        await self.go_on_in(conversation_id, said)

    async def _ask_model(self, message: str) -> dict[str, Any]:
        await (await self._ls.folders()).look_for_keys()
        session = await self.session()
        said = await content_of(self._ls, session, self.conversation_id, message)
        content = said.content
        asked_by = self._ls.part(OfferedModels).id

        def stop(turn: RunningTurn) -> None:
            """The request is cancelled, but its message is stored: the document shows the turn all the same."""
            stop_turn(self._ls, turn)
            self._answer(turn, content)

        starting = session.turns.start(self.conversation_id, machine.new_id(), content, asked_by, said.pictures)
        started = await begun(starting, stop)
        if isinstance(started, str):
            raise InvalidRequest("The message has been sent already.")
        self._answer(started, content)
        return {"conversationId": self.conversation_id, "turnId": started.id}

    def _answer(self, turn: RunningTurn, content: Content) -> None:
        """Moves the stored message from the input to the view, and follows the turn."""
        self.document.write(f"{BREAK}{user_section(turn.user_message_id, content)}")
        self.document.answering = turn
        self.document.release()
        self._start(self._follow(turn))

    async def _follow(self, turn: RunningTurn) -> None:
        document = self.document
        stream = AnswerStream(turn.user_message_id + 1)

        def show(numbered: Numbered) -> None:
            document.write(stream.feed(numbered.event))
            document.advance()

        unfollow = turn.follow(show, 0)
        try:
            await turn.wait()
            if document.is_closed:
                return
            document.write(stream.end())
            document.advance()
            session = await self.session()
            await tell_of_search(self._ls, session, turn.id)
            await session.conversations.require_success(turn.id)
        except PalimpsestError as error:
            self._ls.warn(str(error))
        finally:
            unfollow()
            document.answering, self._is_finishing = None, not document.is_closed
        try:
            document.advance()
            await document.settled.wait()
            await self._bring_up_to_date()
            await document.settled.wait()
        finally:
            self._is_finishing = False
        if self._is_outdated:
            self.changed_elsewhere()
        document.look_again()

    async def stop(self) -> None:
        """Ends the running turn of the conversation, whichever client began it; its text is kept. A no-op when no turn
        runs."""
        session = await self.session()
        running = (await session.conversations.read(self.conversation_id, 0, 1)).running
        turn = None if running is None else session.folder.running.get(TurnId(running.turn_id))
        if turn is not None:
            turn.cancel()
            await turn.wait()
        elif running is not None:
            await session.folder.following.cancel(running.turn_id)

    async def expand(self, summary_id: int) -> None:
        await (await self.session()).conversations.expand(self.conversation_id, SummaryId(summary_id))
        self.changed_elsewhere()

    # ------------------------------------------------------------------------------------------ closing

    async def close(self) -> None:
        """Ends the document, which the editor has closed. An answer goes on, and the document shows it when it is
        opened again."""
        message, is_writing = self.document.unsent(), self.document.is_writing
        self.document.settled.set()
        if message is None:
            return
        session = await self.session()
        if not is_writing and self.document.view:
            await session.conversations.set_draft(self.conversation_id, message)
        await self._leave_nothing(session, message if is_writing else "")

    async def _leave_nothing(self, session: FolderSession, message: str) -> None:
        """Empties the file when the editor may have saved text in it that was hidden or purged. `message`, the unsent
        input, becomes the draft."""
        gone, path = await session.conversations.newest_hidden(self.conversation_id), self._ls.resolve(self.uri)
        if path is None or not self.document.remains.may_hold(gone):
            return
        if message:
            await session.conversations.set_draft(self.conversation_id, message)
        await session.folder.documents.empty_one(path)

    async def outlast(self) -> None:
        """Returns when nothing that was under way at closing can still be sent, or arrive in the document."""
        async with self._beginning:
            pass
        await self.document.outlast()

    async def leave(self) -> None:
        """Ends the document with its connection. A turn that no other client follows ends with it; its text is kept."""
        turn, self.document.is_closed = self.document.answering, True
        for task in self._tasks:
            task.cancel()
        self.document.cancel_sending()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        is_alone = turn is not None and turn.n_followers == 0
        if turn is not None and is_alone:
            turn.interrupt()
        if (message := self.document.unsent()) is not None:
            with contextlib.suppress(PalimpsestError):
                await self._leave_nothing(await self.session(), message)
        if turn is not None and is_alone:
            await turn.wait()

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(_logged(work))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task


async def _logged(work: Any) -> None:
    try:
        await work
    except PalimpsestError as error:
        log.warning("a chat document could not be brought up to date: %s", error.kind)
    except Exception as error:
        log.warning("a chat document could not be brought up to date (%s)", type(error).__name__)
