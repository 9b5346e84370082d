"""Lays a cut out as a request, stable first: system prompt, tools, blocks and originals oldest first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.domain.context.apportionment import apportion
from palimpsest.domain.context.cut import Piece, SummaryPiece
from palimpsest.domain.context.measured import Estimate
from palimpsest.domain.context.prepared import PreparedContext, Segment, ToolChoice
from palimpsest.domain.context.rules.standing import render_front
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, CountText, count_tools
from palimpsest.domain.conversation.chain import content_digest
from palimpsest.domain.messages import Content, ConversationId, Digest, Role, TextPart, canonical_json
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
        """Tells whether the frame changed (cause (e) of a re-cut)."""
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
    """The prepared context of a cut that has been laid out as `segments`. Raises OverLimit when it does not fit."""
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
    weighted = [(Segment("system", 0, "always first", (), is_in_prefix=True), raw["system"] * each_raw)]
    if frame.tools:
        weighted.append((Segment("tools", 0, "always second", (), is_in_prefix=True), raw["tools"] * each_raw))
    if front.text:
        reason, contents = "what you pinned or took back by command", (render_front(front.text),)
        weighted.append((Segment("pins", 0, reason, contents, is_in_prefix=is_known), raw["pins"] * each_raw))
    for index, (piece, share) in enumerate(zip(pieces, rest, strict=True)):
        weighted += _weighted(piece, share, is_in_prefix=index < n_known_pieces)
    if added > 0:
        weighted.append((Segment("overhead", 0, "added by the model's service", (), is_in_prefix=is_known), added))
    sizes = apportion(whole, [weight for _, weight in weighted])
    return tuple(_sized(segment, size) for (segment, _), size in zip(weighted, sizes, strict=True))


def _sized(segment: Segment, tokens: int) -> Segment:
    """As `replace` would, which takes ten times as long for each of some hundred segments of a request."""
    return Segment(
        segment.type,
        tokens,
        segment.reason,
        segment.contents,
        segment.message_ids,
        segment.summary_id,
        segment.is_in_prefix,
    )


def _weighted(piece: Piece, share: float, *, is_in_prefix: bool) -> list[tuple[Segment, float]]:
    ids = (piece.start, piece.end)
    if isinstance(piece, SummaryPiece):
        reason = f"stands for {counted(piece.end - piece.start, 'older message')}"
        return [(Segment("summary", 0, reason, (piece.content,), ids, piece.summary.id, is_in_prefix), share)]
    if piece.preview is not None:
        segment = Segment("preview", 0, "too large to be sent whole", (piece.content,), ids, None, is_in_prefix)
    else:
        segment = Segment("message", 0, "fits as it was said", (piece.content,), ids, None, is_in_prefix)
    each_raw = share / max(piece.tokens, 1)
    added, noted = piece.injection_tokens * each_raw, piece.note_tokens * each_raw
    weighted = [(segment, share - added - noted)]
    if piece.injection:  # its text stands behind the message's, in the same content
        weighted.append((Segment("injection", 0, "added behind your message", (), ids, None, is_in_prefix), added))
    if piece.note:
        note = (Content(Role.USER, (TextPart(piece.note),)),)
        weighted.append((Segment("injection", 0, "recalled for this step", note, ids, None, is_in_prefix), noted))
    return weighted
