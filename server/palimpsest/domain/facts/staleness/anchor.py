"""Anchors: what is stored about the lines that a fact rests on, to find them in another version of their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from palimpsest.domain.facts.fact import Span
from palimpsest.domain.facts.staleness.blocks import block_end, heading_level, heads_above, is_attribute
from palimpsest.domain.facts.staleness.file_lines import line_hash, split_lines
from palimpsest.domain.facts.staleness.symbols import definition_at
from palimpsest.domain.facts.staleness.tokens.languages import Language, Layout, language_of
from palimpsest.domain.facts.staleness.tokens.stream import LONGEST_READ, TokenStream, digest, read_tokens, weight

BYTES_ALONE: Final = "bytes"
"""What stands for the anchor of a file that is no text, or too large: only its hash counts."""
LONGEST_HEAD: Final = 300
LONGEST_SAMPLE: Final = 240
_MOST_HEADS: Final = 3
_SAID_IN_SPAN: Final = ("head", "sample", "exact", "tokens", "comments", "n_tokens", "weight")


@dataclass(frozen=True, slots=True)
class Anchor:
    path: str
    """It also tells the language."""
    start: int
    """Counted from 1; 0 for the whole file."""
    end: int
    exact: str
    """Digest of the lines as they are."""
    tokens: str
    """Digest of their tokens."""
    comments: str
    """Digest of their comments."""
    n_tokens: int
    weight: int
    """The sum of the weights of the tokens."""
    head: str = ""
    """The line that names the place best, squeezed: the first that is neither an attribute nor only marks."""
    sample: str = ""
    """The first tokens; empty for a single line."""
    name: str = ""
    """The name that the head defines."""
    symbol: str = ""
    """The name that the fact uses."""
    within: tuple[int, ...] = ()
    """Hashes of the heads above it, the nearest first."""
    is_whole_block: bool = False
    """Whether it is the whole of a block that ends with its indentation: lines added at its end belong to it."""

    @property
    def span(self) -> Span | None:
        return Span(self.start, self.end) if self.start else None

    def to_json(self) -> dict[str, Any]:
        """Fields at their defaults are left out."""
        given = ((each.name, getattr(self, each.name), each.default) for each in fields(self))
        return {name: value for name, value, default in given if value != default}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Raises TypeError for a value that `to_json` did not make."""
        return cls(**{**value, "within": tuple(value.get("within", ()))})


def make_anchor(path: str, text: str, span: Span | None, symbol: str = "", older: Anchor | None = None) -> Anchor:
    """The anchor of a span, or of the whole file for None; lines beyond the text are left out.

    `older`: an anchor whose lines may be the same; if they are, they are not read again.
    """
    language = language_of(path)
    lines = split_lines(text)
    if span is None:
        stream = read_tokens(language, lines)
        return Anchor(path, 0, 0, symbol=symbol, **_said(stream, lines))
    start = min(max(0, span.start - 1), len(lines) - 1)
    end = min(max(start + 1, span.end), len(lines))
    inside = lines[start:end]
    head = head_line(inside)
    found = definition_at(language, lines, start + head)
    return Anchor(
        path,
        start + 1,
        end,
        name=found.name if found else "",
        symbol=symbol,
        within=heads_of(language, lines, start + first_filled(inside)),
        is_whole_block=_ends_with_indentation(language, lines, start, end),
        **(_said_already(language, inside, older) or _said_in_span(language, inside, head)),
    )


def _said_already(language: Language, lines: Sequence[str], older: Anchor | None) -> dict[str, Any] | None:
    """The result of `_said_in_span`, taken from an older anchor of the same lines; None for other lines."""
    if older is None or older.span is None or language_of(older.path) is not language:
        return None
    return {name: getattr(older, name) for name in _SAID_IN_SPAN} if older.exact == digest_of_lines(lines) else None


def _said_in_span(language: Language, lines: Sequence[str], head: int) -> dict[str, Any]:
    stream = read_tokens(language, lines)
    sample = sample_of(stream) if len(lines) > 1 else ""
    return {"head": squeezed(lines[head])[:LONGEST_HEAD], "sample": sample, **_said(stream, lines)}


def _said(stream: TokenStream, lines: Sequence[str]) -> dict[str, Any]:
    said = stream.said
    return {
        "exact": digest_of_lines(lines),
        "tokens": digest(stream.tokens),
        "comments": digest(stream.comments)[:8],
        "n_tokens": len(said),
        "weight": sum(map(weight, said)),
    }


def digest_of_lines(lines: Sequence[str]) -> str:
    return digest(["\n".join(lines)])


def squeezed(line: str) -> str:
    return " ".join(line.split())


def sample_of(stream: TokenStream) -> str:
    return " ".join(stream.said)[:LONGEST_SAMPLE]


def first_filled(lines: Sequence[str]) -> int:
    return next((idx for idx, line in enumerate(lines) if line.strip()), 0)


def head_line(lines: Sequence[str]) -> int:
    telling = (
        idx for idx, line in enumerate(lines) if not is_attribute(line) and any(map(str.isalnum, line[:LONGEST_HEAD]))
    )
    return next(telling, first_filled(lines))


def heads_of(language: Language, lines: Sequence[str], line: int) -> tuple[int, ...]:
    found: list[int] = []
    for idx in heads_above(language, lines, line):
        found.append(line_hash(lines[idx][:LONGEST_READ]))
        if len(found) == _MOST_HEADS:
            break
    return tuple(found)


def _ends_with_indentation(language: Language, lines: Sequence[str], start: int, end: int) -> bool:
    is_heading = heading_level(lines[start]) > 0 and language.name == "markdown"
    if not is_heading and (language.layout is not Layout.INDENTED or end - start < 2):
        return False
    filled = end
    while filled > start + 1 and not lines[filled - 1].strip():
        filled -= 1
    return filled > start + 1 and block_end(language, lines, start) == filled
