"""Merges keep all blocks together within what they may take, also where a message that stays stands between them."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given
from tests.domain.histories import as_lives

from palimpsest.domain.context.cut import Piece, SummaryPiece
from palimpsest.domain.context.merging import plan_merges
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.messages import MessageId, SummaryId, user_message


def block(start: int, original_tokens: int, tokens: int) -> SummaryPiece:
    end = MessageId(start + 1)
    summary = Summary(SummaryId(start), MessageId(start), end, 1, "extractive", "", original_tokens, "palimpsest", "")
    return SummaryPiece(summary, tokens)


def around_a_request(
    before: list[tuple[int, int]], behind: list[tuple[int, int]]
) -> tuple[list[Piece], frozenset[MessageId]]:
    """Blocks, given as tokens of the originals and of their own, on both sides of the request of a turn."""
    pieces: list[Piece] = [block(number, *each) for number, each in enumerate(before)]
    (request,) = as_lives([user_message("Go on.")], len(before))
    blocks_behind = [block(len(before) + 1 + number, *each) for number, each in enumerate(behind)]
    return [*pieces, request, *blocks_behind], frozenset({request.message.id})


sizes = st.integers(1, 2_000).flatmap(lambda own: st.tuples(st.integers(own, 100_000), st.just(own)))


@given(st.lists(sizes, max_size=4), st.lists(sizes, max_size=4), st.integers(100, 10_000))
def test_what_is_merged_and_what_stays_take_no_more_than_the_target_together(
    before: list[tuple[int, int]], behind: list[tuple[int, int]], target: int
) -> None:
    pieces, request = around_a_request(before, behind)
    merges = plan_merges(pieces, len(pieces), request, target)
    covered = {index for each in merges for index in range(each.first, each.after)}
    left = sum(piece.tokens for i, piece in enumerate(pieces) if isinstance(piece, SummaryPiece) and i not in covered)
    if merges:
        assert left + sum(each.target for each in merges) <= target + len(merges)  # each has at least one token
        assert any(each.after - each.first > 1 for each in merges)
    else:
        assert max(len(before), len(behind)) < 2


def test_a_block_before_the_request_stays_while_those_behind_have_room_enough() -> None:
    pieces, request = around_a_request([(20_000, 1_500)], [(10_000, 900), (10_000, 900)])
    (merge,) = plan_merges(pieces, len(pieces), request, 3_500)
    assert (merge.first, merge.after, merge.target) == (2, 4, 2_000)


def test_a_block_before_the_request_is_written_anew_when_it_leaves_the_others_too_little() -> None:
    pieces, request = around_a_request([(20_000, 3_300)], [(10_000, 900), (10_000, 900)])
    merges = plan_merges(pieces, len(pieces), request, 3_500)
    assert [(each.first, each.after, each.target) for each in merges] == [(0, 1, 1_750), (2, 4, 1_750)]
