"""Recorded sessions as a benchmark replays them.

A file is JSON lines, plain or .xz: first `{"meta": {"name", ...}}`, then `{"role", "content", "tool_calls"?,
"tool_call_id"?}`. A list of side constraints is a JSON file: `[{"sc": "Never ..."}, ...]`.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Message = dict[str, Any]
_EARLY: Final = 0.6
"""Of a session: constraints are put before user messages of this part."""
_LEAD_IN: Final = "For the rest of this session. "


@dataclass(frozen=True, slots=True)
class Session:
    """Messages, each with its place under `i`."""

    name: str
    messages: tuple[Message, ...]
    constraints: tuple[str, ...] = ()
    """What the user said in passing, put before messages of the user."""


def load(path: Path, constraints: Sequence[str] = ()) -> Session:
    text = (lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()).decode()
    meta, *lines = map(json.loads, text.splitlines())
    messages = [{"i": i, **line} for i, line in enumerate(lines)]
    return Session(meta["meta"]["name"], tuple(_with(messages, constraints)), tuple(constraints))


def load_constraints(path: Path) -> list[str]:
    return [each["sc"] for each in json.loads(path.read_text(encoding="utf-8"))]


def _with(messages: Sequence[Message], constraints: Sequence[str]) -> list[Message]:
    """The constraints, spread over the user's messages in the first part of the session."""
    result = [dict(message) for message in messages]
    early = [i for i, m in enumerate(messages) if m["role"] == "user" and i < _EARLY * len(messages)] or [0]
    for number, constraint in enumerate(constraints):
        message = result[early[min(len(early) - 1, number * len(early) // len(constraints))]]
        message["content"] = f"{_LEAD_IN}{constraint}\n{message['content']}"
    return result
