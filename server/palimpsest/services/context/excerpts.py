"""What people are shown of each segment of a request: its first words, who wrote it, and how much it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.notebook.step_note import NOTE_HEAD
from palimpsest.domain.context.prepared import Segment
from palimpsest.domain.context.recalled import FOOT, HEAD
from palimpsest.domain.context.rules.standing import HEAD as RULES_HEAD
from palimpsest.domain.context.summaries.node import CLOSING, OPENING
from palimpsest.domain.messages import Content, Role, TextPart
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.context.page import clip, in_short

_HEADS: Final = frozenset({HEAD, FOOT, NOTE_HEAD, OPENING, CLOSING})
_RULE: Final = "\n- "


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One segment in short."""

    text: str
    """Its first words on one line; for the tools their names; empty when there is nothing to show."""
    role: Role | None = None
    """Who wrote it, for a message."""
    n_items: int | None = None
    """How many tools or rules it holds."""


def excerpts_of(system: str, tools: Sequence[ToolSchema], segments: Sequence[Segment]) -> Iterator[Excerpt]:
    """An excerpt for each of the segments of one request."""
    for segment, after in zip(segments, [*segments[1:], None], strict=True):
        match segment.type:
            case "system":
                yield Excerpt(clip(system))
            case "tools":
                yield Excerpt(", ".join(tool.name for tool in tools), n_items=len(tools))
            case "pins":
                rules = segment.contents[0].text.removeprefix(RULES_HEAD).split(_RULE)[1:]
                yield Excerpt(clip("; ".join(rules)), n_items=len(rules))
            case "message" | "preview":
                said, recalled = _without_recalled(segment.contents[0], after)
                yield Excerpt(in_short(said), said.role)
            case "summary":
                _, _, text = segment.contents[0].text.partition("\n\n")
                yield Excerpt(_body(text))
            case "injection":
                yield Excerpt(_body(segment.contents[0].text if segment.contents else recalled))
            case "overhead":
                yield Excerpt("")


def _without_recalled(content: Content, after: Segment | None) -> tuple[Content, str]:
    """A message without what was added behind its text, and that."""
    last = content.parts[-1] if content.parts else None
    if after is None or after.type != "injection" or after.contents or not isinstance(last, TextPart):
        return content, ""
    return replace(content, parts=content.parts[:-1]), last.text


def _body(text: str) -> str:
    """The first words of a text without the lines around it and the marks in front of lines."""
    lines = (line.strip().lstrip("#-*•→ ") for line in text.split("\n") if line.strip() not in _HEADS)
    return clip(" ".join(line for line in lines if line))
