"""Lays a cut out as a request, stable first: system prompt, tools, blocks and originals oldest first."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palimpsest.domain.context.apportionment import apportion
from palimpsest.domain.context.cut import Piece, SummaryPiece
from palimpsest.domain.context.measured import Estimate
from palimpsest.domain.context.prepared import PreparedContext, Segment, SegmentType, ToolChoice
from palimpsest.domain.context.rules.standing import render_front
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, CountText, count_tools
from palimpsest.domain.conversation.chain import content_digest
from palimpsest.domain.conversation.exchanges import without_strays
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    Digest,
    MessageId,
    Role,
    SummaryId,
    TextPart,
    canonical_json,
)
from palimpsest.domain.tools import ToolSchema
from palimpsest.wording import counted


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands before the conversation in every request: nothing in it may be volatile."""

    system: str
    tools: tuple[ToolSchema, ...]
    """Sorted by name; the constructor sees to it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(sorted(self.tools, key=lambda tool: tool.name)))

    def system_tokens(self, count: CountText) -> int:
        """Raw tokens of the system prompt."""
        return count(self.system) + MESSAGE_OVERHEAD if self.system else 0

    def tools_tokens(self, count: CountText) -> int:
        return count_tools(self.tools, count)

    def to_text(self) -> str:
        """The frame as canonical JSON; `from_text` is the inverse."""
        return canonical_json({"system": self.system, "tools": [tool.to_json() for tool in self.tools]})

    @classmethod
    def from_text(cls, text: str) -> Frame:
        value = json.loads(text)
        return cls(value["system"], tuple(ToolSchema(**tool) for tool in value["tools"]))

    def digest(self) -> Digest:
        """Tells whether the frame changed (cause (e) of a compaction)."""
        tools = "\n".join(f"{tool.name}\0{tool.description}\0{sorted(tool.parameters.items())}" for tool in self.tools)
        return content_digest(Content(Role.USER, (TextPart(self.system), TextPart(tools))))


@dataclass(frozen=True, slots=True)
class FrameTokens:
    """Raw tokens of a frame, counted once."""

    system: int
    tools: int

    @property
    def total(self) -> int:
        return self.system + self.tools


@dataclass(frozen=True, slots=True)
class Front:
    """What the user ruled by command, as `front.front_text` wrote it; empty where there is nothing."""

    text: str = ""
    tokens: int = 0
    """Raw, as rendered."""


def lay_out(
    conversation_id: ConversationId,
    model: str,
    frame: Frame,
    segments: tuple[Segment, ...],
    estimate: Estimate,
    *,
    limit_tokens: int,
    max_output_tokens: int,
    window_tokens: int,
    tool_choice: ToolChoice = "auto",
) -> PreparedContext:
    """The prepared context of a cut that has been laid out as `segments`, without calls and results that lack the other
    half. Raises OverLimit when it does not fit."""
    segments = _without_strays(segments)
    return PreparedContext(
        conversation_id=conversation_id,
        model=model,
        system=frame.system,
        tools=frame.tools,
        segments=segments,
        max_output_tokens=max_output_tokens,
        estimated_tokens=estimate.mean,
        upper_tokens=estimate.upper,
        limit_tokens=limit_tokens,
        window_tokens=window_tokens,
        n_stable_messages=sum(len(segment.contents) for segment in segments),
        tool_choice=tool_choice,
    )


def _without_strays(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    contents = [content for segment in segments for content in segment.contents]
    if (whole := without_strays(contents)) is contents:
        return segments
    left = iter(whole)
    return tuple(each._replace(contents=tuple(itertools.islice(left, len(each.contents)))) for each in segments)


def segments_of(
    frame: Frame,
    frame_tokens: FrameTokens,
    front: Front,
    pieces: Sequence[Piece],
    *,
    whole: int,
    shares: Sequence[float],
    overhead: int,
    n_known_pieces: int = 0,
) -> tuple[Segment, ...]:
    """The cut as stretches of a request, in its order; what the service adds by itself comes last. Their tokens add up
    to `whole`.

    `shares`: what is expected of all that stands before the conversation, `overhead` included, and of each piece.
    `n_known_pieces`: how many leading pieces stood unchanged in the previous request.
    """
    is_known = n_known_pieces > 0
    head, *rest = shares
    raw = {"system": frame_tokens.system, "tools": frame_tokens.tools, "pins": front.tokens}
    added = min(float(overhead), head) if any(raw.values()) else head
    each_raw = (head - added) / max(sum(raw.values()), 1)
    stretches = [_Stretch(raw["system"] * each_raw, "system", "always first", is_in_prefix=True)]
    if frame.tools:
        stretches.append(_Stretch(raw["tools"] * each_raw, "tools", "always second", is_in_prefix=True))
    if front.text:
        reason, contents = "what you pinned or took back by command", (render_front(front.text),)
        stretches.append(_Stretch(raw["pins"] * each_raw, "pins", reason, contents, is_in_prefix=is_known))
    for index, (piece, share) in enumerate(zip(pieces, rest, strict=True)):
        stretches += _stretches(piece, share, is_in_prefix=index < n_known_pieces)
    if added > 0:
        stretches.append(_Stretch(added, "overhead", "added by the model's service", is_in_prefix=is_known))
    sizes = apportion(whole, [each.weight for each in stretches])
    return tuple(Segment(each[1], size, *each[2:]) for each, size in zip(stretches, sizes, strict=True))


class _Stretch(NamedTuple):
    """A segment before the tokens of all are apportioned: what it weighs, and the segment's other fields."""

    weight: float
    type: SegmentType
    reason: str
    contents: tuple[Content, ...] = ()
    message_ids: tuple[MessageId, MessageId] | None = None
    summary_id: SummaryId | None = None
    is_in_prefix: bool = False


def _stretches(piece: Piece, share: float, *, is_in_prefix: bool) -> list[_Stretch]:
    ids = (piece.start, piece.end)
    if isinstance(piece, SummaryPiece):
        reason = f"stands for {counted(piece.end - piece.start, 'older message')}"
        return [_Stretch(share, "summary", reason, (piece.content,), ids, piece.summary.id, is_in_prefix)]
    if not (piece.injection or piece.note or piece.preview):  # as most are
        content = (piece.message.content,)
        return [_Stretch(share, "message", "fits as it was said", content, ids, None, is_in_prefix)]
    each_raw = share / max(piece.tokens, 1)
    added, noted = piece.injection_tokens * each_raw, piece.note_tokens * each_raw
    said = share - added - noted
    kind: SegmentType = "message" if piece.preview is None else "preview"
    reason = "fits as it was said" if piece.preview is None else "too large to be sent whole"
    found = [_Stretch(said, kind, reason, (piece.content,), ids, None, is_in_prefix)]
    if piece.injection:  # its text stands behind the message's, in the same content
        found.append(_Stretch(added, "injection", "added behind your message", (), ids, None, is_in_prefix))
    if piece.note:
        note = (Content(Role.USER, (TextPart(piece.note),)),)
        found.append(_Stretch(noted, "injection", "recalled for this step", note, ids, None, is_in_prefix))
    return found
