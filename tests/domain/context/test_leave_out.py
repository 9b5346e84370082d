"""Leaving out takes whole exchanges, the oldest first, no more than it must, and says which."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
from hypothesis import given
from tests.domain.histories import as_lives, histories

from palimpsest.domain.context.cut import (
    Piece,
    SummaryPiece,
    is_partition,
    keep_from,
    leave_out,
    piece_starts,
    total_tokens,
)
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.messages import Content, MessageId, SummaryId
from palimpsest.services.context.compaction_plan import joined
from palimpsest.services.maintenance.replay import pairs_are_whole

Ranges = tuple[tuple[MessageId, MessageId], ...]
RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 6)).map(lambda r: (MessageId(r[0]), MessageId(r[0] + r[1])))
)


def ids_of(ranges: Ranges) -> set[MessageId]:
    return {MessageId(each) for start, end in ranges for each in range(start, end)}


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Piece], int, int, frozenset[MessageId]]:
    """Pieces, some with a block in front, a target, how many newest stay, and what is protected."""
    history: list[list[Content]] = draw(histories)
    pieces: list[Piece] = list(as_lives([content for exchange in history for content in exchange]))
    if draw(st.booleans()):
        starts = piece_starts(pieces)
        after = draw(st.sampled_from(starts))
        if after:
            summary = Summary(SummaryId(1), MessageId(0), MessageId(after), 1, "extractive", "s", 9, "palimpsest", "")
            pieces = [SummaryPiece(summary, 9), *pieces[after:]]
    ids = [piece.start for piece in pieces if not isinstance(piece, SummaryPiece)]
    protected = frozenset(draw(st.lists(st.sampled_from(ids), max_size=2)) if ids else [])
    target = draw(st.integers(0, total_tokens(pieces) + 10))
    return pieces, target, draw(st.integers(1, 5)), protected


@given(situations())
def test_what_stays_and_what_goes_are_the_whole(situation: tuple[list[Piece], int, int, frozenset[MessageId]]) -> None:
    pieces, target, preserve_recent, protected = situation
    kept, gone = leave_out(pieces, target, preserve_recent, protected)
    assert is_partition(kept, pieces[-1].end, ids_of(gone))
    assert [piece for piece in pieces if piece.start not in ids_of(gone)] == kept
    assert all(start < end for start, end in gone)
    assert all(x[1] < y[0] for x, y in itertools.pairwise(gone)), "two ranges could be one"
    assert pairs_are_whole(tuple(piece.content for piece in kept))


@given(situations())
def test_the_target_is_reached_or_nothing_more_may_go(
    situation: tuple[list[Piece], int, int, frozenset[MessageId]],
) -> None:
    pieces, target, preserve_recent, protected = situation
    kept, gone = leave_out(pieces, target, preserve_recent, protected)
    boundary = keep_from(pieces, 0, preserve_recent)
    assert kept[len(kept) - (len(pieces) - boundary) :] == pieces[boundary:], "a newest message is gone"
    assert not protected & ids_of(gone)
    units = [pieces[i:j] for i, j in itertools.pairwise([*(s for s in piece_starts(pieces) if s < boundary), boundary])]
    free = [unit for unit in units if not protected & {piece.start for piece in unit}]
    n_gone = sum(unit[0].start in ids_of(gone) for unit in free)
    assert all(unit[0].start in ids_of(gone) for unit in free[:n_gone]), "a newer exchange went before an older one"
    if total_tokens(kept) > target:
        assert n_gone == len(free)
    elif n_gone:
        assert total_tokens(kept) + total_tokens(free[n_gone - 1]) > target, "more than needed is gone"


@given(situations())
def test_leaving_out_again_changes_nothing(situation: tuple[list[Piece], int, int, frozenset[MessageId]]) -> None:
    pieces, target, preserve_recent, protected = situation
    kept, _ = leave_out(pieces, target, preserve_recent, protected)
    assert leave_out(kept, target, preserve_recent, protected) == (kept, ())


@given(RANGES)
def test_joined_ranges_are_in_order_apart_and_cover_the_same(ranges: list[tuple[MessageId, MessageId]]) -> None:
    result = joined(ranges)
    assert ids_of(result) == ids_of(tuple(ranges))
    assert all(x[1] < y[0] for x, y in itertools.pairwise(result))
    assert joined(result) == result
