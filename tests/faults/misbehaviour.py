"""Models that stop, drop, repeat, send garbage or hang: the turn ends, its text is kept, its error says what it was."""

from __future__ import annotations

import asyncio
import functools
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tests.clients.fake_provider import Reply
from tests.faults.checks import Seen, check_file, check_turns, require
from tests.faults.lab import Lab
from tests.faults.script import ModelStep, Script, plain_turn
from tests.faults.serve import Fault
from tests.faults.trials import Outcome, conversation_of, finish, run_turn, verdict_of

PATIENCE_S = 1.0
"""The longest silence that the servers of these trials wait for."""
_CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": ""}}
_ARGUMENTS = {"index": 0, "function": {"arguments": '{"path": "README.md"}'}}


def _chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


_BEGUN = _chunk({"role": "assistant", "content": "begun "}) + _chunk({"content": "and "})
_DONE = "data: [DONE]\n\n"


def _raw(*pieces: str) -> ModelStep:
    return ModelStep("", raw="".join(pieces))


_AFTER_TEXT = 3
"""Events of a reply that pass before the fault: its opening and two of its three pieces of text."""
_HALF = Reply().text[: 2 * -(-len(Reply().text) // 3)]

CASES: Mapping[str, tuple[Sequence[ModelStep], str, str]] = {
    # what the model does: the script, how the turn is answered, the text of its last message that is kept
    "drops the connection": ([ModelStep("", fault={"then": "drop", "after": _AFTER_TEXT})], "network", _HALF),
    "never says a word": ([ModelStep("", fault={"then": "drop", "after": 0})], "network", ""),
    "reports an error": ([ModelStep("", fault={"then": "error", "after": _AFTER_TEXT})], "overloaded", _HALF),
    "hangs": ([ModelStep("", fault={"then": "stall", "after": _AFTER_TEXT})], "network", _HALF),
    "stops without an end": ([_raw(_BEGUN)], "network", "begun and "),
    "says it is done without an end": ([_raw(_BEGUN, _DONE)], "network", "begun and "),
    "sends half an event": ([_raw(_BEGUN, 'data: {"choices": [{"del\n\n')], "bad_response", "begun and "),
    "sends another shape": ([_raw(_BEGUN, 'data: {"choices": 5}\n\n')], "bad_response", "begun and "),
    "sends no JSON object": ([_raw(_BEGUN, "data: 17\n\n")], "bad_response", "begun and "),
    "sends a page": ([_raw("<html><body>Gateway</body></html>")], "bad_response", ""),
    "sends bytes": ([_raw(_BEGUN, "\x00\x01\ufffd data: \x7f{{\n\n")], "network", "begun and "),
    "repeats its end": (
        [_raw(_BEGUN, *(_chunk({}, "stop") for _ in range(3)), _DONE, _DONE, _chunk({}, "stop"))],
        "committed",
        "begun and ",
    ),
    "repeats a call": (
        [
            _raw(
                *(_chunk({"tool_calls": [_CALL]}) for _ in range(3)),
                _chunk({"tool_calls": [_ARGUMENTS]}),
                *(_chunk({}, "tool_calls") for _ in range(2)),
                _DONE,
            ),
            ModelStep("the end"),
        ],
        "committed",
        "the end",
    ),
    "calls half a tool and stops": (
        [_raw(_BEGUN, _chunk({"tool_calls": [_CALL]}), _chunk({"tool_calls": [{**_ARGUMENTS}]}))],
        "network",
        "begun and ",
    ),
}


def cases(lab: Lab) -> list[tuple[str, Callable[[], Awaitable[Outcome]]]]:
    named: list[tuple[str, Callable[[], Awaitable[Outcome]]]] = [
        (name, functools.partial(_answered, lab, *case)) for name, case in CASES.items()
    ]
    return [*named, ("hangs until it is cancelled", functools.partial(_cancelled, lab))]


async def _answered(lab: Lab, steps: Sequence[ModelStep], verdict: str, text: str) -> Outcome:
    place = lab.place()
    async with lab.server(place, Fault(read_timeout_s=PATIENCE_S)) as server:
        seen = await run_turn(server, Script("m", tuple(steps)), None)
        require(verdict_of(seen) == verdict, f"it was answered as {verdict_of(seen)}, not as {verdict}")
        conversation_id = conversation_of(seen)
        require(conversation_id is not None, "the editor was not told of the turn")
        assert conversation_id is not None
        last = (await server.editor.read(conversation_id))["messages"][-1]
        kept = last["text"] if last["role"] == "assistant" else ""
        require(kept == text, "another text is kept than what had come")
        shown = "".join(delta.get("text", "") for delta in seen.deltas if delta["type"] == "text")
        require(shown == text, "another text was shown than what is kept")
        following = await run_turn(server, plain_turn("n"), conversation_id)
        require(verdict_of(following) == "committed", f"the turn after it ended as {verdict_of(following)}")
        await server.leave()
    check_file(place.database)
    check_turns(place.database, [seen, following])
    lab.discard(place)
    return Outcome(verdict != "committed", verdict)


async def _cancelled(lab: Lab) -> Outcome:
    place = lab.place()
    script = Script("m", (ModelStep("", fault={"then": "stall", "after": _AFTER_TEXT}),))
    async with lab.server(place) as server:
        seen = Seen(script, uuid.uuid4().hex)
        request = server.send(script, seen.request_id, None)
        async with asyncio.timeout(60):
            await server.editor.until_shown(seen.request_id, _HALF)
        turn = server.editor.shown(seen.request_id)[0]
        await server.editor.client.result("palimpsest/turn/cancel", {"turnId": turn["turnId"]})
        await finish(server, seen, request)
        require(verdict_of(seen) == "cancelled", f"it was answered as {verdict_of(seen)}")
        last = (await server.editor.read(turn["conversationId"]))["messages"][-1]
        require(last["text"] == _HALF, "another text is kept than what had come")
        await server.leave()
    check_file(place.database)
    check_turns(place.database, [seen])
    lab.discard(place)
    return Outcome(True, "cancelled")
