"""A journal becomes the messages that were shown, however the step ended; every call gets a result."""

from __future__ import annotations

import itertools

import pytest

from palimpsest.domain.context.guard import Outcome, tool_preflight, turn_preflight
from palimpsest.domain.context.prepared import OverLimit, PreparedContext
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import ConversationId, MessageStatus, OpaquePart, ReasoningPart, TextPart, ToolCallPart
from palimpsest.domain.turns.journal import (
    Ending,
    EventType,
    JournalEvent,
    merge,
    opaque_event,
    shown_text,
    to_messages,
)
from palimpsest.domain.turns.states import FINAL_STATES, TurnState, may_follow
from palimpsest.services.maintenance.replay import pairs_are_whole

TEXT = JournalEvent(EventType.TEXT, "I will look. ")
DONE = JournalEvent(EventType.DONE)


def call(call_id: str, *arguments: str) -> list[JournalEvent]:
    pieces = [JournalEvent(EventType.TOOL_ARGUMENTS, text, call_id) for text in arguments]
    return [JournalEvent(EventType.TOOL_CALL, "", call_id, "read"), *pieces]


def start(call_id: str) -> JournalEvent:
    return JournalEvent(EventType.TOOL_START, "", call_id, "read")


def result(call_id: str, text: str) -> JournalEvent:
    return JournalEvent(EventType.TOOL_RESULT, text, call_id, "read")


def test_a_whole_step_becomes_its_messages_in_order() -> None:
    opaque = OpaquePart("anthropic", "claude", '{"signature":"x\\ny"}')
    events = [
        JournalEvent(EventType.THINKING, "hm"),
        TEXT,
        *call("1", '{"a":', " 1}"),
        *call("2", "{}"),
        opaque_event(opaque),
        DONE,
        start("1"),
        result("1", "one"),
        start("2"),
        result("2", "two"),
    ]
    assistant, first, second = to_messages(events, Ending.COMPLETE)
    assert assistant.parts == (
        ReasoningPart("hm"),
        TextPart("I will look. "),
        ToolCallPart("1", "read", '{"a": 1}'),
        ToolCallPart("2", "read", "{}"),
        opaque,
    )
    assert assistant.status is MessageStatus.COMPLETE
    assert [r.text for r in first.results + second.results] == ["one", "two"]


@pytest.mark.parametrize("ending", [Ending.CANCELLED, Ending.ERRORED, Ending.INTERRUPTED])
def test_a_broken_stream_keeps_its_text_flagged_and_drops_unfinished_calls(ending: Ending) -> None:
    (message,) = to_messages([TEXT, *call("1", '{"a":')], ending)
    assert message.text == TEXT.text
    assert message.calls == ()
    assert message.status.value == ending.value


@pytest.mark.parametrize("ending", list(Ending))
def test_every_call_has_a_result_wherever_the_step_breaks_off(ending: Ending) -> None:
    events = [TEXT, *call("1", "{}"), *call("2", "{}"), DONE, start("1"), result("1", "one"), start("2")]
    for length in range(len(events) + 1):
        assert pairs_are_whole(tuple(to_messages(events[:length], ending)))


def test_a_started_tool_is_told_apart_from_one_that_never_ran() -> None:
    events = [*call("1", "{}"), *call("2", "{}"), DONE, start("1")]
    _, started, waiting = to_messages(events, Ending.INTERRUPTED)
    assert "unknown whether it took effect" in started.results[0].text
    assert "not run" in waiting.results[0].text


@pytest.mark.parametrize("ending", [Ending.CANCELLED, Ending.ERRORED, Ending.INTERRUPTED])
def test_what_the_user_had_not_allowed_yet_was_not_done(ending: Ending) -> None:
    asked, allowed = (JournalEvent(kind, "", "1", "read") for kind in (EventType.TOOL_ASKED, EventType.TOOL_ALLOWED))
    events = [*call("1", "{}"), DONE, start("1"), asked]
    for marks, is_unknown in (([], False), ([allowed], True), ([allowed, asked], False)):
        _, said = to_messages([*events, *marks], ending)
        assert ("unknown whether it took effect" in said.results[0].text) is is_unknown
        assert ("nothing was done" in said.results[0].text) is not is_unknown


def test_calls_that_came_under_one_id_keep_their_own_arguments_and_results() -> None:
    events = [*call("c", '{"a":', "1}"), *call("c-2", "{}"), *call("c", '{"b":2}'), *call("c", '{"b":3}')]
    done = JournalEvent(EventType.DONE)
    calls = to_messages([*events, done], Ending.COMPLETE)[0].calls
    assert [(each.call_id, each.arguments) for each in calls] == [
        ("c", '{"a":1}'),
        ("c-2", "{}"),
        ("c-3", '{"b":2}'),
        ("c-4", '{"b":3}'),
    ]
    ran = [event for each in calls for event in (start(each.call_id), result(each.call_id, f"of {each.call_id}"))]
    messages = to_messages([*events, done, *ran], Ending.COMPLETE)
    assert pairs_are_whole(tuple(messages))
    assert [message.results[0].text for message in messages[1:]] == ["of c", "of c-2", "of c-3", "of c-4"]


def test_an_empty_step_leaves_no_message() -> None:
    assert to_messages([], Ending.CANCELLED) == []
    assert to_messages([DONE], Ending.COMPLETE) == []


def test_merging_changes_nothing_that_is_shown() -> None:
    events = [TEXT, TEXT, *call("1", "a", "b"), *call("2", "c"), TEXT, DONE]
    merged = merge(events)
    assert shown_text(merged) == shown_text(events)
    assert to_messages(merged, Ending.COMPLETE) == to_messages(events, Ending.COMPLETE)
    assert len(merged) == 7
    assert merge(merged) == merged


def test_a_turn_goes_only_from_these_states_to_these() -> None:
    running = [TurnState.ADMITTED, TurnState.PREPARED, TurnState.STREAMING, TurnState.TOOLS]
    allowed = {(a, b) for a, b in itertools.product(TurnState, TurnState) if may_follow(a, b)}
    ways_out = {(a, b) for a in running for b in FINAL_STATES - {TurnState.COMMITTED}}
    assert allowed - ways_out == {
        (TurnState.ADMITTED, TurnState.PREPARED),
        (TurnState.PREPARED, TurnState.STREAMING),
        (TurnState.STREAMING, TurnState.TOOLS),
        (TurnState.TOOLS, TurnState.PREPARED),
        (TurnState.STREAMING, TurnState.COMMITTED),
        (TurnState.TOOLS, TurnState.COMMITTED),
    }


def test_the_guard_decides_on_the_upper_estimate() -> None:
    estimator = Estimator(1.0, 0.1)
    assert turn_preflight(estimator.upper(100), 120, tool_budget_exceeded=False).outcome is Outcome.OK
    over = turn_preflight(estimator.upper(100), 119, tool_budget_exceeded=False)
    assert (over.outcome, over.remaining_tokens) == (Outcome.SKIP, -1)
    assert turn_preflight(estimator.upper(100), 120, tool_budget_exceeded=True).outcome is Outcome.FINAL
    assert tool_preflight(estimator.upper(101), 121).outcome is Outcome.REFUSED
    assert tool_preflight(estimator.upper(100), 120).outcome is Outcome.OK


def test_no_prepared_context_exists_over_its_limit() -> None:
    with pytest.raises(OverLimit) as caught:
        PreparedContext(ConversationId("c"), "m", "", (), (), 10, 90, 101, 100)
    assert caught.value.kind is ErrorKind.CONTEXT_TOO_LONG
    assert (caught.value.detail.limit_tokens, caught.value.detail.projected_tokens) == (100, 101)


class Piece(str):
    """Text that must not be added to other text: a long answer would be copied once a piece."""

    __slots__ = ()

    def __add__(self, other: str) -> str:
        raise AssertionError("a piece was added")

    __radd__ = __add__


def test_an_answer_of_many_pieces_is_put_together_at_once() -> None:
    events = [
        *(JournalEvent(EventType.THINKING, Piece("t")) for _ in range(50)),
        *(JournalEvent(EventType.TEXT, Piece("x")) for _ in range(50)),
        JournalEvent(EventType.TOOL_CALL, "", "c", "f"),
        *(JournalEvent(EventType.TOOL_ARGUMENTS, Piece("[]"), "c") for _ in range(50)),
        JournalEvent(EventType.DONE),
    ]
    assert [event.text for event in merge(events)] == ["t" * 50, "x" * 50, "", "[]" * 50, ""]
    message, _ = to_messages(events, Ending.COMPLETE)
    assert message.text == "x" * 50
    assert message.calls[0].arguments == "[]" * 50


def test_many_calls_of_one_id_get_ids_of_their_own() -> None:
    events = [*(JournalEvent(EventType.TOOL_CALL, "", "c", "f") for _ in range(2000)), JournalEvent(EventType.DONE)]
    calls = to_messages(events, Ending.COMPLETE)[0].calls
    assert [call.call_id for call in calls] == ["c", *(f"c-{n}" for n in range(2, 2001))]
