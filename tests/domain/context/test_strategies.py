"""Strategies plan whole exchanges, leave what must stay, and compress tool work before anybody's words."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import get_args

import hypothesis.strategies as st
from hypothesis import given
from tests.domain.histories import as_lives, histories

from palimpsest.domain.context.cut import MessagePiece, keep_from, piece_starts, running_request
from palimpsest.domain.context.strategies import (
    MERGING,
    STRATEGIES,
    Situation,
    choose_strategy,
    threshold,
    tool_calls,
)
from palimpsest.domain.messages import Content, Role, TextPart, ToolCallPart, tool_result, user_message
from palimpsest.domain.strategy_names import StrategyName


def situation(pieces: list[MessagePiece], **changes: int) -> Situation:
    defaults = {"keep_tokens": 100, "preserve_recent": 2, "tool_age": 2, "isolated_min_tokens": 0} | changes
    return Situation(pieces, running_request(pieces), **defaults)


def work(number: int, size: int = 200) -> list[Content]:
    call = ToolCallPart(f"call-{number}", "read", "{}")
    return [Content(Role.ASSISTANT, (TextPart("I look."), call)), tool_result(call, "line " * size)]


@given(histories, st.integers(1, 5))
def test_plans_are_whole_exchanges_before_what_stays(history: list[list[Content]], tool_age: int) -> None:
    pieces = as_lives([content for exchange in history for content in exchange])
    where = situation(pieces, tool_age=tool_age)
    bounds = [*piece_starts(pieces), len(pieces)]
    for strategy in STRATEGIES.values():
        stretches = strategy(where)
        assert all(first in bounds and after in bounds for first, after in stretches)
        assert all(a < b for a, b in stretches)
        assert all(x[1] <= y[0] for x, y in itertools.pairwise(stretches))
        covered = {piece.message.id for first, after in stretches for piece in pieces[first:after]}
        assert not covered & set(where.kept)
        assert all(
            each < keep_from(pieces, where.keep_tokens, where.preserve_recent) for _, e in stretches for each in [e - 1]
        )


def test_tool_work_is_one_stretch_between_two_messages_of_the_user() -> None:
    contents = [user_message("first"), *work(1), *work(2), user_message("second"), *work(3), *work(4), *work(5)]
    assert tool_calls(situation(as_lives([*contents, user_message("now")]))) == [(1, 5), (6, 10)]
    assert threshold(situation(as_lives([*contents, user_message("now")]))) == [(0, 10)]


def test_tool_calls_that_are_not_old_yet_stay() -> None:
    contents = [user_message("q"), *work(1), *work(2), *work(3)]
    assert tool_calls(situation(as_lives(contents), tool_age=10)) == []
    assert tool_calls(situation(as_lives(contents), tool_age=2)) == [(1, 3)]


def test_every_strategy_that_can_be_set_has_its_function_and_is_explained_in_the_documents() -> None:
    names = get_args(StrategyName)
    assert set(names) == {*STRATEGIES, MERGING}
    architecture = (Path(__file__).parents[3] / "ARCHITECTURE.md").read_text("utf-8")
    assert [name for name in names if f"`{name}`" not in architecture] == []


def test_the_first_strategy_that_reaches_the_target_is_followed_else_the_one_that_frees_most() -> None:
    contents = [user_message("words " * 300), *work(1), *work(2), *work(3), user_message("now")]
    where = situation(as_lives(contents))
    names = ("tool_calls", "threshold")
    assert choose_strategy(names, where, 1_000, 0.15).name == "tool_calls"
    assert choose_strategy(names, where, 500, 0.15).name == "threshold"
    assert choose_strategy(names, where, 0, 0.15).name == "threshold"
    assert choose_strategy(("goal_batch",), where, 0, 0.15).stretches == []
