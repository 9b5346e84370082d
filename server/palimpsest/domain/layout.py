"""Lays a cut out as a request, stable first (DESIGN §6): system prompt, tools, blocks and originals oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.domain.chain import content_digest
from palimpsest.domain.cut import Block, Piece
from palimpsest.domain.front import render_front
from palimpsest.domain.measured import Estimate
from palimpsest.domain.messages import Content, ConversationId, Digest, Role, TextPart
from palimpsest.domain.prepared import PreparedContext, Segment, ToolChoice
from palimpsest.domain.provider import ToolSchema
from palimpsest.domain.tokens import MESSAGE_OVERHEAD, CountText, Estimator, count_tools


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
    frame_tokens: FrameTokens,
    front: Front,
    pieces: Sequence[Piece],
    estimator: Estimator,
    estimate: Estimate,
    *,
    limit_tokens: int,
    max_output_tokens: int,
    window_tokens: int,
    n_known_pieces: int = 0,
    tool_choice: ToolChoice = "auto",
) -> PreparedContext:
    """The prepared context of a cut. Raises OverLimit when it does not fit.

    `estimate`: of the whole; `estimator` says what each segment takes. `n_known_pieces`: how many leading pieces stood
    unchanged in the previous request.
    """
    segments = [Segment("system", estimator.mean(frame_tokens.system), "always first", (), is_in_prefix=True)]
    if frame.tools:
        segments.append(Segment("tools", estimator.mean(frame_tokens.tools), "always second", (), is_in_prefix=True))
    if front.text:
        reason = "what you pinned or took back by command"
        contents = (render_front(front.text),)
        segments.append(
            Segment("pins", estimator.mean(front.tokens), reason, contents, is_in_prefix=n_known_pieces > 0)
        )
    for index, piece in enumerate(pieces):
        segments += _segments(piece, estimator, is_in_prefix=index < n_known_pieces)
    return PreparedContext(
        conversation_id=conversation_id,
        model=model,
        system=frame.system,
        tools=frame.tools,
        segments=tuple(segments),
        max_output_tokens=max_output_tokens,
        estimated_tokens=estimate.mean,
        upper_tokens=estimate.upper,
        limit_tokens=limit_tokens,
        window_tokens=window_tokens,
        n_stable_messages=len(pieces) + bool(front.text),
        tool_choice=tool_choice,
    )


def _segments(piece: Piece, estimator: Estimator, *, is_in_prefix: bool) -> list[Segment]:
    ids = (piece.start, piece.end)
    if isinstance(piece, Block):
        reason = f"stands for {piece.end - piece.start} older messages"
        tokens = estimator.mean(piece.tokens)
        return [Segment("summary", tokens, reason, (piece.content,), ids, piece.summary.id, is_in_prefix)]
    tokens = estimator.mean(piece.tokens - piece.injection_tokens)
    if piece.preview is not None:
        segment = Segment("preview", tokens, "too large to be sent whole", (piece.content,), ids, None, is_in_prefix)
    else:
        segment = Segment("message", tokens, "fits as it was said", (piece.content,), ids, None, is_in_prefix)
    if not piece.injection:
        return [segment]
    # Its text stands behind the message's, in the same content.
    added = estimator.mean(piece.injection_tokens)
    return [segment, Segment("injection", added, "added behind your message", (), ids, None, is_in_prefix)]
