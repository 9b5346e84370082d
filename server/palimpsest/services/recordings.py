"""Recorded sessions of other agents, read into our messages.

A recording is JSON lines, plain or .xz: the first line `{"meta": …}`, then `{"role", "content", "tool_calls"?,
"tool_call_id"?}`. Recordings rebuilt from a console lack ids or results; what is missing for every call to have its
result and every result its call is mended, and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.domain import foreign_json
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import (
    Content,
    Part,
    Role,
    TextPart,
    ToolCallPart,
    clean_text,
    tool_result,
    user_message,
)
from palimpsest.services.import_files import read_import

_NOT_RECORDED = "No result was recorded."


@dataclass(frozen=True, slots=True)
class Recording:
    """A session as steps: a user's message alone, or what one model call led to."""

    steps: tuple[tuple[Content, ...], ...]
    n_recorded: int
    """Messages in the file."""
    n_mended: int
    """Calls and results that had to be added for pairs to be whole."""


@dataclass(slots=True)
class _Step:
    contents: list[Content] = field(default_factory=list)
    open_calls: list[ToolCallPart] = field(default_factory=list)


def load_recording(path: Path) -> Recording:
    """Raises InvalidRequest, naming the line, when the file is not a recording."""
    return read_recording(path, read_import(path))


def read_recording(path: Path, data: bytes) -> Recording:
    """The recording that `path` holds as `data`. Raises as `load_recording`."""
    lines = data.decode("utf-8", "replace").split("\n")
    messages: list[Mapping[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = foreign_json.read(line)
            if "meta" not in value:
                messages.append(_message(value))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidRequest(f"Line {number} of {path} is not a recorded message: {error}.") from error
    if not messages:
        raise InvalidRequest(f"{path} holds no message.")
    return to_steps(messages)


def _message(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises ValueError, KeyError, TypeError or AttributeError when it is no message."""
    calls = value.get("tool_calls") or ()
    texts = [value.get("content"), value.get("tool_call_id")]
    texts += [call.get(name) for call in calls for name in ("id", "name")]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise TypeError("a text is not a string")
    return {**value, "role": Role(value["role"])}


def to_steps(messages: Iterable[Mapping[str, Any]]) -> Recording:
    """Groups messages into steps in which every call has its result and every result its call."""
    messages = list(messages)
    answered = {message.get("tool_call_id") for message in messages if message["role"] is Role.TOOL}
    steps: list[tuple[Content, ...]] = []
    step, n_mended = _Step(), 0

    def flush() -> None:
        nonlocal step, n_mended
        for call in step.open_calls:
            step.contents.append(tool_result(call, _NOT_RECORDED, is_error=True))
            n_mended += 1
        if step.contents:
            steps.append(tuple(step.contents))
        step = _Step()

    for number, message in enumerate(messages):
        text = message.get("content") or ""
        match message["role"]:
            case Role.USER:
                flush()
                steps.append((user_message(text),))
            case Role.ASSISTANT:
                if not any(call.call_id in answered for call in step.open_calls):
                    flush()
                content = _assistant(message, text, number)
                step.contents.append(content)
                step.open_calls += content.calls
            case Role.TOOL:
                call = _take(step.open_calls, message.get("tool_call_id"))
                if call is None:
                    call = ToolCallPart(f"recorded-{number}", "unknown", "{}")
                    if not any(each.call_id in answered for each in step.open_calls):
                        flush()
                    step.contents.append(Content(Role.ASSISTANT, (call,)))
                    n_mended += 1
                step.contents.append(tool_result(call, text))
    flush()
    return Recording(tuple(steps), len(messages), n_mended)


def _assistant(message: Mapping[str, Any], text: str, number: int) -> Content:
    cleaned, notes = clean_text(text)
    parts: list[Part] = [TextPart(cleaned)] if cleaned else []
    for index, call in enumerate(message.get("tool_calls") or ()):
        arguments = call.get("arguments") or "{}"
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments, _ = clean_text(arguments)
        parts.append(ToolCallPart(call.get("id") or f"recorded-{number}-{index}", call.get("name") or "?", arguments))
    return Content(Role.ASSISTANT, tuple(parts or [TextPart("")]), notes=notes)


def _take(open_calls: list[ToolCallPart], call_id: str | None) -> ToolCallPart | None:
    """The open call of that id, or the oldest one when the result names none; taken from the list."""
    for index, call in enumerate(open_calls):
        if call_id is None or call.call_id == call_id:
            return open_calls.pop(index)
    return None
