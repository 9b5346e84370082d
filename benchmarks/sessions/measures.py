"""The measures of one context: what it holds of the names that the recorded agent used next.

A *name* is a path, a dotted, snake or camel case identifier, an option, a hexadecimal id, a number. A name is *held*
when the context has it, and *told* when it stands in a line (a sentence, where a line is long) with at least three
other words, of which 60 % occur in one original message that has the name too: a bare list of names tells nothing.
"""

from __future__ import annotations

import functools
import json
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from palimpsest.domain.context.tokens import CountText

Message = Mapping[str, Any]
Words = frozenset[str]

_NAME: Final = re.compile(
    r"(?:[\w.~@-]*/)+[\w.@-]+"
    r"|[A-Za-z_][\w]*(?:\.[A-Za-z_]\w+)+(?:\(\))?"
    r"|[A-Za-z]\w*_\w+"
    r"|[a-z]+(?:[A-Z][a-z0-9]+)+\w*|(?:[A-Z][a-z0-9]+){2,}"
    r"|\b[0-9a-f]{7,40}\b|\b\d{3,}\b|--?[a-z][a-z-]{3,}|[a-z]+(?:-[a-z0-9]+)+"
)
_SHORTEST: Final = 4
_WORD: Final = re.compile(r"[a-z0-9]+")
_COMMON: Final = frozenset(
    "a about after again also am an and are as at be been before being but by can could d did do does down "
    "for from had has have he her here him his how i if in into is it its just ll m may me might must my no "
    "not of off on or our out over re s she should so t than that the their them then there these they this "
    "those to too up ve very was we were what when where which who whom why will with would you your".split()
)
_LONG_LINE: Final = 300
_SENTENCE_END: Final = re.compile(r"(?<=[.;!?])\s+")
_FEWEST_WORDS: Final = 3
_TRUE_SHARE: Final = 0.6
_KEPT_SHARE: Final = 0.8
_PLACES: Final = 40
"""Messages that have a name, the newest: what a line about it is compared with."""
MESSAGE_TOKENS: Final = 4
"""What a message costs beside its text."""


def text_of(message: Message) -> str:
    """All that a message says, with its calls."""
    calls = message.get("tool_calls") or ()
    return (message.get("content") or "") + "".join(f"\n{call['name']} {_arguments(call)}" for call in calls)


def _arguments(call: Message) -> str:
    arguments = call["arguments"]
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


@functools.lru_cache(maxsize=20_000)
def names_of(text: str) -> Words:
    found = (name.strip("./-").lower() for name in _NAME.findall(text))
    return frozenset(name for name in found if len(name) >= _SHORTEST)


@functools.lru_cache(maxsize=20_000)
def words_of(text: str) -> Words:
    """The words that mean something."""
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def words_beside_names(text: str) -> Words:
    return words_of(_NAME.sub(" ", text))


@functools.lru_cache(maxsize=20_000)
def _telling_lines(text: str) -> tuple[tuple[Words, Words], ...]:
    """Of each line that could tell something: its names, and its other words."""
    result: list[tuple[Words, Words]] = []
    for line in text.split("\n"):
        for sentence in _SENTENCE_END.split(line) if len(line) > _LONG_LINE else (line,):
            names = names_of(sentence)
            if names and len(words := words_beside_names(sentence)) >= _FEWEST_WORDS:
                result.append((names, words))
    return tuple(result)


class Cost:
    """Tokens of a message."""

    def __init__(self, count: CountText) -> None:
        self.of_text = functools.lru_cache(maxsize=20_000)(lambda text: count(text) + MESSAGE_TOKENS)

    def __call__(self, message: Message) -> int:
        return self.of_text(text_of(message))


class History:
    """What was said before a step, as far as measures ask for it."""

    def __init__(self, budget: int, cost: Callable[[Message], int]) -> None:
        """`budget`: tokens of the window of newest messages, whose names need no memory."""
        self._budget = budget
        self._cost = cost
        self._names = set[str]()
        self._places = defaultdict[str, deque[Words]](lambda: deque(maxlen=_PLACES))
        self._window = deque[tuple[int, Words]]()
        self._window_tokens = 0

    def append(self, message: Message) -> None:
        text = text_of(message)
        names, words, tokens = names_of(text), words_beside_names(text), self._cost(message)
        self._names |= names
        for name in names:
            self._places[name].append(words)
        self._window.append((tokens, names))
        self._window_tokens += tokens
        while self._window and self._window_tokens > self._budget:
            self._window_tokens -= self._window.popleft()[0]

    def old_names(self, message: Message) -> Words:
        """The names of the next message that were named before, but not in the newest messages that fit the budget."""
        return (names_of(text_of(message)) & self._names).difference(*(names for _, names in self._window))

    def told(self, names: Words, texts: Sequence[str]) -> Words:
        """Those of `names` that a true line of the texts tells."""
        found = set[str]()
        for line_names, words in (line for text in texts for line in _telling_lines(text)):
            for name in (line_names & names) - found:
                if any(self._is_true(words, place) for place in self._places[name]):
                    found.add(name)
        return frozenset(found)

    @staticmethod
    def _is_true(words: Words, place: Words) -> bool:
        n_common = len(words & place)
        return n_common >= _FEWEST_WORDS and n_common >= _TRUE_SHARE * len(words)


def held(names: Words, texts: Sequence[str]) -> Words:
    """Those of `names` that the texts have."""
    return names & frozenset[str]().union(*map(names_of, texts))


def kept_share(constraints: Sequence[str], texts: Sequence[str]) -> float:
    """Of the constraints: the share whose words stand together in one of the texts, nearly all of them."""
    entries = [words_of(text) for text in texts]
    wanted = [words_of(each) for each in constraints]
    return sum(any(len(w & e) >= _KEPT_SHARE * len(w) for e in entries) for w in wanted) / len(wanted)


def is_orphaned(context: Sequence[Message], recorded_results: Collection[str]) -> bool:
    """Whether a result lacks its call before it, or a call, but for the newest two messages, its recorded result."""
    results = {message.get("tool_call_id") for message in context if message["role"] == "tool"}
    calls = set[str]()
    for place, message in enumerate(context):
        answered = message.get("tool_call_id")
        if message["role"] == "tool" and answered and answered not in calls:
            return True
        for call in message.get("tool_calls") or ():
            calls.add(call.get("id"))
            is_newest = place >= len(context) - 2
            if not is_newest and call.get("id") in recorded_results and call["id"] not in results:
                return True
    return False


def prefix_tokens(before: Sequence[tuple[str, str]], now: Sequence[tuple[str, str]], tokens: Sequence[int]) -> int:
    """Of a context: the tokens that stand unchanged at its beginning. Messages are roles with texts."""
    total = 0
    for old, new, size in zip(before, now, tokens, strict=False):
        if old != new:
            break
        total += size
    return total
