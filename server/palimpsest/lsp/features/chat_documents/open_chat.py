"""A chat document that an editor has open: sends what stands in its input, and writes the answer into it as it comes.

The editor owns the document. What it tells of it is followed change by change; what we add goes through a `Placement`,
which knows when an edit has really arrived. Nothing here decides what a conversation is: deleting in the document
deletes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.chat_documents.document import (
    BREAK,
    MOST_SHOWN,
    AnswerStream,
    Parsed,
    Shown,
    Unsendable,
    aside,
    edit_of_view,
    n_left,
    n_sent,
    parse,
    render,
    rescued,
    user_section,
    whole,
    without_sent,
)
from palimpsest.domain.chat_documents.placement import Change, Placement, change_between
from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.domain.messages import Content, ConversationId, SummaryId, TurnId
from palimpsest.domain.turns.journal import Numbered
from palimpsest.lsp.abilities import can_apply, takes_versions
from palimpsest.lsp.features.chat import stop_turn
from palimpsest.lsp.features.chat_documents.mentions import attached, is_command
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.features.search_notice import tell_of_search
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.machine import machine
from palimpsest.services.chat.attachments import user_content
from palimpsest.services.chat.run_command import Commanding
from palimpsest.services.conversation.conversations import NewestHidden
from palimpsest.services.conversation.documents import ChatDocuments
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.turns.running import RunningTurn, begun

log = logging.getLogger(__name__)

NO_EDITS: Final = (
    "This editor does not let a language server edit documents (workspace/applyEdit), so it cannot chat in one. Plain "
    "requests work: palimpsest/chat, palimpsest/conversation/read."
)
_SENTENCES: Final = {
    Unsendable.EMPTY: "There is no message yet. Write one below the last line that says so, then send it.",
    Unsendable.ONLY_FENCED: "All of the message is fenced. Say outside of the fence what it is about.",
}
_SETTLING_S: Final = 30
"""How long a message that is to be sent waits for what is on its way into the document."""
_UNSEEN_S: Final = 3.0
"""How long an edit that the editor says it has applied may stay out of what it tells, when it told something since."""
_MOST_REFUSALS: Final = 12
"""In a row, without a change between them."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What a document may still hold although it is sent or gone, because its editor was not seen to take it out; also
    when the document is opened again."""

    sent: str = ""
    """What was sent from the input, and stands there."""
    shown_at: NewestHidden | None = None
    """What was gone of what the document shows, as the editor last told it; None: nothing was read yet."""
    has_quoted: bool = False
    """Whether it may show answers of commands, also some that are forgotten."""

    def may_hold(self, gone: NewestHidden) -> bool:
        """Whether the document may show what is gone by now."""
        shown = self.shown_at
        if shown is None:
            return False
        return gone.here != shown.here or (self.has_quoted and gone.anywhere != shown.anywhere)


class OpenChat:
    """One document on one connection, bound to one conversation."""

    def __init__(
        self, ls: PalimpsestServer, root: Path, uri: str, conversation_id: ConversationId, before: Remains
    ) -> None:
        self._ls, self.root, self.uri, self.conversation_id = ls, root, uri, conversation_id
        self.text = normal(ls.workspace.get_text_document(uri).source)
        """As the editor last told it, every line ending with `\\n`."""
        self.view = ""
        """What we have put above the input."""
        self.summaries: Sequence[Summary] = ()
        self._asides: list[tuple[int, str]] = []
        """What commands answered: behind how many messages, and the text."""
        self._aside_since = 0
        """The newest thing that was hidden or purged in the folder when they were answered: what they quote may be
        gone when there is a newer one."""
        self._remains = before
        """What it may still hold and should not, from when it was open before on."""
        self._draft = ""
        """The conversation's draft when it was last read for the view."""
        self._read_at: NewestHidden | None = None
        """What was gone when the conversation was last read for the view."""
        self._placed_at: NewestHidden | None = None
        """What was gone of the view that is on its way; None while none is."""
        self._placement: Placement | None = None
        self._is_held = False
        """Whether the placement waits for the turn to be admitted."""
        self._beginning = asyncio.Lock()
        """Held while a message is being sent and its turn is not admitted yet."""
        self._answering: RunningTurn | None = None
        self._is_finishing = False
        """Whether an answer has ended and the document is brought in line with what is kept of it."""
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._sending: asyncio.Task[None] | None = None
        self._n_changes = self._n_sent = self._n_refused = 0
        self._settled = asyncio.Event()
        self._settled.set()
        self._refreshing: asyncio.Task[None] | None = None
        self._is_outdated = False
        """Whether the conversation has changed since it was last read for the view."""
        self.is_closed = False
        self.told_since = asyncio.Event()
        """Set when the editor tells a change of the document, which is open again."""
        self._look_at_remains()

    @property
    def parsed(self) -> Parsed:
        return parse(self.text)

    @property
    def is_answering(self) -> bool:
        """Whether an answer is written into the document."""
        return self._answering is not None or self._is_finishing

    @property
    def is_under_way(self) -> bool:
        """Whether a message is being sent, or an edit is on its way."""
        return self._beginning.locked() or self._sending is not None

    async def session(self) -> FolderSession:
        """The folder's session as it is now. It is never kept: another one takes its place when settings or keys
        change."""
        return await (await self._ls.folders()).get(self.root)

    def first_edit_of_view(self) -> int | None:
        """The line where the view is not as we have written it; None while we write, and where there is no view."""
        parsed = self.parsed
        if self._placement is not None or parsed.marker_line is None or not self.view:
            return None
        change = change_between(self.view, self.text[: parsed.view_end])
        is_same = change.start == change.end and not change.text
        return None if is_same else self.text.count("\n", 0, change.start)

    @property
    def remains(self) -> Remains:
        """For when the document is opened again."""
        typed = "" if self._placement is None or self._is_held else self._placement.typed.strip()
        return replace(self._remains, sent=typed or self._remains.sent)

    # ------------------------------------------------------------------------------------------ the conversation

    async def show(self) -> None:
        """Writes the conversation as it is, whatever stood there; the input stays, unless it was sent before the
        document was saved. For an empty input, the draft."""
        shown = await self._load()
        while self._placement is not None and not self.is_closed:  # somebody else may have begun to write meanwhile
            await self._settled.wait()
            shown = await self._load()
        if self.is_closed:
            return
        self.view, draft = render(shown), self._draft  # as it is now: what was waited for may have sent it
        parsed = self.parsed
        if parsed.marker_line is None:
            change = change_between(self.text, whole(self.view, rescued(self.text, self.view).strip("\n") or draft))
        elif not parsed.message and draft:
            change = change_between(self.text, whole(self.view, draft))
        else:
            change = edit_of_view(self.text, self.view)
        self._replace(change, parsed.input_start, n_sent(parsed, shown) or n_left(parsed.message, self._remains.sent))

    def changed_elsewhere(self) -> None:
        """The conversation has changed, by whomever: shown soon, unless the user has edited the view."""
        self._is_outdated = True
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = self._start(self._refresh())

    async def _refresh(self) -> None:
        while self._is_outdated:
            await self._settled.wait()
            if self.is_closed or self.is_answering:  # the end of an answer brings the document up to date
                return
            await self._bring_up_to_date()

    async def _bring_up_to_date(self) -> None:
        """Replaces an untouched view by the conversation as it is. One that was edited stays, and is said to be.
        Nothing when somebody else began to write into the document meanwhile."""
        self._is_outdated = False
        shown = await self._load()
        if self._placement is not None:
            self._is_outdated = True
            return
        is_untouched = self.first_edit_of_view() is None and self.parsed.marker_line is not None
        self.view = render(shown)
        if is_untouched:
            self._replace(edit_of_view(self.text, self.view))
        self._look_again()

    async def _load(self) -> Shown:
        session = await self.session()
        gone = await self._forget_asides(session)
        conversations = session.conversations
        record = (await conversations.read(self.conversation_id, 0, 1)).record
        page = await conversations.read(self.conversation_id, max(0, record.n_messages - MOST_SHOWN), MOST_SHOWN + 1)
        state = await session.contexts.state(self.conversation_id)
        self.summaries = [piece.summary for piece in state.pieces if isinstance(piece, SummaryPiece)]
        visible = [each for each in page.messages if each.id not in page.hidden]
        self._read_at, self._draft = gone, page.record.draft
        if self._remains.shown_at is None:
            self._remains = replace(self._remains, shown_at=gone)
        return Shown(page.record.title, visible, self.summaries, self._asides)

    async def _forget_asides(self, session: FolderSession) -> NewestHidden:
        """Those that may quote what is gone since."""
        gone = await session.conversations.newest_hidden(self.conversation_id)
        if gone.anywhere != self._aside_since:
            self._asides, self._aside_since = [], gone.anywhere
        return gone

    @property
    def has_asides(self) -> bool:
        """Whether it shows what may quote other conversations."""
        return bool(self._asides)

    async def send(self, asked: str) -> dict[str, Any]:
        """Begins a turn with `asked`, which stood in the input when the user sent it, and returns when it is admitted.
        Raises InvalidRequest for what cannot be sent, and what the turn's beginning raises; then the document is as it
        was."""
        if not can_apply(self._ls):
            raise InvalidRequest(NO_EDITS)
        if self.is_answering or self._beginning.locked():
            raise InvalidRequest("The answer is still being written. Wait for its end or stop it, then send.")
        async with self._beginning:
            message = await self._input(asked)
            placement = Placement(self.text, self.parsed.view_end)
            placement.remove_typed(self.parsed.input_start, len(self.text))
            self._hold(placement)
            return await self._send(message)

    async def run(self, text: str) -> dict[str, Any]:
        """Carries out a slash command that was not typed here; its answer stands in the document. Raises InvalidRequest
        while an answer is written, and what the command's own request raises."""
        if not can_apply(self._ls):
            raise InvalidRequest(NO_EDITS)
        if self.is_answering or self._beginning.locked():
            raise InvalidRequest("The answer is still being written. Wait for its end or stop it, then go on.")
        async with self._beginning:
            await self._settle()
            self._hold(Placement(self.text, self.parsed.view_end))
            return await self._send(text)

    async def _settle(self) -> None:
        """Waits until nothing is on its way into the document. Raises InvalidRequest when that does not come."""
        if not self._settled.is_set():
            try:
                async with asyncio.timeout(_SETTLING_S):
                    await self._settled.wait()
            except TimeoutError:
                raise InvalidRequest(
                    "The editor has not taken the last change of the document yet. Try again."
                ) from None

    async def _input(self, asked: str) -> str:
        """What the input holds once nothing is on its way into the document. Raises InvalidRequest when that cannot be
        sent, and when it is not `asked`: nobody has asked to send another text."""
        await self._settle()
        parsed = self.parsed
        if parsed.marker_line is None:
            raise InvalidRequest("The line that begins the input was deleted. Close the document and open it again.")
        if (problem := parsed.problem) is not None:
            raise InvalidRequest(_SENTENCES[problem])
        if parsed.message != asked:
            raise InvalidRequest("The message has changed since you sent it, so it was not sent. Send it again.")
        return parsed.message

    async def _send(self, message: str) -> dict[str, Any]:
        try:
            return await (self._command(message) if is_command(message) else self._ask_model(message))
        except BaseException:
            if self._is_held:  # nothing was sent
                self._placement, self._is_held = None, False
                self._settled.set()
                if self.is_closed:
                    await (await self.session()).conversations.set_draft(self.conversation_id, message)
            raise

    async def _command(self, message: str) -> dict[str, Any]:
        """Carries out a slash command; its answer stands in the document and is no message."""
        session = await self.session()
        reply = await Commanding(session, self.conversation_id, self._ls.part(OfferedModels).id).run(message)
        await self._forget_asides(session)
        n_messages = (await session.contexts.state(self.conversation_id)).n_messages
        self._asides.append((n_messages, aside(n_messages, message, reply.text)))
        self._remains = replace(self._remains, has_quoted=True)
        self._write(f"{BREAK}{self._asides[-1][1]}")
        self._let_go()
        self.changed_elsewhere()
        answer = {"conversationId": reply.conversation_id or self.conversation_id, "text": reply.text}
        return answer if reply.turn_id is None else answer | {"turnId": reply.turn_id}

    async def _ask_model(self, message: str) -> dict[str, Any]:
        await (await self._ls.folders()).look_for_keys()
        session = await self.session()
        content = user_content(message, await attached(self._ls, session, message))
        asked_by = self._ls.part(OfferedModels).id

        def stop(turn: RunningTurn) -> None:
            """The request is cancelled, and the message is sent all the same."""
            stop_turn(self._ls, turn)
            self._answer(turn, content)

        started = await begun(session.turns.start(self.conversation_id, machine.new_id(), content, asked_by), stop)
        if isinstance(started, str):
            raise InvalidRequest("The message was sent already.")
        self._answer(started, content)
        return {"conversationId": self.conversation_id, "turnId": started.id}

    def _answer(self, turn: RunningTurn, content: Content) -> None:
        """The message is stored: it leaves the input, and the answer comes."""
        self._write(f"{BREAK}{user_section(turn.user_message_id, content)}")
        self._answering = turn
        self._let_go()
        self._start(self._follow(turn))

    async def _follow(self, turn: RunningTurn) -> None:
        stream = AnswerStream(turn.user_message_id + 1)

        def show(numbered: Numbered) -> None:
            self._write(stream.feed(numbered.event))
            self._advance()

        unfollow = turn.follow(show, 0)
        try:
            await turn.wait()
            if self.is_closed:
                return
            self._write(stream.end())
            self._advance()
            session = await self.session()
            await tell_of_search(self._ls, session, turn.id)
            await session.conversations.require_success(turn.id)
        except PalimpsestError as error:
            self._ls.warn(str(error))
        finally:
            unfollow()
            self._answering, self._is_finishing = None, not self.is_closed
        try:
            self._advance()
            await self._settled.wait()
            await self._bring_up_to_date()
            await self._settled.wait()
        finally:
            self._is_finishing = False
        if self._is_outdated:
            self.changed_elsewhere()
        self._look_again()

    async def stop(self) -> None:
        """Ends the turn that runs in the conversation, whoever began it; what came stays. Nothing when none runs."""
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

    async def close(self) -> None:
        """The editor has closed the document (`is_closed`). An answer goes on and is there when it is opened again."""
        message, is_placed = self._unsent(), self._placement is None
        self._settled.set()
        if message is None:
            return
        session = await self.session()
        if is_placed and self.view:
            await session.conversations.set_draft(self.conversation_id, message)
        await self._leave_nothing(session, "" if is_placed else message)

    def _unsent(self) -> str | None:
        """What stands in the input and was not sent; None where there is no input."""
        parsed = self.parsed
        sent = "" if self._placement is None else self._placement.typed
        return None if parsed.marker_line is None else without_sent(parsed.message, sent or self._remains.sent)

    async def _leave_nothing(self, session: FolderSession, message: str) -> None:
        """The file may hold what was purged: the editor has saved what it was never seen to take out. Then it is
        emptied, and `message`, which stands in it, is the draft."""
        gone, path = await session.conversations.newest_hidden(self.conversation_id), self._ls.resolve(self.uri)
        if path is None or not self._remains.may_hold(gone):
            return
        if message:
            await session.conversations.set_draft(self.conversation_id, message)
        await ChatDocuments(session.folder.root, session.folder.store).empty_one(path)

    async def outlast(self) -> None:
        """Returns when nothing that was under way when the document was closed comes into it any more, or is sent."""
        async with self._beginning:
            pass
        if self._sending is None:
            return
        await asyncio.wait({self._sending}, timeout=_SETTLING_S)
        if self._placement is not None and self._placement.is_waiting:  # applied, the editor says
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_UNSEEN_S):
                    await self.told_since.wait()

    async def leave(self) -> None:
        """The connection ends. A turn that nobody else follows ends with it; what it said is kept."""
        turn, self.is_closed = self._answering, True
        for task in [*self._tasks, *([] if self._sending is None else [self._sending])]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        is_alone = turn is not None and turn.n_followers == 0
        if turn is not None and is_alone:
            turn.interrupt()
        if (message := self._unsent()) is not None:
            with contextlib.suppress(PalimpsestError):
                await self._leave_nothing(await self.session(), message)
        if turn is not None and is_alone:
            await turn.wait()

    # ------------------------------------------------------------------------------------------ the document

    def hear(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """What the editor tells of the document."""
        self._n_changes += 1
        self._n_refused = 0
        changes: list[Change] = []
        text = self.text
        for each in params.content_changes:
            change = self._to_change(text, each)
            changes.append(change)
            text = change.apply(text)
        told = normal(self._ls.workspace.get_text_document(self.uri).source)
        if told != text:
            changes.append(change_between(text, told))
        self.text = told
        self._look_at_remains()
        if self._placement is not None:
            self._placement.changed(changes)
            self._advance()

    def _look_at_remains(self) -> None:
        """What was sent and stands there no more was let go."""
        if self._remains.sent:
            message = self.parsed.message
            if without_sent(message, self._remains.sent) == message:
                self._remains = replace(self._remains, sent="")

    def _to_change(self, text: str, told: lsp.TextDocumentContentChangeEvent) -> Change:
        new = normal(told.text)
        if not isinstance(told, lsp.TextDocumentContentChangePartial):
            return Change(0, len(text), new)
        return Change(self.offset(text, told.range.start), self.offset(text, told.range.end), new)

    def offset(self, text: str, position: lsp.Position) -> int:
        lines = text.split("\n")
        if position.line >= len(lines):
            return len(text)
        codec = self._ls.workspace.position_codec
        at = codec.position_from_client_units([f"{lines[position.line]}\n"], lsp.Position(0, position.character))
        before = sum(len(line) + 1 for line in lines[: position.line])
        return before + min(at.character, len(lines[position.line]))

    def position(self, text: str, offset: int) -> lsp.Position:
        start = text.rfind("\n", 0, offset) + 1
        units = self._ls.workspace.position_codec.client_num_units(text[start:offset])
        return lsp.Position(text.count("\n", 0, offset), units)

    def _hold(self, placement: Placement) -> None:
        self._placement, self._is_held = placement, True
        if not self.is_closed:  # nothing comes into it any more that could be waited for
            self._settled.clear()

    def _let_go(self) -> None:
        self._is_held = False
        self._look_again()
        self._advance()

    def _replace(self, change: Change, sent_at: int = 0, n_sent: int = 0) -> None:
        """Makes a change of the view. `n_sent`: characters of a message that stands in the input at `sent_at` and was
        sent."""
        if not can_apply(self._ls):
            self._keep_sent(self.text[sent_at : sent_at + n_sent])
            return
        placement = Placement(self.text, change.start)
        placement.remove(change.start, change.end)
        placement.add(change.text)
        if n_sent:
            behind = self.text[sent_at + n_sent :]
            placement.remove_typed(sent_at, len(self.text) - len(behind.lstrip()))
        self._placed_at = self._read_at
        if placement.is_settled:
            self._settle_view()
            return
        self._hold(placement)
        self._let_go()

    def _settle_view(self) -> None:
        """What was on its way stands in the document."""
        if self._placed_at is not None:
            self._remains = Remains(self._remains.sent, self._placed_at, bool(self._asides))
            self._placed_at = None

    def _keep_sent(self, text: str) -> None:
        """The editor does not let go what was sent."""
        if text.strip():
            self._remains = replace(self._remains, sent=text.strip())

    def _write(self, text: str) -> None:
        if text:
            self.view += text
            if self._placement is not None:
                self._placement.add(text)

    def _advance(self) -> None:
        """Sends the next edit, when there is one and none is on its way."""
        placement = self._placement
        if placement is None or self._is_held or self._sending is not None or self.is_closed:
            return
        if (change := placement.propose()) is not None:
            self._n_sent += 1
            # Made here, of the text that the change is meant for: the editor may tell another before the task begins.
            self._sending = asyncio.create_task(self._apply(placement, self._edit(change), self._n_changes))
        elif placement.is_settled and self._answering is None:
            self._placement = None
            self._settle_view()
            self._settled.set()
            self._look_again()

    async def _apply(self, placement: Placement, edit: lsp.ApplyWorkspaceEditParams, n_changes: int) -> None:
        number = self._n_sent
        is_applied = await self._ask(edit)
        placement.answered(is_applied=is_applied)
        if is_applied and placement.is_waiting and self._n_changes != n_changes:
            asyncio.get_running_loop().call_later(_UNSEEN_S, self._give_up, placement, number)
        if not is_applied and not self.is_closed:
            self._n_refused += 1
            if self._n_refused > _MOST_REFUSALS:
                self._give_in()
            await asyncio.sleep(min(0.02 * 2**self._n_refused, 1.0))
        self._sending = None
        self._advance()

    def _give_up(self, placement: Placement, number: int) -> None:
        if placement is self._placement and number == self._n_sent:
            placement.give_up()
            self._advance()

    def _give_in(self) -> None:
        """The editor takes no edit of the document: what comes is in the conversation, and shown when it is opened."""
        if self._placement is not None:
            self._keep_sent(self._placement.typed)
        self._placement, self._placed_at, self._answering = None, None, None
        self._settled.set()
        self._ls.warn(
            "The editor refuses to change the chat document. Nothing is lost: the answer is in the conversation. Open "
            "the document again to see it."
        )

    def _edit(self, change: Change) -> lsp.ApplyWorkspaceEditParams:
        """The change as an edit of the document as it is now."""
        document = self._ls.workspace.get_text_document(self.uri)
        added = change.text.replace("\n", "\r\n") if "\r\n" in document.source else change.text
        place = lsp.Range(self.position(self.text, change.start), self.position(self.text, change.end))
        edit = lsp.TextEdit(place, added)
        if takes_versions(self._ls):
            identifier = lsp.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
            whole_edit = lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, [edit])])
        else:
            whole_edit = lsp.WorkspaceEdit(changes={document.uri: [edit]})
        return lsp.ApplyWorkspaceEditParams(whole_edit, label="Palimpsest")

    async def _ask(self, edit: lsp.ApplyWorkspaceEditParams) -> bool:
        """Whether the editor says that it has made the edit."""
        try:
            result = await asyncio.wrap_future(self._ls.protocol.send_request(lsp.WORKSPACE_APPLY_EDIT, edit))
        except JsonRpcException:
            return False
        return bool(result.applied)

    def _look_again(self) -> None:
        """What can be done in the document, or is wrong in it, may be something else now."""
        self._ls.part(OpenChats).look_again(self.uri)

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


def normal(text: str) -> str:
    """Every line ending as LSP knows them is `\\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
