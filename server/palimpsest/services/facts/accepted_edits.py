"""Edits of a model that the user accepted, and their effect on facts whose places they change.

The user agreed to the change, so it makes no fact stale: the place of the fact follows the edit when the file is saved.
A fact that says what the edit removed is stale all the same. Until the file is saved the disk holds the older text, and
facts that are learned from the edit rest on the text that the editor was given. An edit that the user takes back is
followed too, but a fact that says what it did is stale from then on. The store keeps the edits, so all this also holds
after a restart.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.facts.fact import FactId, FactType, Span, StoredFact
from palimpsest.domain.facts.staleness.anchor import Anchor, make_anchor
from palimpsest.domain.facts.staleness.check import Verdict, check_file
from palimpsest.domain.facts.staleness.file_lines import FileLines, split_lines
from palimpsest.domain.language.lexicon import STOP
from palimpsest.domain.language.words import all_pieces
from palimpsest.domain.taking_back import ChangeState
from palimpsest.services.facts.checks import News, PlaceNow, SourceFile, anchor_of, read_source
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.storage.facts.sources import Link
from palimpsest.storage.file_changes import StoredChange

_MOST_OF_FILE: Final = 20
MOST_CHARS: Final = 16 * 1024 * 1024
"""Characters of all texts together; the oldest files go first."""


@dataclass(eq=False, slots=True)
class AcceptedEdit:
    """An edit that an editor was given."""

    before: str | None
    """The whole text before; None: there was no such file."""
    after: str
    takes_back: bool = False
    """Whether it takes an accepted edit back."""
    is_saved: bool = False
    """Whether the disk was seen with another text than `before`."""

    def is_ahead_of(self, on_disk: str | None) -> bool:
        """Whether the disk holds the text before the edit; of a file that the edit makes an editor saves the empty
        beginning."""
        return self.before == on_disk or (self.before is None and on_disk == "")

    @property
    def n_chars(self) -> int:
        return len(self.before or "") + len(self.after)


class AcceptedEdits:
    """The newest accepted edits of one folder, in memory. Used from several threads; each call reads or replaces one
    reference."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, tuple[AcceptedEdit, ...]] = OrderedDict()

    def add(self, path: str, before: str | None, after: str, *, takes_back: bool = False) -> AcceptedEdit:
        """Called before the editor applies the edit, because the file may be saved before the editor answers."""
        edit = AcceptedEdit(before, after, takes_back)
        self._of[path] = (*self._of.pop(path, ()), edit)[-_MOST_OF_FILE:]
        while len(self._of) > 1 and sum(each.n_chars for edits in self._of.values() for each in edits) > MOST_CHARS:
            self._of.popitem(last=False)
        return edit

    def add_stored(self, found: Iterable[tuple[StoredChange, str | None, str]]) -> None:
        """Called when the folder is opened, with the edits that earlier servers stored (`file_changes.newest`)."""
        for change, before, after in found:
            self.add(change.path, before, after)
            if change.state is ChangeState.TAKEN_BACK and before is not None:
                self.add(change.path, after, before, takes_back=True)

    def remove(self, path: str, edit: AcceptedEdit) -> None:
        """Called when the editor did not apply the edit."""
        left = tuple(each for each in self._of.pop(path, ()) if each is not edit)
        if left:
            self._of[path] = left

    def of(self, path: str) -> tuple[AcceptedEdit, ...]:
        """The edits of a file, the oldest first."""
        return self._of.get(path, ())

    def unsaved(self, path: str, on_disk: str | None) -> AcceptedEdit | None:
        """The newest edit of a file while the disk holds the text before the edits; else None, and the edits count as
        saved."""
        edits = self.of(path)
        is_taken_back = bool(edits) and edits[-1].takes_back and edits[-1].after == on_disk
        first = next(
            (
                number
                for number, each in enumerate(edits)
                if not each.is_saved and each.is_ahead_of(on_disk) and not is_taken_back
            ),
            None,
        )
        for each in edits[:first]:
            each.is_saved = True
        return None if first is None else edits[-1]


def ahead_of_disk(path: str, edits: AcceptedEdits, found: SourceFile | None) -> SourceFile | None:
    """The file as its editor holds it after an accepted edit that is not saved yet; else as it was found."""
    if found is not None and found.text is None:
        return found
    unsaved = edits.unsaved(path, None if found is None else found.text)
    return found if unsaved is None else SourceFile.of(path, unsaved.after.encode("utf-8", "surrogatepass"))


def follow_on_disk(
    files: WorkspaceFiles, links: Iterable[Link], facts: Mapping[FactId, StoredFact], edits: AcceptedEdits
) -> dict[int, News | None]:
    """For links that are stale on disk, by id, the news to store instead; None for no news, because the edit that the
    place was tied to is not saved yet. Links without an entry stay stale. Blocking."""
    found: dict[int, News | None] = {}
    sources: dict[str, SourceFile | None] = {}
    for link in links:
        path = link.version.path
        if path not in sources:
            sources[path] = read_source(files, path)
        file = sources[path]
        text = None if file is None else file.text
        if edits.unsaved(path, text) is not None:
            if link.version.sha256 in {_sha256(each.after) for each in edits.of(path)}:
                found[link.id] = None
        elif file is not None and text is not None and (now := followed(link, facts, edits, text)) is not None:
            found[link.id] = News(now, file.tie(now.span, link.symbol))
    return found


def followed(link: Link, facts: Mapping[FactId, StoredFact], edits: AcceptedEdits, text: str) -> PlaceNow | None:
    """The place in a text when accepted edits changed it and nothing else did since. None when they did not, or removed
    what the fact says."""
    anchor, fact = anchor_of(link), facts.get(link.fact_id)
    if anchor is None or fact is None:
        return None
    path, lines, has_followed = link.version.path, FileLines.from_bytes(link.version.lines), False
    for edit in edits.of(path):
        if edit.before is None or (before := _verdict(path, lines, anchor, edit.before)).state.is_stale:
            continue
        after = _verdict(path, lines, anchor, edit.after)
        if not after.state.is_stale:
            continue
        if (after.span is None) != (anchor.span is None) or not _still_says(fact, edit, before.span, after.span):
            return None
        anchor = make_anchor(path, edit.after, after.span, link.symbol)
        lines, has_followed = FileLines.of(edit.after), True
    if not has_followed:
        return None
    now = _verdict(path, lines, anchor, text)
    return None if now.state.is_stale else PlaceNow(link, now.state, now.span, now.note)


def _verdict(path: str, lines: FileLines, anchor: Anchor, text: str) -> Verdict:
    (verdict,) = check_file(path, lines, [anchor], text)
    return verdict


def _still_says(fact: StoredFact, edit: AcceptedEdit, before: Span | None, after: Span | None) -> bool:
    """Whether the edit kept every word and number of the fact that was in its place. A code state stays true when the
    code changes again, but not where an edit was taken back: it may be about that one."""
    if fact.fact.fact_type is FactType.CODE_STATE:
        return not edit.takes_back
    words = set(all_pieces(fact.fact.content)) - STOP
    stood = words & _words(edit.before or "", before)
    return bool(stood) and stood <= _words(edit.after, after)


def _words(text: str, span: Span | None) -> set[str]:
    lines = split_lines(text)
    return set(all_pieces("\n".join(lines if span is None else lines[span.start - 1 : span.end])))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
