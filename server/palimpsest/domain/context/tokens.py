"""Counting tokens: raw counts by a public tokenizer, and what they mean for a model whose tokenizer is not public."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ImagePart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    canonical_json,
)
from palimpsest.domain.tools import ToolSchema

CountText = Callable[[str], int]
"""Raw tokens of a text."""

MESSAGE_OVERHEAD: Final = 4
"""Tokens a message takes beside its text: role and delimiters."""


class Certainty(StrEnum):
    """How a count came about."""

    EXACT = "exact"
    ESTIMATED = "estimated"
    BYTES = "bytes"


def count_bytes(text: str) -> int:
    """UTF-8 bytes / 4, rounded up: where no vocabulary loads. Bytes, not characters, so CJK is not undercounted."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def count_content(content: Content, count: CountText) -> int:
    """Raw tokens of a message, its overhead included. Of a picture it counts the line that names it; what the picture
    itself takes depends on the model (`domain.models.images`)."""
    total = MESSAGE_OVERHEAD
    for part in content.parts:
        match part:
            case TextPart() | ReasoningPart():
                total += count(part.text)
            case ToolCallPart():
                total += count(part.name) + count(part.arguments)
            case ToolResultPart():
                total += count(part.text)
            case AttachmentPart():
                total += count(part.label) + count(part.text)
            case ImagePart():
                total += count(part.line())
            case OpaquePart():
                total += count(part.data)
            case _:
                assert_never(part)
    return total


def count_tools(tools: tuple[ToolSchema, ...], count: CountText) -> int:
    """Raw tokens of the declared tools."""
    return sum(
        MESSAGE_OVERHEAD + count(tool.name) + count(tool.description) + count(canonical_json(dict(tool.parameters)))
        for tool in tools
    )


@dataclass(frozen=True, slots=True)
class Estimator:
    """What a model takes for a raw count: `overhead + factor x raw`, with the spread of the factor.

    A cut freezes the estimator it was chosen with.
    """

    factor: float = 1.0
    sigma: float = 0.0
    overhead: int = 0

    def mean(self, raw: int) -> int:
        """The best guess, for showing."""
        return self.overhead + math.ceil(self.factor * raw)

    def part(self, raw: int) -> int:
        """The best guess for a part of a request, without the overhead of the whole."""
        return math.ceil(self.factor * raw)

    def upper(self, raw: int) -> int:
        """Mean + 2 sigma, for testing limits."""
        return self.overhead + math.ceil((self.factor + 2 * self.sigma) * raw)

    def raw_within(self, tokens: int) -> int:
        """The largest raw count whose upper estimate is at most `tokens`; 0 when none is."""
        return max(0, math.floor((tokens - self.overhead) / (self.factor + 2 * self.sigma)))
