"""The choice of lines: a greedy cover, by how much each token adds to the names that are told.

Candidates are the heads of entries, their fragments, and, once a line says something of its message, bare names of the
same message behind it. What a candidate adds only falls while others are chosen, so the best is found without looking
at all again (a lazy heap); a candidate whose line became cheaper meanwhile is found a little late.

A line is of one message, so whatever stands in it is true of each name in it. The result of a call stands below the
call, behind an arrow. What a person reads comes first: calls, outcomes, sentences, a few declarations and names. The
rest of the fragments and names of a message is its *detail*, which a page shows at its end.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.context.notebook.entry import USER_WROTE, WORDS_OF_HEAD, Entry
from palimpsest.domain.context.notebook.fragments import SEPARATOR, Fragment, Kind, joined
from palimpsest.domain.context.notebook.names import key, n_words, names_in, shortened_path
from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.messages import MessageId, Role

IN_LINE, IN_LIST = 1.0, 0.4
"""How well a name is told by a line that says something, and in a list of bare names."""
IN_BLOCK, IN_LIVE = 0.8, 0.6
"""How well a name counts as told that stands in another block, or in a live message."""

_IN_HEAD, _ALSO, _SAYS_LITTLE = 0.8, 0.8, 0.8
_WORDS_FIRST: Final = 3
"""That a line says before bare names stand behind it."""
_MOST_LINES_READ, _MOST_NAMES_READ = 2, 5
"""Fragments of code or output, and bare names, of one message beside what a person reads; the rest is detail."""
_WORDS_BESIDE: Final = 5
"""Words beside which bare names say something."""
_CUE_CHARS: Final = 100
_DETAIL_TOKENS: Final = 6
"""The frame of a detail."""
_IMPORTS: Final = re.compile(r"(?:import|from|use|using|require|alias|#include)\b")
"""A line that says nothing of its own file."""
_MUCH_ROOM: Final = 2_800
"""Raw tokens: a page with less tells more names for them than words of results beside heads."""
_LEAST_MISSING: Final = 0.3
"""How badly a name must be told for a mention behind a line."""
_ANSWERED_SHARE: Final = 0.2
"""Of the room: sentences of the assistant, at most."""
_LEAST_NEWS, _LEAST_HEAD = 0.25, 0.6
_HEAD_WEIGHT, _NAMED_HEAD_WEIGHT = 0.5, 0.3
_ARROW_TOKENS, _OLD_PATH_TOKENS = 3, 6
_LEAST_TOKENS: Final = 2
"""No candidate takes less."""
_ROUNDING: Final = 1e-9

_HEAD: Final = -1
_NAMES: Final = 1_000_000
"""From here on a place in the heap is that of a name of the entry; below it stand its head and its fragments."""


@dataclass(slots=True)
class _Line:
    """The line of one message as far as it is chosen."""

    fragments: list[int] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    n_words: int = 0
    has_detail: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The lines that were chosen, in the order of their messages."""

    done: list[str]
    """For reading."""
    details: list[str]
    """The rest, a line for each message."""


@dataclass(slots=True)
class Selection:
    """Chooses lines of some messages of a notebook."""

    book: Notebook
    told: dict[str, float]
    """How well each name is told elsewhere, by key, from 0 to 1; grows with what is chosen."""
    room: float
    """Raw tokens, about, for the lines together."""
    also_share: float
    """Of the room: bare names behind lines, at most."""
    weights: Mapping[MessageId, float]
    """How much each message counts; only these are chosen from."""
    above: tuple[str, ...] = ()
    """The user's words that stand above the lines: no line repeats a part of them."""
    most_also: int = 30
    """Bare names behind one line."""
    has_details: bool = False
    """Whether what is not for reading stands apart, in the details."""
    _lines: dict[MessageId, _Line] = field(default_factory=dict)
    _paths: set[str] = field(default_factory=set)
    _worths: dict[str, float] = field(default_factory=dict)
    _asides: dict[MessageId, int] = field(default_factory=dict)
    _sizes_of_paths: dict[str, int] = field(default_factory=dict)
    _heap: list[tuple[float, int, int]] = field(default_factory=list)
    """What each candidate added for its tokens when it was last looked at, negative; its message, negative, so that of
    equals the newest comes first; and its place in the entry."""
    _used: float = 0.0
    _said: float = 0.0
    _also: float = 0.0

    def lines(self) -> list[str]:
        """The chosen lines where nothing stands apart."""
        return self.chosen().done

    def chosen(self) -> Chosen:
        """Chooses, once."""
        seen: set[str] = set()
        for id in self.weights:
            entry = self.book.entries[id]
            self._heap += self._first_gains(entry)
            if entry.head and entry.role is Role.ASSISTANT:
                self._heap.append((-self._head_gain(entry)[0] / entry.head_tokens, -id, _HEAD))
        heapq.heapify(self._heap)
        while self._heap and self._used + _LEAST_TOKENS <= self.room:
            minus, minus_id, place = heapq.heappop(self._heap)
            entry = self.book.entries[MessageId(-minus_id)]
            if place >= _NAMES:
                self._consider_name(entry, place, -minus)
            elif place == _HEAD:
                self._consider_head(entry, -minus)
            elif entry.fragments[place].text not in seen:
                if self._consider_fragment(entry, place, -minus):
                    seen.add(entry.fragments[place].text)
        return self._rendered()

    def _worth(self, name: str) -> float:
        if (worth := self._worths.get(name)) is None:
            worth = self._worths[name] = self.book.worth(name)
        return worth

    def _news(self, names: Iterable[str], level: float) -> float:
        told, worths, news = self.told, self._worths, 0.0
        for name in names:
            missing = level - told[name] if name in told else level
            if missing > 0.0:
                news += (worths[name] if name in worths else self._worth(name)) * missing
        return news

    def _tell(self, names: Iterable[str], level: float) -> None:
        for name in names:
            self.told[name] = max(self.told.get(name, 0.0), level)

    def _level(self, entry: Entry, fragment: Fragment) -> float:
        if fragment.n_words >= _WORDS_FIRST:
            return IN_LINE
        line = self._lines.get(entry.id)
        return IN_LINE if line is not None and line.fragments else _SAYS_LITTLE

    def _call_of(self, entry: Entry) -> Entry | None:
        """The entry of the call that a result answers, where it may stand above it."""
        return None if entry.answers is None else self.book.entries.get(entry.answers)

    def _opening(self, entry: Entry) -> tuple[float, float]:
        """What the frame of the entry's line adds, and its tokens; nothing once the line is there."""
        if entry.id in self._lines:
            return 0.0, 0.0
        if (call := self._call_of(entry)) is not None:
            if call.id in self._lines:
                return 0.0, _ARROW_TOKENS
            value, size = self._opening(call)
            return value, size + _ARROW_TOKENS
        value = self._news(entry.head_names, _IN_HEAD) + _NAMED_HEAD_WEIGHT if entry.head_names else 0.0
        size = float(entry.head_tokens) + self._aside_tokens(entry)
        if entry.path and entry.path in self._paths:
            size = max(8.0, size - self._path_tokens(entry.path) + _OLD_PATH_TOKENS)
        return value, size

    def _path_tokens(self, path: str) -> int:
        if (size := self._sizes_of_paths.get(path)) is None:
            size = self._sizes_of_paths[path] = self.book.count(path)
        return size

    def _aside(self, entry: Entry) -> str:
        """What stands behind a head that says little: what the message says that it is for, or else a line of the
        result."""
        if not entry.head or entry.role is not Role.ASSISTANT or entry.head_words >= WORDS_OF_HEAD:
            return ""
        if entry.purpose:
            return entry.purpose
        result = self.book.entries.get(MessageId(entry.id + 1))
        if self.room < _MUCH_ROOM or result is None or result.answers != entry.id:
            return ""
        below = self._lines[result.id].fragments if result.id in self._lines else []
        telling = [
            each for place, each in enumerate(result.fragments) if each.n_words >= WORDS_OF_HEAD and place not in below
        ]
        if not telling:
            return ""
        known = set(entry.head_names)
        return min(
            telling,
            key=lambda each: (
                _IMPORTS.match(each.text) is not None,
                known.issuperset(each.names),
                each.weight == 0.0,
                len(each.text),
            ),
        ).text

    def _aside_tokens(self, entry: Entry) -> int:
        if (size := self._asides.get(entry.id)) is None:
            aside = self._aside(entry)
            size = self._asides[entry.id] = self.book.count(aside) + 2 if aside else 0
        return size

    def _first_gains(self, entry: Entry) -> list[tuple[float, int, int]]:
        """The fragments as the heap holds them, before any line is opened; without those that will never add enough."""
        value, size = self._opening(entry) if entry.fragments else (0.0, 0.0)
        weight, found = self.weights[entry.id], []
        for place, fragment in enumerate(entry.fragments):
            if entry.role is Role.USER and any(fragment.text.rstrip("…") in text for text in self.above):
                continue
            news = self._news(fragment.names, IN_LINE)
            if fragment.weight + news >= _LEAST_NEWS:
                if fragment.n_words < _WORDS_FIRST:
                    news = self._news(fragment.names, _SAYS_LITTLE)
                gain = (value + fragment.weight + news) * weight / (size + fragment.tokens)
                found.append((-gain, -entry.id, place))
        return found

    def _head_gain(self, entry: Entry) -> tuple[float, float]:
        value = (_HEAD_WEIGHT + self._news(entry.head_names, _IN_HEAD)) * self.weights[entry.id]
        return value, self._opening(entry)[1]

    def _is_late(self, density: float, expected: float) -> bool:
        """Whether another candidate is better by now than one that turned out to add less than it did."""
        return density < expected - _ROUNDING and bool(self._heap) and density < -self._heap[0][0]

    def _consider_name(self, entry: Entry, place: int, expected: float) -> None:
        name, line = entry.names[place - _NAMES], self._lines[entry.id]
        missing, size = _ALSO - self.told.get(name, 0.0), self.book.name_tokens(name)
        if missing < _LEAST_MISSING or len(line.also) >= self.most_also or self._used + size > self.room:
            return
        density = self._worth(name) * missing * self.weights[entry.id] / size
        if self._is_late(density, expected):
            heapq.heappush(self._heap, (-density, -entry.id, place))
        elif self._also + size <= self.also_share * self.room:
            self._used += size
            self._also += size
            line.also.append(self.book.shown(name))
            self._tell((name,), _ALSO)
            self._begin_detail(entry, line)

    def _consider_head(self, entry: Entry, expected: float) -> None:
        if entry.id in self._lines:
            return
        value, size = self._head_gain(entry)
        if value < _LEAST_HEAD:
            return
        if self._is_late(value / size, expected):
            heapq.heappush(self._heap, (-value / size, -entry.id, _HEAD))
        elif self._used + size <= self.room:
            self._used += size
            self._open(entry)

    def _consider_fragment(self, entry: Entry, place: int, expected: float) -> bool:
        """Whether it was chosen."""
        fragment = entry.fragments[place]
        if self._used + fragment.tokens > self.room:
            return False
        news = self._news(fragment.names, IN_LINE)
        if fragment.weight + news < _LEAST_NEWS:
            return False
        if (level := self._level(entry, fragment)) != IN_LINE:
            news = self._news(fragment.names, level)
        value, size = self._opening(entry)
        value += fragment.weight + news
        size += fragment.tokens
        density = value * self.weights[entry.id] / size
        if fragment.kind is Kind.SAID and self._said + size > _ANSWERED_SHARE * self.room:
            return False
        if self._is_late(density, expected):
            heapq.heappush(self._heap, (-density, -entry.id, place))
            return False
        if self._used + size > self.room:
            return False
        self._used += size
        self._said += size if fragment.kind is Kind.SAID else 0.0
        line = self._lines.get(entry.id) or self._open(entry)
        line.fragments.append(place)
        self._begin_detail(entry, line)
        self._tell(fragment.names, level)
        self._say(entry, line, fragment.n_words)
        return True

    def _open(self, entry: Entry) -> _Line:
        """The entry's line, with that of its call."""
        if (call := self._call_of(entry)) is not None and call.id not in self._lines:
            self._open(call)
        line = self._lines[entry.id] = _Line()
        self._tell(entry.head_names, _IN_HEAD)
        if entry.path and entry.role is Role.ASSISTANT:
            self._paths.add(entry.path)
        if entry.head:
            self._say(entry, line, entry.head_words)
        return line

    def _say(self, entry: Entry, line: _Line, more_words: int) -> None:
        """A line that comes to say enough may be followed by bare names of its message."""
        before, line.n_words = line.n_words, line.n_words + more_words
        if not before < _WORDS_FIRST <= line.n_words or entry.id not in self.weights:
            return
        options = {name for each in entry.fragments if each.kind is Kind.CALLED for name in each.names}
        for place, name in enumerate(entry.names):
            missing = _ALSO - self.told.get(name, 0.0)
            if missing >= _LEAST_MISSING and name not in options:  # a bare 60000 says nothing
                density = self._worth(name) * missing * self.weights[entry.id] / self.book.name_tokens(name)
                heapq.heappush(self._heap, (-density, -entry.id, _NAMES + place))

    def _begin_detail(self, entry: Entry, line: _Line) -> None:
        """Counts the frame of a detail once the line has more than what is for reading, about."""
        if not self.has_details or line.has_detail:
            return
        n_lines = sum(entry.fragments[place].kind is Kind.LINE for place in line.fragments)
        most = 0 if entry.role is Role.USER or (entry.role is Role.TOOL and entry.path) else _MOST_LINES_READ
        if n_lines > most or len(line.also) > _MOST_NAMES_READ:
            line.has_detail = True
            self._used += _DETAIL_TOKENS

    def _apart(self, entry: Entry, line: _Line) -> tuple[list[int], list[str]]:
        """The places of the fragments and the names of a line that are detail. Of a file that was read, and of what the
        user wrote, only declarations are for reading; of all else, declarations first."""
        lines = [place for place in sorted(line.fragments) if entry.fragments[place].kind is Kind.LINE]
        if entry.role is Role.USER:
            return lines, line.also
        declared = [place for place in lines if entry.fragments[place].weight > 0.0]
        others = [] if entry.role is Role.TOOL and entry.path else [place for place in lines if place not in declared]
        read = [*declared, *others][:_MOST_LINES_READ]

        def n_words_of(places: list[int]) -> int:
            return sum(entry.fragments[place].n_words for place in places)

        told = entry.head_words + sum(
            each.n_words for place in line.fragments if (each := entry.fragments[place]).kind is not Kind.LINE
        )
        n_read = n_words_of(read)
        is_split = len(lines) > len(read) or len(line.also) > _MOST_NAMES_READ
        if is_split and min(told + n_read, n_words_of(lines) - n_read) < _WORDS_BESIDE:
            read = []
        n_names = _MOST_NAMES_READ if not is_split or told + n_words_of(read) >= _WORDS_BESIDE else 0
        return [place for place in lines if place not in read], line.also[n_names:]

    def _rendered(self) -> Chosen:
        done: list[str] = []
        details: list[str] = []
        shown: set[str] = set()
        below: dict[MessageId, list[Entry]] = defaultdict(list)
        for id in sorted(self._lines):
            entry = self.book.entries[id]
            if (call := self._call_of(entry)) is not None:
                below[call.id].append(entry)
            if self.has_details and (detail := self._detail(entry)):
                details.append(f"[{id}] {detail}")
        for id in sorted(self._lines):
            entry = self.book.entries[id]
            if self._call_of(entry) is not None:
                continue
            if text := self._text(entry, shown):
                done.append(f"- [{id}] {text}")
            for result in below[id]:
                if text := self._text(result, shown):
                    done.append(f"  → {'' if result.id == id + 1 else f'[{result.id}] '}{text}")
        return Chosen(done, details)

    def _detail(self, entry: Entry) -> str:
        line = self._lines[entry.id]
        places, also = self._apart(entry, line)
        if not places and not also:
            return ""
        head = f"{USER_WROTE}: " if entry.role is Role.USER else ""
        if also and sum(entry.fragments[place].n_words for place in places) < _WORDS_BESIDE:
            head += self._cue(entry, line)
        return head + _joined([entry.fragments[place] for place in places], also)

    def _cue(self, entry: Entry, line: _Line) -> str:
        """A few words that say what names belong to, where no fragment beside them does."""
        told = [each for place in sorted(line.fragments) if (each := entry.fragments[place]).kind is not Kind.LINE]
        cues = [cue for text in (*(each.text for each in told), entry.head) if (cue := _beginning(text))]
        return f"({min(cues, key=lambda cue: (n_words(cue) < _WORDS_BESIDE, len(cue)))}) " if cues else ""

    def _text(self, entry: Entry, shown: set[str]) -> str:
        line = self._lines[entry.id]
        apart, also_apart = self._apart(entry, line) if self.has_details else ([], [])
        told = [entry.fragments[place] for place in sorted(line.fragments) if place not in apart]
        chosen = [each for each in told if each.kind is not Kind.CALLED]
        head = USER_WROTE if entry.role is Role.USER and not self.has_details else entry.head
        if (aside := self._aside(entry)) and not any(each.kind is Kind.SAID for each in chosen):
            head = f"{head} ({aside})"
        if entry.path and entry.head:
            if entry.path in shown:
                head = head.replace(entry.path, shortened_path(entry.path))
            shown.add(entry.path)
        head = ", ".join(filter(None, (head, *(each.text for each in told if each.kind is Kind.CALLED))))
        said = " ".join(each.text for each in chosen if each.kind is Kind.SAID)
        also = line.also[: len(line.also) - len(also_apart)]
        body = _joined([each for each in chosen if each.kind is not Kind.SAID], also, is_alone=not said)
        done = f"{head}{': ' if head and body else ''}{body}"
        return f"{said}{' | ' if said and done else ''}{done}"


def _joined(fragments: list[Fragment], also: list[str], *, is_alone: bool = True) -> str:
    """The fragments, and behind them the bare names that none of them holds."""
    held = names_in("\n".join(each.text for each in fragments)) if also else {}
    also = [name for name in also if key(name) not in held]
    names = [f"{'also' if fragments or not is_alone else 'names'} {', '.join(also)}"] if also else []
    return SEPARATOR.join([*filter(None, [joined(fragments)]), *names])


def _beginning(text: str) -> str:
    """The first words of a text, so many that they say something, if it has as many within some characters."""
    words = text.split()
    for n in range(1, len(words)):
        cue = " ".join(words[:n])
        if n_words(cue) >= _WORDS_BESIDE or len(cue) > _CUE_CHARS:
            return f"{cue}…"
    return text
