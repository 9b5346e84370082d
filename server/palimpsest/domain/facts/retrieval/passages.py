"""The passages of a message that are indexed for retrieval.

A long text is cut at the ends of sentences or lines, so that a question is compared with words that belong together. A
short one is topped up with the nearest words of its neighbors: "yes, do that" means nothing alone. Passages depend on
the content alone; the same content must give the same passages for ever, or a migration builds the index anew.

A tool's answer is not the assistant's, and only its beginning and its end are indexed: the search for people finds the
rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.facts.retrieval.words import humped
from palimpsest.domain.messages import AttachmentPart, Content, ImagePart, Role, ToolResultPart

PASSAGE_WORDS: Final = 120
TOP_UP_WORDS: Final = 80
"""The words of a short text and its neighbors together. A text that has as many alone is not topped up."""
MOST_PASSAGES: Final = 4_096
"""The most passages of one message: about half a million words."""
_LONGEST_RULE: Final = 60
"""Words. A longer message is not about the standing rule that it may hold."""
_RULE_CHARS: Final = 1_000
"""The characters at each end of such a message that are read."""
_TOOL_HEAD, _TOOL_TAIL = 2, 1
"""Passages from both ends of a tool's answer."""
_CALL_CHARS: Final = 2_000
"""The first characters of a tool call's arguments: they hold paths, names and commands."""
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
"""Forms of standing rules and preferences, wider than those of `domain.context.rules`: a false one costs little here,
and later questions are about a preference that is said once ("I prefer tables")."""
_ENDS: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_NAME: Final = re.compile(r"([A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30})?): \S")


@dataclass(frozen=True, slots=True)
class Saying:
    """A message as retrieval sees it."""

    role: Role
    """The speaker. The calls of an assistant's message without text are the tool's."""
    name: str
    """The name that the text begins with, as in "Ada: hello"; empty for none. The other messages tell whether it is a
    speaker's."""
    n_words: int
    """All words of the message, indexed or not."""
    passages: tuple[str, ...]
    """In order, none of them empty; no passages when there is nothing to index."""
    extra: str
    """Names outside the text: attachments or calls."""

    @property
    def is_prose(self) -> bool:
        """Whether a person or a model said it, so that its words can top up a neighbor."""
        return self.role is not Role.TOOL and self.n_words > 0

    def columns(self, number: int) -> tuple[str, str]:
        """The columns of a passage in the index: its text, and its identifiers taken apart."""
        passage = self.passages[number]
        parts = humped(passage)
        return passage, f"{parts} {self.extra} {humped(self.extra)}".strip() if number == 0 else parts


def to_saying(content: Content) -> Saying:
    if content.role is Role.TOOL:
        return _to_answer("\n".join(part.text for part in content.parts if isinstance(part, ToolResultPart)))
    text = content.text
    if content.role is Role.USER:
        extra = " ".join(part.label for part in content.parts if isinstance(part, AttachmentPart | ImagePart))
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
    """Whether the user sets a standing rule or a preference in it."""
    if content.role is not Role.USER or saying.n_words >= _LONGEST_RULE:
        return False
    text = content.text
    # Few words may be many characters, and the search for a beginning of a sentence takes the square of their number.
    ends = text if len(text) <= 2 * _RULE_CHARS else f"{text[:_RULE_CHARS]}\n{text[-_RULE_CHARS:]}"
    return _STANDING.search(ends) is not None


def _to_answer(text: str) -> Saying:
    passages = tuple(cut(text))
    if len(passages) > _TOOL_HEAD + _TOOL_TAIL:
        passages = passages[:_TOOL_HEAD] + passages[-_TOOL_TAIL:]
    return Saying(Role.TOOL, "", len(text.split()), passages, "")


def name_of(text: str) -> str:
    """The name before a colon that a text begins with; empty for none."""
    match = _NAME.match(text)
    return match[1] if match else ""


def cut(text: str) -> Iterator[str]:
    """The text as passages of at most 120 words, with plain white space. A passage ends with a sentence or a line,
    unless that alone is longer."""
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
    """The text between matches of `_ENDS`, one after the other: splitting all at once holds the interpreter."""
    start = 0
    for end in _ENDS.finditer(text):
        yield text[start : end.start()]
        start = end.end()
    yield text[start:]


def _first(passages: Iterator[str], most: int) -> Iterator[str]:
    return (passage for passage, _ in zip(passages, range(most), strict=False))


def around(n_words: int, before: Sequence[str], after: Sequence[str]) -> str:
    """The words that top a text up: the last of `before` and the first of `after`, half of each when both have
    enough."""
    room = TOP_UP_WORDS - n_words
    if room <= 0:
        return ""
    n_before = min(len(before), max(room // 2, room - len(after)))
    return " ".join([*before[len(before) - n_before :], *after[: room - n_before]])
