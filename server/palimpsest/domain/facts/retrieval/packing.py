"""Packs excerpts into a budget of tokens: the best are chosen first and shown in the order of time.

The packed text is a record: each turn begins a line, and its further lines are indented, so that no text can pass for
another turn.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.recall_report import LeftOutBecause
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.facts.fact import StoredFact
from palimpsest.domain.facts.retrieval.question import MONTHS
from palimpsest.domain.facts.retrieval.scoring import Ranked
from palimpsest.domain.facts.text import by_author
from palimpsest.domain.messages import MessageId, Role

_SHARE: Final = 0.2
"""The largest share of the budget for one turn; of a longer one a passage is shown."""
_MOST_LOOKED_AT: Final = 200
_MOST_WITHOUT_ROOM: Final = 25
"""In a row. What comes behind is worse and hardly shorter, and showing it may mean cutting a large message."""
_SMALLEST: Final = 12
"""Tokens. Nothing worth reading fits into fewer."""
_CHARS_PER_TOKEN: Final = 16
"""More than the average of any text, white space and long words included."""
_JOINT: Final = 1
"""Tokens by which two lines may take more together than alone."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A turn or a fact that was found, as it may be shown."""

    ranked: Ranked
    group: Hashable
    """Excerpts of one group have one heading: a session's turns, or the facts."""
    heading: str
    whole: str
    """One or more whole lines."""
    passage: str | None
    """Shown when `whole` would take too much; None when there is nothing shorter."""
    position: tuple[int, int]
    """The order of groups, and of excerpts within a group."""
    is_told: bool = False
    """Whether the reader has it already: it takes its part of the budget and is not shown, so that no worse one takes
    its place."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The text, and the excerpts in it, in its order."""

    text: str
    excerpts: tuple[tuple[Excerpt, int], ...]
    """Each with the tokens of its lines."""
    tokens: int
    """At least as many as the text takes, and at most the budget."""
    passed_over: tuple[tuple[Excerpt, LeftOutBecause], ...]
    """The other excerpts that were looked at, the best first."""


def pack(excerpts: Iterable[Excerpt], budget_tokens: int, count: CountText) -> Packed:
    """`excerpts` come best first and are read one at a time. An excerpt that does not fit is passed over, and so is one
    that would say the same as a better one."""
    used = 0
    chosen: list[tuple[Excerpt, str, int]] = []
    passed_over: list[tuple[Excerpt, LeftOutBecause]] = []
    headings: dict[Hashable, int] = {}
    shown: set[str] = set()
    n_without_room = 0
    for excerpt, _ in zip(excerpts, range(_MOST_LOOKED_AT), strict=False):
        text = excerpt.whole
        tokens = _cost(text, budget_tokens, count)
        if excerpt.passage is not None:
            share = int(budget_tokens * _SHARE)
            if _cost(text, share, count) > share:
                text, tokens = excerpt.passage, _cost(excerpt.passage, budget_tokens, count)
        with_heading = tokens if excerpt.group in headings else tokens + count(f"{excerpt.heading}\n") + _JOINT
        fits = used + with_heading <= budget_tokens
        n_without_room = 0 if fits else n_without_room + 1
        if fits:
            used += with_heading
            headings.setdefault(excerpt.group, len(headings))
        if excerpt.is_told or text in shown:
            passed_over.append((excerpt, LeftOutBecause.TOLD))
        elif fits:
            chosen.append((excerpt, text, tokens))
            shown.add(text)
        else:
            passed_over.append((excerpt, LeftOutBecause.NO_ROOM))
        if budget_tokens - used < _SMALLEST or n_without_room == _MOST_WITHOUT_ROOM:
            break
    chosen.sort(key=lambda each: each[0].position)
    whole = "".join(_lines((excerpt, lines) for excerpt, lines, _ in chosen))
    return Packed(whole, tuple((excerpt, tokens) for excerpt, _, tokens in chosen), used, tuple(passed_over))


def _cost(text: str, room: int, count: CountText) -> int:
    """The tokens of a text; `room + 1`, uncounted, for a text that is far longer than `room` tokens."""
    return room + 1 if len(text) > _CHARS_PER_TOKEN * (room + 1) else count(text) + _JOINT


def _lines(chosen: Iterable[tuple[Excerpt, str]]) -> Iterator[str]:
    under: Hashable = None
    for excerpt, text in chosen:
        if excerpt.group != under:
            under = excerpt.group
            yield f"{excerpt.heading}\n"
        yield text


_ROLES: Final = {Role.USER: "user", Role.ASSISTANT: "assistant", Role.TOOL: "tool"}


def render_day(day: int | None) -> str:
    """The heading of a session, in words as people ask for them: [3 June 2026]."""
    if day is None:
        return "[no date]"
    date = datetime.date.fromordinal(day)
    return f"[{date.day} {MONTHS[date.month - 1].capitalize()} {date.year}]"


def render_turn(role: Role, name: str, text: str) -> str:
    """The whole turn, behind its role unless the text begins with the speaker's name."""
    speaker = "" if name else f"{_ROLES[role]}: "
    return f"{speaker}{_indented(text)}\n"


def render_passage(role: Role, message_id: MessageId, passage: str) -> str:
    """A part of a turn, with the id by which the rest can be read."""
    return f"{_ROLES[role]} (from message {message_id}): … {passage.strip('… ')} …\n"


def _indented(text: str) -> str:
    """The text without blank lines; all but the first are indented, so that none can pass for a turn."""
    return "\n ".join(line for line in text.strip().splitlines() if line.strip())


def render_fact(fact: StoredFact) -> str:
    """A fact on one line, that of a colleague behind his name; a stale one with the files that have changed since."""
    stale = f" (may no longer hold: {', '.join(fact.stale_sources)} changed since)" if fact.is_stale else ""
    return f"- {by_author(fact)}{fact.fact.content}{stale}\n"
