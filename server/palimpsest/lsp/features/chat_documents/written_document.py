"""The text of a chat document: its editor's last report of it, and the edits that we have under way.

The editor owns the text. It reports every change; our additions go through a `Placement`, which counts an edit as done
only when the editor's report shows it. This module also keeps track of text that the document should no longer hold:
a message that was sent from its input, and messages that were hidden or purged since they were shown.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.chat_documents.changes import Change, change_between
from palimpsest.domain.chat_documents.document import (
    Parsed,
    Shown,
    edit_of_view,
    n_left,
    n_sent,
    parse,
    render,
    rescued,
    whole,
    without_sent,
)
from palimpsest.domain.chat_documents.placement import Placement
from palimpsest.domain.errors import InvalidRequest
from palimpsest.lsp.abilities import announces_edits, can_apply, takes_versions
from palimpsest.lsp.features.chat_documents.positions import change_of, normal, position_of
from palimpsest.lsp.features.chat_documents.remains import Remains
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.conversation.conversations import NewestHidden
from palimpsest.services.turns.running import RunningTurn

_SETTLING_S: Final = 30
"""How long a message that is to be sent waits for the edits under way."""
_UNANSWERED_S: Final = 5.0
"""The seconds in which an editor that has not announced edits has to answer one, or report it."""
_UNSEEN_S: Final = 3.0
"""How long an edit that the editor confirmed may be missing from its reports, when a report has come since."""
_MOST_REFUSALS: Final = 12
"""Refused edits in a row, without a change of the document between them, before we stop writing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A conversation as it was read for its document."""

    shown: Shown
    draft: str
    gone: NewestHidden
    """The newest range that was hidden or purged at that time."""


_MOST_MISSES: Final = 60
"""Edits in a row that landed elsewhere or nowhere, before we stop writing."""


class WrittenDocument:
    """The text of one open chat document, and our writing into it. `text` always equals the editor's last report."""

    def __init__(self, ls: PalimpsestServer, uri: str, before: Remains | None) -> None:
        self._ls, self.uri = ls, uri
        self._codec = ls.workspace.position_codec
        self.text = normal(ls.workspace.get_text_document(uri).source)
        """The editor's last report; every line ends with `\\n`."""
        self.view = ""
        """The text that we have written above the input."""
        self.answering: RunningTurn | None = None
        """The turn whose answer is being written; None also when the editor refuses all edits."""
        self.is_closed = False
        """Whether the editor has closed the document. Nothing is written into it any more."""
        self.reported_again = asyncio.Event()
        """Set when the editor reports a change after it has closed and reopened the document."""
        self.settled = asyncio.Event()
        """Set while no edit is held or under way."""
        self.settled.set()
        self._remains = before or Remains()
        self._placed: Reading | None = None
        """The reading whose view is under way; None while none is."""
        self._placement: Placement | None = None
        self._is_held = False
        """Whether the placement waits until the turn is admitted."""
        self._sending: asyncio.Task[None] | None = None
        self._n_changes = self._n_sent = self._n_refused = 0
        self._reported = asyncio.Event()
        """Set at each report of the editor."""
        self._has_tried = False
        """Whether an editor that has not announced edits has made one."""
        self._look_at_remains()

    @property
    def parsed(self) -> Parsed:
        return parse(self.text)

    @property
    def is_writing(self) -> bool:
        """Whether text is held or under way, or more of an answer will come."""
        return self._placement is not None

    @property
    def is_sending(self) -> bool:
        """Whether an edit is at the editor or about to be retried."""
        return self._sending is not None

    @property
    def is_waiting(self) -> bool:
        """Whether an edit has not been seen in the editor's reports yet."""
        return self._placement is not None and self._placement.is_waiting

    @property
    def remains(self) -> Remains:
        """The remains to keep if the document is closed now."""
        typed = "" if self._placement is None or self._is_held else self._placement.typed.strip()
        return replace(self._remains, sent=typed or self._remains.sent)

    def first_edit_of_view(self) -> int | None:
        """The first line of the view that differs from what we wrote; None while we write, and without a view."""
        parsed = self.parsed
        if self._placement is not None or parsed.marker_line is None or not self.view:
            return None
        change = change_between(self.view, self.text[: parsed.view_end])
        is_same = change.start == change.end and not change.text
        return None if is_same else self.text.count("\n", 0, change.start)

    def unsent(self) -> str | None:
        """The part of the input that was not sent; None when the document has no input."""
        parsed = self.parsed
        sent = "" if self._placement is None else self._placement.typed
        return None if parsed.marker_line is None else without_sent(parsed.message, sent or self._remains.sent)

    # ------------------------------------------------------------------------------------------ the view

    def note_reading(self, gone: NewestHidden) -> None:
        """The conversation was read. A document that was never read before shows nothing that was gone by then."""
        if self._remains.shown_at is None:
            self._remains = replace(self._remains, shown_at=gone)

    def show(self, reading: Reading) -> None:
        """Writes the view whatever the document holds. The input stays, except for a message that was sent from it;
        an empty input gets the draft. Call it while nothing is being written."""
        self.view, draft, parsed = render(reading.shown), reading.draft, self.parsed
        if parsed.marker_line is None:
            change = change_between(self.text, whole(self.view, rescued(self.text, self.view).strip("\n") or draft))
        elif not parsed.message and draft:
            change = change_between(self.text, whole(self.view, draft))
        else:
            change = edit_of_view(self.text, self.view)
        n_to_go = n_sent(parsed, reading.shown) or n_left(parsed.message, self._remains.sent)
        self._replace(reading, change, parsed.input_start, n_to_go)

    def update(self, reading: Reading) -> None:
        """Writes the view unless the user has edited it. Call it while nothing is being written."""
        is_untouched = self.first_edit_of_view() is None and self.parsed.marker_line is not None
        self.view = render(reading.shown)
        if is_untouched:
            self._replace(reading, edit_of_view(self.text, self.view), 0, 0)
        self.look_again()

    def _replace(self, reading: Reading, change: Change, sent_at: int, n_to_go: int) -> None:
        """Makes a change of the view. `n_to_go` characters at `sent_at` are a sent message that leaves the input."""
        if not can_apply(self._ls):
            self._keep_sent(self.text[sent_at : sent_at + n_to_go])
            return
        placement = Placement(self.text, change.start)
        placement.remove(change.start, change.end)
        placement.add(change.text)
        if n_to_go:
            behind = self.text[sent_at + n_to_go :]
            placement.remove_typed(sent_at, len(self.text) - len(behind.lstrip()))
        self._placed = reading
        if placement.is_settled:
            self._settle_view()
            return
        self._hold(placement)
        self.release()

    def _settle_view(self) -> None:
        """The editor has reported everything that was under way."""
        if self._placed is not None:
            self._remains = Remains(self._remains.sent, self._placed.gone, bool(self._placed.shown.asides))
            self._placed = None

    # ------------------------------------------------------------------------------------------ writing

    async def settle(self) -> None:
        """Waits until nothing is under way. Raises InvalidRequest when that takes too long."""
        if not self.settled.is_set():
            try:
                async with asyncio.timeout(_SETTLING_S):
                    await self.settled.wait()
            except TimeoutError:
                raise InvalidRequest(
                    "The editor has not applied the last change of the document yet. Try again."
                ) from None

    def hold(self) -> None:
        """Begins to write at the end of the view. Nothing goes to the editor before `release`."""
        self._hold(Placement(self.text, self.parsed.view_end))

    def hold_input(self) -> None:
        """Like `hold`, and removes the message from the input."""
        parsed = self.parsed
        placement = Placement(self.text, parsed.view_end)
        start, end = parsed.input_start, len(self.text)
        if self.text[:start].endswith("\n\n") and self.text.endswith("\n"):
            # The same text is left. Neovim reports a removal up to the last line end in two parts.
            start, end = start - 1, end - 1
        placement.remove_typed(start, end)
        self._hold(placement)

    def add_to_input(self, text: str) -> None:
        """Adds a text behind what stands in the input. Raises InvalidRequest when the input's line is gone."""
        parsed = self.parsed
        if parsed.marker_line is None:
            raise InvalidRequest("The line that begins the input was deleted. Close the document and open it again.")
        end = len(self.text.rstrip("\n")) if parsed.message else parsed.input_start
        placement = Placement(self.text, end)
        placement.add(f"\n\n{text}" if parsed.message else text)
        self._hold(placement)
        self.release()

    def _hold(self, placement: Placement) -> None:
        self._placement, self._is_held = placement, True
        if not self.is_closed:  # a closed document never settles
            self.settled.clear()

    def release(self) -> None:
        """Sends the held text."""
        self._is_held = False
        self.look_again()
        self.advance()

    def drop_held(self) -> bool:
        """Drops the held text, because nothing was sent; False when none is held."""
        if not self._is_held:
            return False
        self._placement, self._is_held = None, False
        self.settled.set()
        return True

    def write(self, text: str) -> None:
        """Adds to the end of the view. `advance` sends it."""
        if text:
            self.view += text
            if self._placement is not None:
                self._placement.add(text)

    def write_quoting(self, text: str) -> None:
        """Like `write`, for text that may quote other conversations of the folder."""
        self._remains = replace(self._remains, has_quoted=True)
        self.write(text)

    def advance(self) -> None:
        """Sends the next edit, when there is one and none is under way."""
        placement = self._placement
        if placement is None or self._is_held or self._sending is not None or self.is_closed:
            return
        if placement.n_misses > _MOST_MISSES:
            self._stop_writing()
            return
        if (change := placement.propose()) is not None:
            self._n_sent += 1
            # Made here, for the text that the change belongs to: the editor may report another before the task begins.
            self._sending = asyncio.create_task(self._apply(placement, self._edit(change), self._n_changes))
        elif placement.is_settled and self.answering is None:
            self._placement = None
            self._settle_view()
            self.settled.set()
            self.look_again()

    async def _apply(self, placement: Placement, edit: lsp.ApplyWorkspaceEditParams, n_changes: int) -> None:
        number = self._n_sent
        is_applied = await (self._request(edit) if announces_edits(self._ls) else self._try(placement, edit))
        placement.answered(is_applied=is_applied)
        if is_applied and placement.is_waiting and self._n_changes != n_changes:
            asyncio.get_running_loop().call_later(_UNSEEN_S, self._give_up, placement, number)
        if not is_applied and not self.is_closed:
            self._n_refused += 1
            if self._n_refused > _MOST_REFUSALS or not can_apply(self._ls):
                self._stop_writing()
            await asyncio.sleep(min(0.02 * 2**self._n_refused, 1.0))
        self._sending = None
        self.advance()

    def _give_up(self, placement: Placement, number: int) -> None:
        """Sends an edit again that never showed in a report."""
        if placement is self._placement and number == self._n_sent:
            placement.give_up()
            self.advance()

    def _stop_writing(self) -> None:
        """The editor refuses every edit. The conversation has the answer and shows it when the document is opened."""
        if self._placement is not None:
            self._keep_sent(self._placement.typed)
        is_answering = self.answering is not None
        self._placement, self._placed, self.answering = None, None, None
        self.settled.set()
        self.look_again()
        if not can_apply(self._ls) and not is_answering:
            return  # `OpenChat.require_edits` tells the user
        self._ls.warn(
            "The editor refuses to change the chat document. Nothing is lost: the answer is in the conversation. The "
            "action 'Show the conversation as it is' brings it here, and so does opening the document again."
        )

    def _keep_sent(self, text: str) -> None:
        """The editor does not remove this text, which was sent."""
        if text.strip():
            self._remains = replace(self._remains, sent=text.strip())

    def _edit(self, change: Change) -> lsp.ApplyWorkspaceEditParams:
        """The change as an edit of the current version of the document."""
        document = self._ls.workspace.get_text_document(self.uri)
        added = change.text.replace("\n", "\r\n") if "\r\n" in document.source else change.text
        place = lsp.Range(
            position_of(self._codec, self.text, change.start), position_of(self._codec, self.text, change.end)
        )
        edit = lsp.TextEdit(place, added)
        if takes_versions(self._ls):
            identifier = lsp.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
            whole_edit = lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, [edit])])
        else:
            whole_edit = lsp.WorkspaceEdit(changes={document.uri: [edit]})
        return lsp.ApplyWorkspaceEditParams(whole_edit, label="Palimpsest")

    async def _request(self, edit: lsp.ApplyWorkspaceEditParams) -> bool:
        """Whether the editor answers that it has applied the edit."""
        try:
            result = await asyncio.wrap_future(self._ls.protocol.send_request(lsp.WORKSPACE_APPLY_EDIT, edit))
        except JsonRpcException:
            return False
        return bool(result.applied)

    async def _try(self, placement: Placement, edit: lsp.ApplyWorkspaceEditParams) -> bool:
        """Like `_request`, for an editor that has not announced edits. Some make them and never answer; then the report
        of the document shows it."""
        answer = asyncio.create_task(self._request(edit))
        asyncio.get_running_loop().call_later(_UNANSWERED_S, answer.cancel)
        while not answer.done() and placement.is_waiting:
            self._reported.clear()
            report = asyncio.create_task(self._reported.wait())
            await asyncio.wait({answer, report}, return_when=asyncio.FIRST_COMPLETED)
            report.cancel()
        is_applied = not placement.is_waiting or (answer.done() and not answer.cancelled() and answer.result())
        if is_applied:
            self._has_tried = True
        elif not self._has_tried:
            self._ls.edits_unannounced = False
        return is_applied

    def look_again(self) -> None:
        """Lenses and diagnostics of the document may have changed."""
        self._ls.part(OpenChats).look_again(self.uri)

    def cancel_sending(self) -> None:
        if self._sending is not None:
            self._sending.cancel()

    async def outlast(self) -> None:
        """Returns when no edit that was under way at closing can still arrive in the document."""
        if self._sending is None:
            return
        await asyncio.wait({self._sending}, timeout=_SETTLING_S)
        if self.is_waiting:  # the editor has confirmed the edit
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_UNSEEN_S):
                    await self.reported_again.wait()

    # ------------------------------------------------------------------------------------------ the editor's reports

    def hear(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Takes the editor's report of a change."""
        self._n_changes += 1
        self._n_refused = 0
        changes: list[Change] = []
        text = self.text
        for each in params.content_changes:
            change = change_of(self._codec, text, each)
            changes.append(change)
            text = change.apply(text)
        reported = normal(self._ls.workspace.get_text_document(self.uri).source)
        if reported != text:
            changes.append(change_between(text, reported))
        self.text = reported
        self._look_at_remains()
        if self._placement is not None:
            self._placement.changed(changes)
            self._reported.set()
            self.advance()

    def _look_at_remains(self) -> None:
        """Forgets the sent message once the input no longer holds it."""
        if self._remains.sent:
            message = self.parsed.message
            if without_sent(message, self._remains.sent) == message:
                self._remains = replace(self._remains, sent="")
