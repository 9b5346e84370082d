"""An answer is bounded, and what is let in of it every service takes back in the next request."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.messages import OpaquePart
from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage, ToolArguments, ToolCallStart
from palimpsest.domain.turns import answers
from palimpsest.domain.turns.answers import IncomingAnswer, tool_name


def test_an_answer_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_ANSWER_CHARACTERS", 10)
    answer = IncomingAnswer()
    answer.take(TextDelta("12345"))
    answer.take(ToolArguments("c", "6789"))
    with pytest.raises(ProviderError, match="more than 10 characters") as raised:
        answer.take(Finished(StopReason.END, TokenUsage(), (OpaquePart("p", "m", "12"),)))
    assert raised.value.kind is ErrorKind.BAD_RESPONSE


def test_calls_without_end_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_CALLS", 2)
    answer = IncomingAnswer()
    for number in range(2):
        answer.take(ToolCallStart(f"c{number}", "read_file"))
    with pytest.raises(ProviderError, match="more than 2 tools"):
        answer.take(ToolCallStart("c2", "read_file"))


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("read_file", "read_file"),
        ("", "unnamed"),
        ("x\x1b[31m\0", "x__31m_"),
        ("re\ud800ad", "re_ad"),
        ("n" * 100_000, "n" * 64),
    ],
)
def test_the_name_of_a_call_is_one_that_services_take_back(written: str, taken: str) -> None:
    assert IncomingAnswer().take(ToolCallStart("c", written)) == ToolCallStart("c", taken)
    assert tool_name(taken) == taken


@pytest.mark.parametrize("given_id", ["", "i" * 100_000, "\0\ud800", "a b"])
def test_an_odd_id_becomes_one_that_follows_from_it(given_id: str) -> None:
    answer = IncomingAnswer()
    start = answer.take(ToolCallStart(given_id, "read_file"))
    piece = answer.take(ToolArguments(given_id, "{}"))
    assert isinstance(start, ToolCallStart)
    assert isinstance(piece, ToolArguments)
    assert start.call_id == piece.call_id
    assert start.call_id.isascii()
    assert start.call_id.startswith("call_")


@pytest.mark.parametrize("told", ["7", None, [1], -7, 1.5, True, 2**63, 10**30, float("inf"), float("nan")])
def test_usage_that_is_no_count_is_left_out(told: Any) -> None:
    taken = IncomingAnswer().take(Finished(StopReason.END, TokenUsage(told, 3, told, 4)))
    assert isinstance(taken, Finished)
    assert taken.usage == TokenUsage(0, 3, 0, 4)


@pytest.mark.parametrize(
    ("kind", "values"), [(TextDelta, [7]), (ToolCallStart, [7, "x"]), (ToolCallStart, ["c", None])]
)
def test_a_piece_of_another_type_is_an_error_of_the_provider(kind: Any, values: list[Any]) -> None:
    with pytest.raises(ProviderError):
        IncomingAnswer().take(kind(*values))
