"""Where text of ours goes in a document that somebody else is typing in.

An editor is asked to apply an edit and may refuse it, apply it late, apply it to a text that has changed meanwhile, or
say that it has applied what it has not. So nothing counts as done before the editor's own account of the document shows
it. One edit is on its way at a time; whatever waits meanwhile goes with the next. An edit that landed on other text
than was meant is taken back: what it removed is put back, and what it added goes where it belongs.

Offsets count characters. Positions are pairs of line and character, lines ending at `\\n` only: whoever uses this gives
texts with such ends.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final

_CONTEXT: Final = 60
"""Characters to either side by which a place is found again in a text whose change is told only as a whole."""
_REMEMBERED: Final = 50
"""Deletions around the place where text arrives; an undo of one puts the place back into it."""
_MOST_COMPARED: Final = 400
"""Characters, or lines, in which the parts of a change are looked for."""


@dataclass(frozen=True, slots=True)
class Change:
    """What stood at [start, end) has become `text`, or is to."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)

    def apply(self, text: str) -> str:
        return f"{text[: self.start]}{self.text}{text[self.end :]}"


def change_between(old: str, new: str) -> Change:
    """The one change that makes `new` of `old`, without what both begin and end with."""
    return _trimmed(old, Change(0, len(old), new))


@dataclass(slots=True, eq=False)
class _Mend:
    """What stands at [start, end) is to become `text`."""

    start: int
    end: int
    text: str = ""
    anchor_at: int | None = None
    """Where in `text` the anchor belongs, when it was swept away with it."""
    within: tuple[_Mend, ...] = ()
    """What of `text` is to go again, because it was to go when it was swept away; by its place in `text`."""
    is_typed: bool = False
    """Whether it goes only as the user has left it."""


@dataclass(slots=True)
class _Sent:
    """An edit on its way."""

    change: Change
    """By the text as it was then."""
    start: tuple[int, int]
    end: tuple[int, int]
    mend: _Mend | None
    """None: it adds what was waiting."""
    is_applied: bool = False
    """Whether the editor has said so."""


@dataclass(slots=True)
class Placement:
    """Text that arrives at one place (`anchor`) of a document, and what is to go from it."""

    text: str
    """The document, as the editor last told it."""
    anchor: int
    waiting: str = ""
    """Text that has arrived and does not stand in the document yet."""
    _mends: list[_Mend] = field(default_factory=list)
    _sent: _Sent | None = None
    _removed: list[tuple[str, int]] = field(default_factory=list)
    """What was deleted around the anchor, the last one last, each with where in it the anchor was."""

    @property
    def is_settled(self) -> bool:
        """Whether the document holds all that has arrived, and nothing that was to go."""
        return not self.waiting and not self._mends and self._sent is None

    @property
    def is_waiting(self) -> bool:
        """Whether an edit is on its way."""
        return self._sent is not None

    @property
    def typed(self) -> str:
        """What the user has typed and is to go, as it still stands there."""
        return "".join(self.text[each.start : each.end] for each in self._mends if each.is_typed)

    def remove(self, start: int, end: int) -> None:
        """This stretch, which is ours, is to go; what is typed into it meanwhile stays."""
        if start < end:
            self._mends.append(_Mend(start, end))

    def remove_typed(self, start: int, end: int) -> None:
        """This stretch, which the user has typed, is to go. When they change it meanwhile it stays as they have changed
        it: an editor tells what was typed over it without what both begin and end with."""
        if start < end:
            self._mends.append(_Mend(start, end, is_typed=True))

    def add(self, text: str) -> None:
        self.waiting += text

    def propose(self) -> Change | None:
        """The next edit, which is on its way from now on; None when there is nothing to do, or one is already."""
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
        """What the editor says of the edit on its way. A refused one waits again."""
        if self._sent is not None:
            self._sent.is_applied = is_applied
            if not is_applied:
                self.give_up()

    def give_up(self) -> None:
        """The edit on its way will not be seen: it waits again."""
        if self._sent is not None:
            if self._sent.mend is None:
                self.waiting = self._sent.change.text + self.waiting
            self._sent = None

    def changed(self, changes: Sequence[Change]) -> None:
        """The editor's account of what happened to the document, in order, each by the text the one before left."""
        for change in changes:
            if change.start != change.end or change.text:
                self._take(change)
        if self._sent is not None and self._sent.is_applied:
            self.give_up()  # it has told what the document is since, and the edit is not in it

    # ------------------------------------------------------------------------------------------------ one change

    def _take(self, change: Change) -> None:
        after = change.apply(self.text)
        if self._sent is None or not self._take_as_ours(self._sent, change, after):
            self._take_as_theirs(change, _trimmed(self.text, change), after)
        self.text = after

    def _take_as_ours(self, sent: _Sent, change: Change, after: str) -> bool:
        """Whether the change is the edit on its way and nothing else. Then it is done with."""
        mend = sent.mend
        meant = Change(self.anchor, self.anchor, sent.change.text)
        if mend is not None:
            meant = Change(mend.start, mend.end, mend.text)
        is_due = mend is None or mend in self._mends  # else the user has removed what it was to remove
        if is_due and change.growth == meant.growth and meant.apply(self.text) == after:
            self._sent = None
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
        """Whether the change is the edit on its way, applied by line and character to another text than it was made
        for. It is to be taken back, and waits again."""
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
        """A change by somebody else, as it was told and trimmed, which may hold the edit on its way when the editor
        tells several as one."""
        sent = self._sent
        # A change may be told a little beside the place, where what was added begins or ends like what stands there.
        beside = 0 if sent is None else len(sent.change.text)
        if sent is not None and sent.mend is None and change.start - beside <= self.anchor <= change.end + beside:
            added = sent.change.text
            at = _find_again(self.text, self.anchor, self._widened(change), after, added)
            if at is not None:
                without = f"{after[:at]}{after[at + len(added) :]}"
                self._sent = None
                theirs = change_between(self.text, without)
                self._move(theirs, theirs)
                self.text, self.anchor = without, at + len(added)
                self._move_mends(Change(at, at, added), but=None)
                return
        self._move(told, change)

    def _widened(self, change: Change) -> Change:
        """The same change, told so that the anchor lies in or beside it."""
        start, end = min(change.start, self.anchor), max(change.end, self.anchor)
        text = f"{self.text[start : change.start]}{change.text}{self.text[change.end : end]}"
        return Change(start, end, text)

    def _move(self, told: Change, change: Change) -> None:
        """Moves every place by a change of somebody else's. Leaves `text` as it is after it."""
        is_whole = (told.start, told.end) == (0, len(self.text))
        self._move_mends(change if is_whole else told, but=None)
        for each in _fine(self.text, change):
            after = each.apply(self.text)
            is_astride = each.start < self.anchor < each.end and each.text
            found = _find_again(self.text, self.anchor, each, after, "") if is_astride else None
            self._move_anchor(each)
            self.anchor = self.anchor if found is None else found
            self.text = after

    def _move_anchor(self, change: Change) -> None:
        """A place that text arrives at stays left of what is typed there, so that the text stays in one piece."""
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
        """What was deleted around the anchor may be put back by an undo."""
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
    """The mend after a change by somebody else; in two where that was made inside it, none when it is pointless now."""
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
        if kept >= 0:  # told as a part of it
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
    """The same change, beside the mend where it may have been made there. What is typed behind a message is often told
    before the end of its last line; and of text that is typed beside text like it, a whole document does not tell the
    place."""
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


def _fine(text: str, change: Change) -> list[Change]:
    """The change as several smaller ones, each by the text that those before it leave, when it may be several told as
    one and is not too large to find out."""
    old, new = text[change.start : change.end], change.text
    if not old or not new:
        return [change]
    if max(len(old), len(new)) <= _MOST_COMPARED:
        blocks = _changed_blocks(old, new)
    else:
        lines = [each.splitlines(keepends=True) for each in (old, new)]
        if max(map(len, lines)) > _MOST_COMPARED:
            return [change]
        starts = [list(accumulate(map(len, each), initial=0)) for each in lines]
        blocks = [
            (starts[0][start], starts[0][end], starts[1][first], starts[1][last])
            for start, end, first, last in _changed_blocks(*lines)
        ]
    found: list[Change] = []
    moved = change.start
    for start, end, first, last in blocks:
        found.append(Change(start + moved, end + moved, new[first:last]))
        moved += found[-1].growth
    return found


def _changed_blocks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [(start, end, first, last) for kind, start, end, first, last in matcher.get_opcodes() if kind != "equal"]


def _trimmed(text: str, change: Change) -> Change:
    old, new = text[change.start : change.end], change.text
    most = min(len(old), len(new))
    head = _common(old, new, most)
    tail = _common(old[::-1], new[::-1], most - head)
    return Change(change.start + head, change.end - tail, new[head : len(new) - tail])


def _common(one: str, other: str, most: int) -> int:
    """How many characters both begin with, at most that many."""
    low = 0
    while low < most:  # halving: comparing slices is done in C
        step = most - low
        while one[low : low + step] != other[low : low + step]:
            step //= 2
        if step == 0:
            break
        low += step
    return low


def _find_again(before: str, anchor: int, change: Change, after: str, added: str) -> int | None:
    """Where in `after` the place is that was `anchor`, with `added` behind it; None when that cannot be told.

    Looked for where the change was, by what stood to both sides of the place, else to one.
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
    """Of a position; of the end of its line or of the text where it lies behind that."""
    line, character = position
    start = 0
    for _ in range(line):
        start = text.find("\n", start) + 1
        if start == 0:
            return len(text)
    end = text.find("\n", start)
    return min(start + character, len(text) if end < 0 else end)
