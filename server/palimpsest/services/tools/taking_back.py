"""The edits that a user accepted, as their files are now, and taking them back through the editor's own edits.

What was typed since stays, to the character (`domain/taking_back`). Of each file all edits that are meant are taken
back, newest first, or none; one file does not wait for another. What is shown of an edit follows from what its file
says now, so it is also right after a crash, and after the editor's own undo.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.taking_back import ChangeState, Standing, differences, without_edit
from palimpsest.machine import utc_now
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.facts.accepted_edits import MOST_CHARS, AcceptedEdits
from palimpsest.services.tools.current_files import CurrentFiles
from palimpsest.services.tools.editors import AttachedEditor, Change, EditorGone, Replacement
from palimpsest.services.workspace.files import PlaceKind
from palimpsest.storage import file_changes
from palimpsest.storage.file_changes import StoredChange
from palimpsest.storage.store import Store

_ATTEMPTS: Final = 3
"""How often a file is tried that somebody is typing in."""
_CHANGED: Final = "The file has been changed since where this edit changed it. Compare the texts and decide by hand."
_REMOVED: Final = "The file was removed or renamed since."
_NEW_CHANGED: Final = "The edit made this file, and the file has been changed since, so it is not removed."
_LATER: Final = "A later edit changed the same lines. Take that one back as well."
_NOT_KEPT: Final = "The texts of this edit are no longer kept."
_TWO_TEXTS: Final = "The file is open in two editors with different texts. Save it in one of them, then try again."
_NO_EDITOR: Final = "No editor is connected that can change this file."
_TYPING: Final = "The file kept changing meanwhile. Try again."
_GONE: Final = "The editor went away, and it is unknown whether it applied this. Look at the file."


@dataclass(frozen=True, slots=True)
class ChangeNow:
    """An edit as its file shows it now."""

    change: StoredChange
    state: ChangeState
    """ASKED: it is unknown whether it was applied, and the file does not tell."""
    problem: str | None
    """Why it cannot be taken back now, as a sentence; None when it can, or is taken back."""


class Outcome(Enum):
    """What became of the wish to take back the edits of a file."""

    TAKEN_BACK = auto()
    AS_BEFORE = auto()
    """There was nothing to take back."""
    REFUSED = auto()
    """Nothing of the file was changed."""
    UNKNOWN = auto()
    """The editor went away before it answered."""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of the edits of one file."""

    path: str
    change_ids: tuple[str, ...]
    """Oldest first."""
    outcome: Outcome
    problem: str | None = None
    """The reason, as a sentence, where the file was not changed or it is unknown."""
    is_saved: bool = False
    """Whether they were taken back in the file on disk, which no editor had open."""


@dataclass(frozen=True, slots=True)
class Texts:
    """A file before and after edits of it, and now. None: there is no such file."""

    path: str
    before: str | None
    after: str
    now: str | None


@dataclass(frozen=True, slots=True)
class _Edit:
    change: StoredChange
    before: str | None
    after: str


class _Refused(Exception):
    """Nothing of the file is taken back, for the reason that this error says."""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The accepted edits of one folder, for as long as it is open."""

    store: Store
    current: CurrentFiles
    edits: AcceptedEdits
    listeners: Listeners
    _one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def load(self) -> None:
        """Tell facts of the edits that earlier servers stored."""
        self.edits.add_stored(await self.store.read(file_changes.newest, MOST_CHARS))

    async def listed(self, conversation_id: ConversationId, turn_id: TurnId | None = None) -> list[ChangeNow]:
        """The edits of a turn, or of all turns of the conversation, oldest first. Raises NotFound."""
        found = await self._stored(conversation_id, turn_id)
        by_id: dict[str, ChangeNow] = {}
        for path in dict.fromkeys(change.path for change in found):
            for each in await self._now([change for change in found if change.path == path]):
                by_id[each.change.id] = each
        return [by_id[change.id] for change in found]

    async def texts(self, conversation_id: ConversationId, change_ids: Collection[str]) -> Texts:
        """A file before the first and after the last of these edits of it, and now. Raises InvalidRequest when they are
        of more than one file, or where it is unclear what the file says now, and NotFound."""
        chosen = _chosen(await self._stored(conversation_id, None), change_ids)
        if len({change.path for change in chosen}) != 1:
            raise InvalidRequest("Name edits of one file.")
        edits = await self._read(chosen)
        if edits is None:
            raise NotFound(_NOT_KEPT)
        try:
            now = await self._text(chosen)
        except _Refused as error:
            raise InvalidRequest(str(error)) from None
        return Texts(chosen[0].path, edits[0].before, edits[-1].after, now)

    async def take_back(
        self,
        conversation_id: ConversationId,
        first: AttachedEditor | None = None,
        *,
        turn_id: TurnId | None = None,
        change_ids: Collection[str] | None = None,
        paths: Collection[str] | None = None,
    ) -> list[FileOutcome]:
        """Take back the edits of a turn, or of the whole conversation; of these, those that are named, or those of the
        named paths. `first`: the editor that makes the changes where no editor has the file open. Raises NotFound for
        an edit that is not there."""
        found = await self._stored(conversation_id, turn_id)
        chosen = found if change_ids is None else _chosen(found, change_ids)
        if paths is not None:
            chosen = [change for change in chosen if change.path in paths]
        return await self._take_back(conversation_id, chosen, first, found)

    async def take_back_range(
        self, conversation_id: ConversationId, start: int, end: int | None, first: AttachedEditor | None = None
    ) -> list[FileOutcome]:
        """Take back the edits of the messages [start, end), hidden or not; None for all from `start` on."""
        found = await self.store.read(file_changes.of_messages, conversation_id, start, end)
        return await self._take_back(conversation_id, found, first)

    async def _take_back(
        self,
        conversation_id: ConversationId,
        chosen: Sequence[StoredChange],
        first: AttachedEditor | None = None,
        among: Sequence[StoredChange] = (),
    ) -> list[FileOutcome]:
        """Take back edits, given oldest first; one request after the other. `among`: more edits, which may be why one
        cannot be taken back."""
        if not chosen:
            return []
        async with self._one_by_one:
            outcomes = [
                await self._of_file(
                    [change for change in chosen if change.path == path],
                    first,
                    [change for change in among if change.path == path],
                )
                for path in dict.fromkeys(change.path for change in chosen)
            ]
        self.listeners.tell(ConversationChanged(conversation_id))
        return outcomes

    async def _of_file(
        self, changes: Sequence[StoredChange], first: AttachedEditor | None, among: Sequence[StoredChange]
    ) -> FileOutcome:
        path, ids = changes[0].path, tuple(change.id for change in changes)
        is_on_disk_only, is_saved, problem = self.current.holder(path) is None, False, None
        try:
            outcome, left = await self._try(path, changes, first)
        except _Refused as error:
            others = {each.change.id: each.problem for each in await self._now(among)} if among else {}
            found = [others[each] for each in ids if others.get(each) == _LATER]
            outcome, problem = Outcome.REFUSED, found[0] if found else str(error)
        else:
            problem = _GONE if outcome is Outcome.UNKNOWN else None
            if is_on_disk_only and outcome is Outcome.TAKEN_BACK:
                is_saved = await self.current.is_saved(path, left)
        if outcome in (Outcome.TAKEN_BACK, Outcome.AS_BEFORE):
            await self.store.run(file_changes.settle, ids, ChangeState.TAKEN_BACK, utc_now())
        return FileOutcome(path, ids, outcome, problem, is_saved)

    async def _try(
        self, path: str, changes: Sequence[StoredChange], first: AttachedEditor | None
    ) -> tuple[Outcome, str | None]:
        """What became of the edits, and the text without them. Raises _Refused."""
        edits = await self._read(changes)
        if edits is None:
            raise _Refused(_NOT_KEPT)
        problem = _TYPING
        for _ in range(_ATTEMPTS):
            now = await self._text(changes)
            left = await asyncio.to_thread(_without, edits, now)
            if left == now or now is None:
                return Outcome.AS_BEFORE, left
            replacements = [] if left is None else await asyncio.to_thread(_replacements, now, left)
            if await self._text(changes) != now:
                continue
            editor = self.current.editor(path, first)
            if editor is None:
                raise _Refused(_NO_EDITOR)
            # Nothing is waited for between the look at the text and the editor, which looks again.
            followed = None if left is None else self.edits.add(path, now, left, takes_back=True)
            try:
                refused = await (
                    editor.delete(path, now) if left is None else editor.apply(Change(path, now, tuple(replacements)))
                )
            except EditorGone:
                return Outcome.UNKNOWN, left
            if refused is None:
                return Outcome.TAKEN_BACK, left
            if followed is not None:
                self.edits.remove(path, followed)
            problem = refused
        raise _Refused(problem)

    async def _now(self, changes: Sequence[StoredChange]) -> list[ChangeNow]:
        """Edits of one file, oldest first."""
        edits = await self._read(changes)
        if edits is None:
            return [ChangeNow(change, change.state, _NOT_KEPT) for change in changes]
        try:
            now = await self._text(changes)
        except _Refused as error:
            return [ChangeNow(change, change.state, str(error)) for change in changes]
        return await asyncio.to_thread(_compare, edits, now)

    async def _text(self, changes: Sequence[StoredChange]) -> str | None:
        """The current text of the file of these edits; None when there is no such file. Raises _Refused."""
        path = changes[0].path
        try:
            there, now = await self.current.text(path)
            if changes[0].before is None and changes[0].state is ChangeState.TAKEN_BACK:
                place = await asyncio.to_thread(self.current.files.locate, path)
                if place.kind is PlaceKind.MISSING:  # an editor closes the document of a removed file later
                    return None
        except NotFound:
            return None
        except InvalidRequest as error:
            raise _Refused(str(error)) from None
        if there != path:  # a link took its place
            return None
        if len({texts[path] for each in self.current.editors.attached() if path in (texts := each.texts())}) > 1:
            raise _Refused(_TWO_TEXTS)
        return now

    async def _stored(self, conversation_id: ConversationId, turn_id: TurnId | None) -> list[StoredChange]:
        found = await self.store.read(file_changes.of_conversation, conversation_id)
        return [change for change in found if turn_id is None or change.turn_id == turn_id]

    async def _read(self, changes: Sequence[StoredChange]) -> list[_Edit] | None:
        """The edits with their texts; None when some are no longer kept."""

        def read() -> list[_Edit] | None:
            found: list[_Edit] = []
            for change in changes:
                before = None if change.before is None else file_changes.text(change.before)
                after = file_changes.text(change.after)
                if after is None or (before is None and change.before is not None):
                    return None
                found.append(_Edit(change, before, after))
            return found

        return await self.store.read(read)


def _chosen(found: Sequence[StoredChange], change_ids: Collection[str]) -> list[StoredChange]:
    chosen = [change for change in found if change.id in change_ids]
    if len(chosen) != len(set(change_ids)):
        raise NotFound("This edit is no longer kept, or is none of this conversation. List the edits again.")
    return chosen


def _compare(edits: Sequence[_Edit], now: str | None) -> list[ChangeNow]:
    """What has become of edits of one file, oldest first."""
    found: list[ChangeNow] = []
    without_later: str | None = now
    for edit in reversed(edits):
        with_later, alone = (without_edit(edit.before, edit.after, text) for text in (without_later, now))
        without_later = with_later.text
        stands = with_later.standing in (Standing.AS_LEFT, Standing.PARTLY)
        state, problem = edit.change.state, None
        if stands or with_later.standing is Standing.AS_BEFORE:
            state = ChangeState.APPLIED if stands else ChangeState.TAKEN_BACK
        if state is not ChangeState.TAKEN_BACK and alone.standing is Standing.CHANGED:
            problem = _LATER if stands else _why(edit, now)
        found.append(ChangeNow(edit.change, state, problem))
    return found[::-1]


def _why(edit: _Edit, now: str | None) -> str:
    if now is None:
        return _REMOVED
    return _NEW_CHANGED if edit.before is None else _CHANGED


def _without(edits: Sequence[_Edit], now: str | None) -> str | None:
    """The text without the edits, the newest first. Raises _Refused."""
    left = now
    for edit in reversed(edits):
        found = without_edit(edit.before, edit.after, left)
        if found.standing is Standing.CHANGED and edit.change.state is not ChangeState.TAKEN_BACK:
            raise _Refused(_why(edit, now))
        left = found.text
    return left


def _replacements(now: str, left: str) -> list[Replacement]:
    return [Replacement(each.start, each.end, each.text) for each in differences(now, left)]
