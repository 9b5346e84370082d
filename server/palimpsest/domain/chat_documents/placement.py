"""Our text in a document that the user is typing in.

An editor may refuse an edit, apply it late, apply it to a text that has changed meanwhile, or confirm an edit that it
never applied. So an edit counts as done only when the editor's report of the document shows it. One edit is under way
at a time; text that arrives meanwhile goes with the next. An edit that landed on the wrong text is undone: the text it
removed is put back, and the text it added moves to its place.

Offsets count characters. Positions are pairs of line and character. Lines end with `\\n` only; callers see to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.chat_documents.changes import Change, change_between, finer, trimmed

_CONTEXT: Final = 60
"""Characters on either side that identify a place in a text that the editor reports only as a whole."""
_REMEMBERED: Final = 50
"""Deletions around the anchor that are remembered; an undo of one puts the anchor back inside."""


@dataclass(slots=True, eq=False)
class _Mend:
    """A stretch [start, end) that has to become `text`."""

    start: int
    end: int
    text: str = ""
    anchor_at: int | None = None
    """The anchor's place in `text`, when the anchor was removed with it; else None."""
    within: tuple[_Mend, ...] = ()
    """Stretches of `text`, by their place in it, that have to go again: they had to go before `text` was removed."""
    is_typed: bool = False
    """Whether the user typed the stretch. It goes only if they do not change it meanwhile."""


@dataclass(slots=True)
class _Sent:
    """The edit under way."""

    change: Change
    """Of the text at the time when it was proposed."""
    start: tuple[int, int]
    end: tuple[int, int]
    mend: _Mend | None
    """The mend that the edit makes; None when it adds waiting text."""
    is_applied: bool = False
    """Whether the editor has confirmed the edit."""


@dataclass(slots=True)
class Placement:
    """Text that arrives at one place (`anchor`) of a document, and stretches that have to go from it."""

    text: str
    """The document in the editor's last report."""
    anchor: int
    waiting: str = ""
    """Text that has arrived and is neither in the document nor under way."""
    n_misses: int = 0
    """Edits in a row that the document did not get as they were meant."""
    _mends: list[_Mend] = field(default_factory=list)
    _sent: _Sent | None = None
    _removed: list[tuple[str, int]] = field(default_factory=list)
    """Deletions around the anchor, newest last, each with the anchor's place in it."""

    @property
    def is_settled(self) -> bool:
        """Whether the document holds all text that has arrived, and no stretch that has to go."""
        return not self.waiting and not self._mends and self._sent is None

    @property
    def is_waiting(self) -> bool:
        """Whether an edit is under way."""
        return self._sent is not None

    @property
    def typed(self) -> str:
        """The text typed by the user that has to go and is still in the document."""
        return "".join(self.text[each.start : each.end] for each in self._mends if each.is_typed)

    def remove(self, start: int, end: int) -> None:
        """Marks a stretch of ours that has to go. Text that the user types into it meanwhile stays."""
        if start < end:
            self._mends.append(_Mend(start, end))

    def remove_typed(self, start: int, end: int) -> None:
        """Marks a stretch that the user typed and that has to go. If they change it meanwhile it stays, changed: an
        editor reports a replacement without the common beginning and end, so the two cannot be told apart."""
        if start < end:
            self._mends.append(_Mend(start, end, is_typed=True))

    def add(self, text: str) -> None:
        self.waiting += text

    def propose(self) -> Change | None:
        """The next edit, which is under way from now on; None when there is nothing to do, or one is under way."""
        if self._sent is not None:
            return None
        if self._mends:
            mend = self._mends[0]
            change = Change(mend.start, mend.end, mend.text)
        elif self.waiting:
            mend, change = None, Change(self.anchor, self.anchor, self.waiting)
            self.waiting = ""
        else:
            return None
        start, end = _position(self.text, change.start), _position(self.text, change.end)
        self._sent = _Sent(change, start, end, mend)
        return change

    def answered(self, *, is_applied: bool) -> None:
        """Takes the editor's answer to the edit under way. A refused edit waits again."""
        if self._sent is not None:
            self._sent.is_applied = is_applied
            if not is_applied:
                self.give_up()

    def give_up(self) -> None:
        """Makes the edit under way wait again, because no report will show it."""
        if self._sent is not None:
            self.n_misses += 1
            if self._sent.mend is None:
                self.waiting = self._sent.change.text + self.waiting
            self._sent = None

    def changed(self, changes: Sequence[Change]) -> None:
        """Takes the editor's report: changes in order, each of the text that the one before leaves."""
        for change in changes:
            if change.start != change.end or change.text:
                self._take(change)
        if self._sent is not None and self._sent.is_applied:
            self.give_up()  # this report is newer than the confirmed edit, and does not contain it

    # ------------------------------------------------------------------------------------------------ one change

    def _take(self, change: Change) -> None:
        after = change.apply(self.text)
        if self._sent is None or not self._take_as_ours(self._sent, change, after):
            self._take_as_theirs(change, trimmed(self.text, change), after)
        self.text = after

    def _take_as_ours(self, sent: _Sent, change: Change, after: str) -> bool:
        """Whether the change is the edit under way and nothing else. If so, the edit is done."""
        mend = sent.mend
        meant = Change(self.anchor, self.anchor, sent.change.text)
        if mend is not None:
            meant = Change(mend.start, mend.end, mend.text)
        is_due = mend is None or mend in self._mends  # else the user has removed that stretch
        if is_due and change.growth == meant.growth and meant.apply(self.text) == after:
            self._sent, self.n_misses = None, 0
            self._move_mends(meant, but=mend)
            if mend is None:
                self.anchor += len(meant.text)
            else:
                self._mends.remove(mend)
                self._mended(mend)
            return True
        return self._take_as_strayed(sent, change)

    def _mended(self, mend: _Mend) -> None:
        self._mends += [replace(each, start=mend.start + each.start, end=mend.start + each.end) for each in mend.within]
        if mend.anchor_at is not None:
            self.anchor = mend.start + mend.anchor_at
        elif self.anchor > mend.start:
            self.anchor = max(mend.start, self.anchor - (mend.end - mend.start)) + len(mend.text)

    def _take_as_strayed(self, sent: _Sent, change: Change) -> bool:
        """Whether the change is the edit under way, applied by line and character to another text than it was made for.
        If so, it has to be undone, and waits again."""
        start, end = _offset(self.text, sent.start), _offset(self.text, sent.end)
        if change != Change(start, end, sent.change.text):
            return False
        back = _Mend(start, start + len(change.text), self.text[start:end])
        if start < self.anchor < end or (start < self.anchor == end):
            back.anchor_at = self.anchor - start
        back.within = tuple(
            replace(each, start=max(each.start, start) - start, end=min(each.end, end) - start)
            for each in self._mends
            if max(each.start, start) < min(each.end, end) and not each.text
        )
        self.give_up()
        self._move_mends(change, but=None)
        self._move_anchor(change)
        self._mends.append(back)
        return True

    def _take_as_theirs(self, told: Change, change: Change, after: str) -> None:
        """Takes a change by the user, as it was reported and trimmed. It may contain the edit under way, when the
        editor reports several changes as one."""
        sent = self._sent
        # Where the added text begins or ends like its surroundings, a change may be reported a little beside its place.
        beside = 0 if sent is None else len(sent.change.text)
        if sent is not None and sent.mend is None and change.start - beside <= self.anchor <= change.end + beside:
            added = sent.change.text
            at = _find_again(self.text, self.anchor, self._widened(change), after, added)
            if at is not None:
                without = f"{after[:at]}{after[at + len(added) :]}"
                self._sent, self.n_misses = None, 0
                theirs = change_between(self.text, without)
                self._move(theirs, theirs)
                self.text, self.anchor = without, at + len(added)
                self._move_mends(Change(at, at, added), but=None)
                return
        self._move(told, change)

    def _widened(self, change: Change) -> Change:
        """The same change, extended so that the anchor lies in or beside it."""
        start, end = min(change.start, self.anchor), max(change.end, self.anchor)
        text = f"{self.text[start : change.start]}{change.text}{self.text[change.end : end]}"
        return Change(start, end, text)

    def _move(self, told: Change, change: Change) -> None:
        """Moves every place by a change of the user's, and applies it to `text`."""
        is_whole = (told.start, told.end) == (0, len(self.text))
        self._move_mends(change if is_whole else told, but=None)
        for each in finer(self.text, change):
            after = each.apply(self.text)
            is_astride = each.start < self.anchor < each.end and each.text
            found = _find_again(self.text, self.anchor, each, after, "") if is_astride else None
            self._move_anchor(each)
            self.anchor = self.anchor if found is None else found
            self.text = after

    def _move_anchor(self, change: Change) -> None:
        """The anchor stays left of text that is typed at it, so that our text stays in one piece."""
        start, end, anchor = change.start, change.end, self.anchor
        if start < end and start <= anchor <= end and not change.text:
            self._removed = [*self._removed[-_REMEMBERED:], (self.text[start:end], anchor - start)]
        if start == end == anchor:
            self._come_back(change.text)
        elif end <= anchor:
            self.anchor += change.growth
        elif start < anchor:
            self.anchor = start

    def _come_back(self, text: str) -> None:
        """Puts the anchor back inside a deletion that is undone."""
        for number, (removed, place) in reversed(list(enumerate(self._removed))):
            if removed == text:
                self.anchor += place
                del self._removed[number:]
                return

    def _move_mends(self, change: Change, but: _Mend | None) -> None:
        moved: list[_Mend] = []
        for mend in self._mends:
            moved += [mend] if mend is but else _moved(mend, change, self.text)
        self._mends = moved


def _moved(mend: _Mend, change: Change, text: str) -> list[_Mend]:
    """The mend after a change by the user: in two when the change was made inside it, none when nothing is left to
    do."""
    if mend.is_typed:
        change = _beside(mend, change, text)
    start, end = change.start, change.end
    if end <= mend.start:
        mend.start += change.growth
        mend.end += change.growth
    elif start < mend.end:
        doomed = text[mend.start : mend.end]
        is_larger = start <= mend.start and mend.end <= end and end - start > len(doomed)
        kept = change.text.rfind(doomed) if is_larger else -1
        if kept >= 0:  # reported as a part of the change
            mend.start, mend.end = start + kept, start + kept + len(doomed)
        elif mend.is_typed:
            return []
        elif mend.start < start and end < mend.end:
            behind = _Mend(start + len(change.text), mend.end + change.growth)
            mend.end = start
            return [mend, behind]
        elif start <= mend.start:
            mend.start = start + len(change.text)
            mend.end = max(mend.start, mend.end + change.growth)
        else:
            mend.end = start
    return [mend] if mend.start < mend.end or mend.text else []


def _beside(mend: _Mend, change: Change, text: str) -> Change:
    """The same change, moved beside the mend when it may have been made there. Text typed behind a message is often
    reported before the end of its last line; and when text is typed beside text like it, a report of the whole document
    does not tell the place."""
    start, end = mend.start, mend.end
    if start < change.start and not text[change.start : end].strip():
        mend.end = min(end, change.start)
    elif start < change.start == change.end < end:
        before, behind = text[start : change.start], text[change.start : end]
        if (moved := f"{change.text}{behind}").startswith(behind):
            return Change(end, end, moved[len(behind) :])
        if (moved := f"{before}{change.text}").endswith(before):
            return Change(start, start, moved[: len(change.text)])
    return change


def _find_again(before: str, anchor: int, change: Change, after: str, added: str) -> int | None:
    """The place in `after` that was `anchor` in `before`, followed by `added`; None when it cannot be found.

    The search covers the changed stretch, for the text on both sides of the place, else on one side.
    """
    left, right = before[max(0, anchor - _CONTEXT) : anchor], before[anchor : anchor + _CONTEXT]
    first, last = change.start, change.start + len(change.text)
    for head, tail in ((left, right), ("", right), (left, "")):
        wanted = f"{head}{added}{tail}"
        if not head and not tail:
            continue
        at = after.rfind(wanted, max(0, first - len(head)), last + len(tail) + len(added))
        while at >= 0 and not first <= at + len(head) <= last:
            at = after.rfind(wanted, max(0, first - len(head)), at + len(wanted) - 1)
        if at >= 0:
            return at + len(head)
    return None


def _position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)


def _offset(text: str, position: tuple[int, int]) -> int:
    """The offset of a position. Behind the end of its line or of the text, the offset of that end."""
    line, character = position
    start = 0
    for _ in range(line):
        start = text.find("\n", start) + 1
        if start == 0:
            return len(text)
    end = text.find("\n", start)
    return min(start + character, len(text) if end < 0 else end)
