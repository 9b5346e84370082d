"""A page: the record of a stretch of messages that stands in a block.

The user's words come first, then what is open, then what was done, line by line in the order of time. What is for
looking up comes last: further lines and names of these messages, and a short list of names that no line tells. It is
chosen from the entries of the messages, never from an earlier page, so nothing fades by being retold.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.notebook.entry import DETAILS, DONE, NAMED, OPEN, SAID, Entry, Sentence
from palimpsest.domain.context.notebook.evidence import squeeze
from palimpsest.domain.context.notebook.names import WORD, names_in
from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.selection import IN_LINE, IN_LIST, Selection
from palimpsest.domain.messages import MessageId, Role
from palimpsest.wording import counted

_SAID_SHARE, _ASKED_SHARE = 0.14, 0.25
"""Of the page: what the user said, beside the standing rules; and with questions, the first request and the newest."""
_END_WEIGHT: Final = 3.0
"""Of the sentences of the first and of the newest request."""
_ANSWER_WEIGHT: Final = 1.5
"""Of what the assistant said at the end of a turn."""
_UNRESOLVED_WEIGHT: Final = 4.0
"""Of the newest failure that is not resolved."""
_ATTEMPT_CHARS: Final = 60
_BULLET: Final = " -*•"
_ALSO_SHARE: Final = 0.8
_NAMED_SHARE, _NAMED_TOKENS = 0.10, 700
"""Of the page, and raw tokens at most: names that stand in no line. They are worth less than lines once most names have
one."""
_HARDLY_TOLD: Final = 0.3
_LINE_TOKENS, _HEADING_TOKENS = 6, 8
_FEWEST_WORDS: Final = 3
_TRIES: Final = 3
_NOTHING_SAID = re.compile(r"\W*<?/?[\w-]*>?\W*$|<[\w-]+>.*</[\w-]+>$|\[Request interrupted")


def page(
    book: Notebook, start: int, end: int, target_tokens: int, told: Mapping[str, float], ruled: Collection[str]
) -> str:
    """The record of the messages [start, end) in at most about `target_tokens` raw tokens; never empty.

    `told`: how well each name is told elsewhere in the context, by key. `ruled`: rules that stand above the page.
    """
    room = target_tokens
    text = ""
    for _ in range(_TRIES):
        text = _page(book, start, end, room, dict(told), ruled)
        if (size := book.count(text)) <= target_tokens:
            break
        room = room * target_tokens // size - _LINE_TOKENS
    return text or f"{counted(end - start, 'message')} without text."


def _page(
    book: Notebook, start: int, end: int, target_tokens: int, told: dict[str, float], ruled: Collection[str]
) -> str:
    ids = book.within(start, end)
    said = _said(book, ids, target_tokens, told, ruled)
    unresolved = _unresolved(book, ids)
    still_open = _open(book, ids, unresolved)
    above = (*said, *still_open)
    left = (
        target_tokens - sum(book.count(line) for line in above) - _HEADING_TOKENS * (2 + bool(said) + bool(still_open))
    )
    for_names = min(target_tokens * _NAMED_SHARE, _NAMED_TOKENS)
    weights = {id: _ANSWER_WEIGHT if _is_answer(book, id, end) else 1.0 for id in ids}
    if unresolved is not None:
        weights[unresolved.id] = _UNRESOLVED_WEIGHT
    chosen = Selection(book, told, left - for_names, _ALSO_SHARE, weights, (*said, *ruled), has_details=True).chosen()
    named = _named(book, ids, told, for_names - _HEADING_TOKENS)
    sections = ((SAID, said), (OPEN, still_open), (DONE, chosen.done), (DETAILS, chosen.details), (NAMED, named))
    return "\n".join(f"## {heading}\n" + "\n".join(lines) for heading, lines in sections if lines)


def _is_answer(book: Notebook, id: MessageId, end: int) -> bool:
    """Whether the message ends a turn: it calls nothing, and the user speaks next."""
    entry, behind = book.entries[id], book.entries.get(MessageId(id + 1))
    if entry.role is not Role.ASSISTANT or entry.head:
        return False
    return id + 1 == end or (behind is not None and behind.role is Role.USER)


def _said(
    book: Notebook, ids: Sequence[MessageId], target_tokens: int, told: dict[str, float], ruled: Collection[str]
) -> list[str]:
    """What the user said that no rule above the page says, a line for each message, in their order. The first request,
    the newest one and questions come first, then the heaviest; of equals the newer."""
    groups = [group for id in ids for group in _groups(book.entries[id], ruled)]
    asking = [group.id for group in groups if group.says_something]
    ends = {*asking[:1], *asking[-1:]}
    room, most = target_tokens * _SAID_SHARE, target_tokens * _ASKED_SHARE
    chosen: defaultdict[MessageId, set[int]] = defaultdict(set)
    seen: set[str] = set()
    for group in sorted(
        groups, key=lambda each: (-each.weight - _END_WEIGHT * (each.id in ends), -each.id, each.places)
    ):
        limit = most if group.id in ends or group.text.endswith("?") else room
        if limit <= _LINE_TOKENS or group.text in seen or not group.says_something:
            continue
        if (size := book.said_tokens(group.text) + _LINE_TOKENS) > limit:
            continue
        seen.add(group.text)
        chosen[group.id].update(group.places)
        room, most = room - size, most - size
        told.update(dict.fromkeys(names_in(group.text), IN_LINE))
    return [f"- [{id}] {_told_in_order(book.entries[id].said, chosen[id])}" for id in sorted(chosen)]


@dataclass(frozen=True, slots=True)
class _Group:
    """Sentences of one message that are told together."""

    id: MessageId
    places: tuple[int, ...]
    text: str
    weight: float

    @property
    def says_something(self) -> bool:
        return _NOTHING_SAID.match(self.text) is None and len(WORD.findall(self.text)) >= _FEWEST_WORDS


def _groups(entry: Entry, ruled: Collection[str]) -> list[_Group]:
    """The sentences of a message that no rule says: all in one group where it is short, else one in each."""
    new = [
        place for place, each in enumerate(entry.said) if not any(each.text.strip(_BULLET) in rule for rule in ruled)
    ]
    parts = [tuple(new)] if entry.is_whole else [(place,) for place in new]
    return [
        _Group(entry.id, part, " ".join(entry.said[i].text for i in part), max(entry.said[i].weight for i in part))
        for part in parts
        if part
    ]


def _told_in_order(said: Sequence[Sentence], places: Collection[int]) -> str:
    """The sentences, with an ellipsis where some are left out."""
    told: list[str] = []
    for place, each in enumerate(said):
        if place in places:
            told.append(each.text)
        elif told[-1:] != ["…"]:
            told.append("…")
    return " ".join(told)


def _unresolved(book: Notebook, ids: Sequence[MessageId]) -> Entry | None:
    """The newest result of an attempt that failed and was not made again with success, there or later."""
    later = [book.entries[id] for id in book.within(ids[-1] + 1, book.n_read)] if ids else []
    done = {each for entry in later if not entry.has_failed for each in entry.tried}
    for id in reversed(ids):
        entry = book.entries[id]
        if entry.has_failed and not all(each in done or each.split(" ")[0] in done for each in entry.tried):
            return entry
        if not entry.has_failed:
            done |= entry.tried
    return None


def _open(book: Notebook, ids: Sequence[MessageId], unresolved: Entry | None) -> list[str]:
    """What is left to do: the newest request, where its turn did not end with an answer, and what failed last."""
    lines: list[str] = []
    asked = next((id for id in reversed(ids) if book.entries[id].said), None)
    if asked is not None and not _is_answered(book, ids[-1]):
        lines.append(f"- [{asked}] is not answered yet")
    call = book.entries.get(unresolved.answers) if unresolved is not None and unresolved.answers is not None else None
    if call is not None:
        lines.append(f"- [{call.id}] failed, and was not done again with success: {squeeze(call.head, _ATTEMPT_CHARS)}")
    return lines


def _is_answered(book: Notebook, last: MessageId) -> bool:
    """Whether the turn of that message ended with an answer, which may stand behind the page."""
    while (behind := book.entries.get(MessageId(last + 1))) is not None and behind.role is not Role.USER:
        last = behind.id
    return _is_answer(book, last, last + 1)


def _named(book: Notebook, ids: Sequence[MessageId], told: dict[str, float], room: float) -> list[str]:
    """One line of names that stand nowhere yet, the worthiest for their tokens, in the order of their last use."""
    left = {name for id in ids for name in book.entries[id].names if told.get(name, 0.0) < _HARDLY_TOLD}
    chosen: list[str] = []
    for name in _ranked_by_tokens(book, left):
        if (size := book.name_tokens(name)) <= room:
            room -= size
            chosen.append(name)
            told[name] = IN_LIST
    chosen.sort(key=lambda each: (book.uses[each].places[-1], each))
    return [", ".join(book.shown(name) for name in chosen)] if chosen else []


def _ranked_by_tokens(book: Notebook, names: Iterable[str]) -> Sequence[str]:
    """The names, those that are worth most for their tokens first."""
    return sorted(names, key=lambda each: (-book.worth(each) / book.name_tokens(each) ** 0.8, each))
