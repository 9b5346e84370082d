"""A request has each call with its result: what has lost the other half is a sentence, or is gone."""

from __future__ import annotations

import pytest
from tests.clients.contexts import assistant, user

from palimpsest.domain.conversation.exchanges import unanswered_calls, without_strays
from palimpsest.domain.messages import Content, TextPart, ToolCallPart, tool_result

A, B = ToolCallPart("a", "read_file", "{}"), ToolCallPart("b", "read_file", "{}")
GONE = assistant(TextPart("[A tool was called here, and no result came.]"))
WHOLE = [
    [user("q"), assistant(A, B), tool_result(B, "1"), tool_result(A, "2"), assistant(TextPart("x"))],
    [user("q"), assistant(A), assistant(B), tool_result(A, "1"), tool_result(B, "2")],
    [user("q"), assistant(A), user("be quick"), tool_result(A, "1"), assistant(A), tool_result(A, "2")],
]


@pytest.mark.parametrize("contents", WHOLE)
def test_what_is_whole_is_left_alone(contents: list[Content]) -> None:
    found = without_strays(contents)
    assert all(one is other for one, other in zip(found, contents, strict=True))


@pytest.mark.parametrize(
    ("contents", "left"),
    [
        ([user("q"), assistant(A)], [user("q"), GONE]),
        ([user("q"), assistant(A), user("more")], [user("q"), GONE, user("more")]),
        (
            [assistant(A), user("more"), assistant(A), tool_result(A, "1")],
            [GONE, user("more"), assistant(A), tool_result(A, "1")],
        ),
        (
            [assistant(A, B), tool_result(B, "1"), assistant(TextPart("x")), tool_result(A, "2")],
            [assistant(*GONE.parts, B), tool_result(B, "1"), assistant(TextPart("x"))],
        ),
        ([tool_result(A, "1"), user("q")], [user("q")]),
    ],
)
def test_half_of_a_call_is_not_sent(contents: list[Content], left: list[Content]) -> None:
    found = [each for each in without_strays(contents) if each.parts]
    assert found == left
    assert unanswered_calls(found) == []
