"""What of a message is looked for, and as which passages.

A long text is cut at the ends of sentences or lines, so that a question is compared with what stands together. A short
one is topped up with the nearest words of its neighbours: "yes, do that" says nothing alone. All of it is derived from
the content and nothing else, and the same content gives the same for ever, or a migration builds the index anew.

What a tool answered is the tool's, not the assistant's, and only its beginning and its end are looked for: the search
that a person asks for finds the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.facts.retrieval.words import humped
from palimpsest.domain.messages import AttachmentPart, Content, Role, ToolResultPart

PASSAGE_WORDS: Final = 120
TOP_UP_WORDS: Final = 80
"""A text and the words of its neighbours have as many together. A text that has them alone gets none."""
MOST_PASSAGES: Final = 4_096
"""Of one message; about half a million words."""
_LONGEST_RULE: Final = 60
"""Words of a message in which a standing rule is looked for: in a longer one it is not what the message is about."""
_RULE_CHARS: Final = 1_000
"""Of each end of such a message."""
_TOOL_HEAD, _TOOL_TAIL = 2, 1
"""Passages from the ends of what a tool answered."""
_CALL_CHARS: Final = 2_000
"""Of the arguments of tool calls: paths, names and commands stand at their beginning."""
_LONGEST_WORD: Final = 400
"""Characters; a longer one is cut, so that a passage stays short whatever is in it."""

_STANDING: Final = re.compile(
    r"(?:^|[.!?:;]\s+|\n)\W*(?:(?:also|and|but|please|so)\s+)*"
    r"(?:always|avoid|be sure|do not|don't|ensure|make sure|never|remember to)\b"
    r"|\b(?:from now on|going forward|from here on)\b"
    r"|\b(?:whenever (?:i|you)|(?:if|when) i ask)\b"
    r"|\bi(?:'d| would)? (?:\w+ )?(?:prefer|rather)\b"
    r"|\bi (?:always|never|only) (?:like|need|use|want)\b"
    r"|\bi(?:'d)? (?:like|need|want) you to\b"
    r"|\b(?:we|you) (?:must|should) (?:always|never|not)\b"
    r"|\bplease (?:avoid|do not|don't|ensure|keep|make sure|stick|use)\b"
    r"|\bin (?:all|future|all future)\b.{0,30}\b(?:answers|replies|responses)\b",
    re.I,
)
"""Forms in which somebody says what is to hold on, wider than those of the ledger: here one that is none costs little,
and a preference that is said once ("I prefer tables") is what later questions are about."""
_ENDS: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_NAME: Final = re.compile(r"([A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30})?): \S")


@dataclass(frozen=True, slots=True)
class Saying:
    """What one message contributes to retrieval."""

    role: Role
    """Who said it. The calls of an assistant that says nothing beside them are the tool's."""
    name: str
    """The name the text begins with, as in "Ada: hello"; empty where there is none. Whether it is a speaker's, the
    other messages tell."""
    n_words: int
    """Of everything it holds, looked for or not."""
    passages: tuple[str, ...]
    """In order, none empty; none at all when there is nothing to look for."""
    extra: str
    """Names that stand outside the text: what was attached or called."""

    @property
    def is_prose(self) -> bool:
        """Whether somebody said it, so that it can be a neighbour."""
        return self.role is not Role.TOOL and self.n_words > 0

    def columns(self, number: int) -> tuple[str, str]:
        """What is indexed of a passage: its text, and identifiers taken apart."""
        passage = self.passages[number]
        parts = humped(passage)
        return passage, f"{parts} {self.extra} {humped(self.extra)}".strip() if number == 0 else parts


def to_saying(content: Content) -> Saying:
    if content.role is Role.TOOL:
        return _to_answer("\n".join(part.text for part in content.parts if isinstance(part, ToolResultPart)))
    text = content.text
    if content.role is Role.USER:
        extra = " ".join(part.label for part in content.parts if isinstance(part, AttachmentPart))
    else:
        extra = " ".join(f"{call.name} {call.arguments}"[:_CALL_CHARS] for call in content.calls)
        if not text.strip():
            return _to_answer(extra)
    n_words = len(text.split())
    if not n_words:
        passages = tuple(cut(extra))[:1]
        return Saying(content.role, "", len(extra.split()), passages, extra)
    passages = tuple(_first(cut(text), MOST_PASSAGES))
    return Saying(content.role, name_of(text), n_words, passages, extra)


def sets_rule(content: Content, saying: Saying) -> bool:
    """Whether the user set a standing rule or a preference by it."""
    if content.role is not Role.USER or saying.n_words >= _LONGEST_RULE:
        return False
    text = content.text
    # Few words may still be many characters, in which looking for a beginning of a sentence takes their square.
    ends = text if len(text) <= 2 * _RULE_CHARS else f"{text[:_RULE_CHARS]}\n{text[-_RULE_CHARS:]}"
    return _STANDING.search(ends) is not None


def _to_answer(text: str) -> Saying:
    passages = tuple(cut(text))
    if len(passages) > _TOOL_HEAD + _TOOL_TAIL:
        passages = passages[:_TOOL_HEAD] + passages[-_TOOL_TAIL:]
    return Saying(Role.TOOL, "", len(text.split()), passages, "")


def name_of(text: str) -> str:
    """The name before a colon that a text begins with; empty where there is none."""
    match = _NAME.match(text)
    return match[1] if match else ""


def cut(text: str) -> Iterator[str]:
    """The text as passages of at most 120 words, white space made plain. A passage ends where a sentence or a line
    does, unless that alone is longer."""
    words: list[str] = []
    for piece in _pieces(text):
        found = [word[:_LONGEST_WORD] for word in piece.split()]
        if words and len(words) + len(found) > PASSAGE_WORDS:
            yield " ".join(words)
            words = []
        words += found
        n_cut = 0
        while len(words) - n_cut > PASSAGE_WORDS:
            yield " ".join(words[n_cut : n_cut + PASSAGE_WORDS])
            n_cut += PASSAGE_WORDS
        words = words[n_cut:]  # once a piece: each cut would copy all that is left
    if words:
        yield " ".join(words)


def _pieces(text: str) -> Iterator[str]:
    """What `_ENDS` parts, one after the other: splitting all at once holds the interpreter."""
    start = 0
    for end in _ENDS.finditer(text):
        yield text[start : end.start()]
        start = end.end()
    yield text[start:]


def _first(passages: Iterator[str], most: int) -> Iterator[str]:
    return (passage for passage, _ in zip(passages, range(most), strict=False))


def around(n_words: int, before: Sequence[str], after: Sequence[str]) -> str:
    """The words that top a text up: the last of `before` and the first of `after`, half of each where both have
    enough."""
    room = TOP_UP_WORDS - n_words
    if room <= 0:
        return ""
    n_before = min(len(before), max(room // 2, room - len(after)))
    return " ".join([*before[len(before) - n_before :], *after[: room - n_before]])
