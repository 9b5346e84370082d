"""Every count that is shown in parts adds up to the whole, whatever the parts are and however they were counted."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.histories import as_lives, histories

from palimpsest.domain.context.apportionment import apportion
from palimpsest.domain.context.cut import MessagePiece, Piece, SummaryPiece, total_tokens
from palimpsest.domain.context.measured import Measured, Part
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.request_layout import Frame, FrameTokens, Front, lay_out, segments_of
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.messages import ConversationId, SummaryId, user_message
from palimpsest.domain.tools import ToolSchema

weights = st.lists(st.floats(0, 1e9, allow_nan=False), min_size=1, max_size=40)


@given(whole=st.integers(0, 10**7), weights=weights)
def test_parts_add_up_and_follow_their_weights(whole: int, weights: list[float]) -> None:
    parts = apportion(whole, weights)
    assert sum(parts) == whole
    assert all(part >= 0 for part in parts)
    if (total := sum(weights)) > 0:
        for part, weight in zip(parts, weights, strict=True):
            assert part == 0 if weight == 0 else abs(part - whole * weight / total) < 1.01


def test_a_whole_without_weights_is_not_lost() -> None:
    assert apportion(7, [0.0, 0.0]) == [0, 7]


@st.composite
def cuts(draw: st.DrawFn) -> list[Piece]:
    """Cuts with a summary or none in front, previews and injections."""
    contents = [content for exchange in draw(histories) for content in exchange]
    n_summarized = draw(st.integers(0, len(contents) - 1))
    pieces: list[Piece] = []
    for index, live in enumerate(as_lives(contents)[n_summarized:]):
        kind = draw(st.sampled_from(["whole", "preview", "injection"]))
        if kind == "preview":
            live = replace(live, preview=user_message("…"), preview_tokens=draw(st.integers(1, 50)))
        elif kind == "injection":
            live = replace(live, injection=f"recalled {index}", injection_tokens=draw(st.integers(1, 400)))
        pieces.append(live)
    if n_summarized:
        first = pieces[0].start
        summary = Summary(SummaryId(1), as_lives(contents)[0].start, first, 1, "llm", "It rained.", 500, "m", "")
        pieces.insert(0, SummaryPiece(summary, draw(st.integers(1, 300))))
    return pieces


def parts_of(fixed: int, pieces: list[Piece]) -> tuple[Part, ...]:
    return (Part(-1, 0, fixed), *(Part(piece.start, piece.end, piece.tokens, type(piece).__name__) for piece in pieces))


@settings(deadline=None)
@given(
    pieces=cuts(),
    estimator=st.builds(Estimator, st.floats(0.5, 3), st.floats(0, 0.2), st.integers(0, 3_000)),
    system=st.integers(0, 2_000),
    tools=st.integers(0, 2_000),
    pins=st.integers(0, 200),
    answers=st.lists(st.floats(0.4, 2.5), max_size=3),
)
def test_segments_add_up_to_the_request_in_every_state(
    pieces: list[Piece],
    estimator: Estimator,
    system: int,
    tools: int,
    pins: int,
    answers: list[float],
) -> None:
    """`answers`: what a service said, times the guess, of requests that grew to this one."""
    frame = Frame("You help.", (ToolSchema("read", "reads", {}),) if tools else ())
    front = Front("[Standing rules]", pins) if pins else Front()
    fixed = system + tools + front.tokens
    measured = Measured()
    for number, times in enumerate(answers, 1):
        sent = parts_of(fixed, pieces[: len(pieces) * number // len(answers)])
        guess = estimator.mean(sum(part.raw_tokens for part in sent))
        measured = measured.observe(sent, estimator, round(guess * times))
    parts = parts_of(fixed, pieces)
    estimate = measured.estimate(parts, estimator)
    segments = segments_of(
        frame,
        FrameTokens(system, tools),
        front,
        pieces,
        whole=estimate.mean,
        shares=measured.shares_of(parts, estimator),
        overhead=estimator.overhead,
    )
    request = lay_out(
        ConversationId("c"),
        "m",
        frame,
        segments,
        estimate,
        limit_tokens=estimate.upper,
        max_output_tokens=1,
        window_tokens=1,
    )
    assert adds_up(request) == estimate.mean
    assert adds_up(request.counted_as(estimate.upper + 7, estimate.upper + 7)) == estimate.upper + 7
    of_injections = [segment for segment in segments if segment.type == "injection"]
    assert len(of_injections) == sum(isinstance(piece, MessagePiece) and bool(piece.injection) for piece in pieces)


def test_the_overhead_of_a_request_is_a_part_of_its_own() -> None:
    estimator = Estimator(2.0, 0.1, 300)
    pieces: list[Piece] = list(as_lives([user_message("one"), user_message("two")]))
    raw = 100 + total_tokens(pieces)
    parts = parts_of(100, pieces)
    segments = segments_of(
        Frame("You help.", ()),
        FrameTokens(100, 0),
        Front(),
        pieces,
        whole=estimator.mean(raw),
        shares=Measured().shares_of(parts, estimator),
        overhead=estimator.overhead,
    )
    counted = [(segment.type, segment.tokens) for segment in segments]
    messages = [("message", 2 * piece.tokens) for piece in pieces]
    assert counted == [("system", 200), *messages, ("overhead", 300)]


def test_a_part_is_counted_without_the_overhead_of_the_whole() -> None:
    estimator = Estimator(2.0, 0.1, 300)
    assert estimator.part(100) + estimator.part(50) + estimator.overhead == estimator.mean(150)
    assert estimator.part(0) == 0


def adds_up(request: PreparedContext) -> int:
    assert sum(segment.tokens for segment in request.segments) == request.estimated_tokens
    assert all(segment.tokens >= 0 for segment in request.segments)
    return request.estimated_tokens
