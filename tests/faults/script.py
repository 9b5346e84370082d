"""Scripted turns: what the model says, step by step, stands in the user's message, and the provider reads it there.

So the provider keeps no state, and any number of servers in any order get from it what their turn needs. Every piece
of text names its turn and step, so a piece that is lost or doubled shows.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.clients.fake_provider import Call, Fault, Raw, Reply

from palimpsest.domain.context import recalled

MARK: Final = "SCRIPT "
README: Final = "# Greenhouse\n\nThe pump starts below 18 percent.\n"
"""The file of the folder that tools read."""


@dataclass(frozen=True)
class ModelStep:
    """One model call of a script."""

    text: str
    calls: tuple[Call, ...] = ()
    fault: Mapping[str, Any] | None = None
    """Fields of a `Fault`; then `text` and `calls` are not sent."""
    raw: str | None = None
    """The exact stream, or page, instead."""


@dataclass(frozen=True)
class Script:
    """One turn."""

    name: str
    steps: tuple[ModelStep, ...]

    @property
    def user_text(self) -> str:
        steps = [
            {
                "text": step.text,
                "calls": [[call.call_id, call.name, call.arguments] for call in step.calls],
                "fault": step.fault,
                "raw": step.raw,
            }
            for step in self.steps
        ]
        return f"Turn {self.name}.\n{MARK}{json.dumps(steps)}"


_RECALLED = re.compile(f"{re.escape(recalled.HEAD)}.*?{re.escape(recalled.FOOT)}", re.DOTALL)


def reply_to(body: Mapping[str, Any]) -> Reply | Fault | Raw:
    """What the script in a Chat Completions request says now: as many of its steps have passed as the model has spoken
    since."""
    n_passed = 0
    for message in reversed(body["messages"]):
        content = str(message.get("content") or "")
        if message["role"] == "user" and MARK in content:
            steps = _last_whole(content)
            return _reply(steps[min(n_passed, len(steps) - 1)])
        n_passed += message["role"] == "assistant"
    return Reply(text="No script.")


def _last_whole(content: str) -> list[Mapping[str, Any]]:
    """Of what users said: two messages with nothing between them come as one. What is recalled quotes scripts too."""
    for rest in reversed(_RECALLED.sub("", content).split(MARK)[1:]):
        with contextlib.suppress(ValueError):
            steps: list[Mapping[str, Any]] = json.JSONDecoder().raw_decode(rest)[0]
            return steps
    raise ValueError("The message holds no whole script.")


def _reply(step: Mapping[str, Any]) -> Reply | Fault | Raw:
    if step["fault"] is not None:
        return Fault(**step["fault"])
    if step["raw"] is not None:
        return Raw(step["raw"].encode(), "text/html" if step["raw"].startswith("<") else "text/event-stream")
    return Reply(text=step["text"], calls=tuple(Call(*call) for call in step["calls"]))


def turn_with_tools(name: str = "a") -> Script:
    """Three steps: a file is read; two calls at once, one of them of a tool that is not there; the answer."""
    read = Call(f"call_{name}_0", "read_file", '{"path": "README.md"}')
    listed = Call(f"call_{name}_1", "list_files", "{}")
    unknown = Call(f"call_{name}_2", "water_the_plants", '{"litres": 3}')
    return Script(
        name,
        (
            ModelStep(_words(name, 0, 12), (read,)),
            ModelStep(_words(name, 1, 9), (listed, unknown)),
            ModelStep(_words(name, 2, 15)),
        ),
    )


def plain_turn(name: str) -> Script:
    """One short answer."""
    return Script(name, (ModelStep(_words(name, 0, 6)),))


def random_turn(rng: random.Random, name: str) -> Script:
    """One to four steps, each but the last with one to three calls; the answer may be long."""
    steps: list[ModelStep] = []
    for number in range(rng.randrange(4)):
        calls = tuple(_random_call(rng, f"call_{name}_{number}_{each}") for each in range(rng.randint(1, 3)))
        steps.append(ModelStep(_words(name, number, rng.randrange(20)), calls))
    return Script(name, (*steps, ModelStep(_words(name, len(steps), rng.randint(1, 400)))))


def _random_call(rng: random.Random, call_id: str) -> Call:
    wanted: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("read_file", {"path": "README.md"}),
        ("read_file", {"path": "missing.txt"}),
        ("list_files", {}),
        ("water_the_plants", {"litres": 3}),
    )
    name, arguments = rng.choice(wanted)
    return Call(call_id, name, json.dumps(arguments))


def _words(name: str, step: int, count: int) -> str:
    return " ".join(f"{name}.{step}.{number}" for number in range(count))
