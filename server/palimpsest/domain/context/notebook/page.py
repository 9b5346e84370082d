"""A page: the record of a stretch of messages that stands in a block.

The user's words come first, then what was done, line by line in the order of time, then a short list of names that no
line tells. It is chosen from the entries of the messages, never from an earlier page, so nothing fades by being retold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from palimpsest.domain.context.notebook.entry import DONE, NAMED, SAID
from palimpsest.domain.context.notebook.names import WORD, names_in
from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.selection import IN_LINE, IN_LIST, Selection
from palimpsest.domain.messages import MessageId
from palimpsest.wording import counted

_SAID_SHARE: Final = 0.14
"""Of the page: what the user said, beside the standing rules."""
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
    said = _said(book, ids, target_tokens * _SAID_SHARE, told, ruled)
    left = target_tokens - sum(book.count(line) for line in said) - _HEADING_TOKENS * (1 + bool(said))
    for_names = min(target_tokens * _NAMED_SHARE, _NAMED_TOKENS)
    done = Selection(book, told, left - for_names, _ALSO_SHARE, dict.fromkeys(ids, 1.0), (*said, *ruled)).lines()
    named = _named(book, ids, told, for_names - _HEADING_TOKENS)
    sections = ((SAID, said), (DONE, done), (NAMED, named))
    return "\n".join(f"## {heading}\n" + "\n".join(lines) for heading, lines in sections if lines)


def _said(
    book: Notebook, ids: Sequence[MessageId], room: float, told: dict[str, float], ruled: Collection[str]
) -> list[str]:
    """What the user said that no rule above the page says: the heaviest sentences that fit, the newer first among
    equals, in their order."""
    sentences = [(each, id, i) for id in ids for i, each in enumerate(book.entries[id].said)]
    chosen: list[tuple[MessageId, int, str]] = []
    seen: set[str] = set()
    for sentence, id, place in sorted(sentences, key=lambda each: (-each[0].weight, -each[1], each[2])):
        text = sentence.text
        size = book.count(text) + _LINE_TOKENS
        if text in seen or size > room or _NOTHING_SAID.match(text) or len(WORD.findall(text)) < _FEWEST_WORDS:
            continue
        if any(text in rule for rule in ruled):
            continue
        seen.add(text)
        chosen.append((id, place, text))
        room -= size
        told.update(dict.fromkeys(names_in(text), IN_LINE))
    return [f"- [{id}] {text}" for id, _, text in sorted(chosen)]


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
