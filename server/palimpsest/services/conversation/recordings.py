"""Recorded sessions of other agents, as messages of ours.

A recording is JSON lines, plain or .xz: the first line `{"meta": …}`, then `{"role", "content", "tool_calls"?,
"tool_call_id"?}`. Recordings from a console lack ids or results. Missing parts are added and counted, so that
every call has its result and every result its call.
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
    ToolResultPart,
    clean_text,
    tool_result,
    user_message,
)
from palimpsest.domain.transfer.conversation import Transfer
from palimpsest.domain.transfer.file_format import decode, is_export
from palimpsest.services.conversation.import_files import read_import

_NOT_RECORDED = "No result was recorded."


@dataclass(frozen=True, slots=True)
class Recording:
    """A session as steps: a user message alone, or the messages of one model call."""

    steps: tuple[tuple[Content, ...], ...]
    n_recorded: int
    """Messages in the file."""
    n_mended: int
    """The calls and results that were added to complete pairs."""


@dataclass(slots=True)
class _Step:
    contents: list[Content] = field(default_factory=list)
    open_calls: list[ToolCallPart] = field(default_factory=list)

    def close(self) -> int:
        """Add results for the calls without one. Returns their number."""
        self.contents += [tool_result(call, _NOT_RECORDED, is_error=True) for call in self.open_calls]
        return len(self.open_calls)


def load_recording(path: Path) -> Recording:
    """A recorded session, or a conversation that Palimpsest exported. Raises InvalidRequest, with the line, when the
    file is neither."""
    data = read_import(path)
    text = data.decode("utf-8", "replace")
    return from_export(decode(text)) if is_export(text) else read_recording(path, data)


def from_export(transfer: Transfer) -> Recording:
    """The visible messages of an exported conversation. Raises InvalidRequest when there are none."""
    steps: list[tuple[Content, ...]] = []
    step, n_mended = _Step(), 0

    def flush() -> None:
        nonlocal step, n_mended
        n_mended += step.close()
        if step.contents:
            steps.append(tuple(step.contents))
        step = _Step()

    hidden = {each for line in transfer.hidden for each in range(line.start, line.end)}
    said = [line.content for line in transfer.messages if line.content is not None and line.id not in hidden]
    for content in said:
        if content.role is not Role.TOOL:
            flush()
            step.contents.append(content)
            step.open_calls += content.calls
            continue
        answered = [part.call_id for part in content.parts if isinstance(part, ToolResultPart)]
        if all(any(call.call_id == each for call in step.open_calls) for each in answered):
            step.contents.append(content)
            step.open_calls = [call for call in step.open_calls if call.call_id not in answered]
    flush()
    if not steps:
        raise InvalidRequest("This conversation has no message to replay.")
    return Recording(tuple(steps), len(said), n_mended)


def read_recording(path: Path, data: bytes) -> Recording:
    """The recording in `data`, the content of `path`. Raises like `load_recording`."""
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
            raise InvalidRequest(
                f"Line {number} of {path} is not a recorded message: {error}. Give a file of `palimpsest export`, or a "
                "recorded session: one JSON object a line, each with a role and its content."
            ) from error
    if not messages:
        raise InvalidRequest(f"{path} has no message.")
    return to_steps(messages)


def _message(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises ValueError, KeyError, TypeError or AttributeError for what is not a message."""
    calls = value.get("tool_calls") or ()
    texts = [value.get("content"), value.get("tool_call_id")]
    texts += [call.get(name) for call in calls for name in ("id", "name")]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise TypeError("a text is not a string")
    return {**value, "role": Role(value["role"])}


def to_steps(messages: Iterable[Mapping[str, Any]]) -> Recording:
    """Group messages into steps in which every call has its result and every result its call."""
    messages = list(messages)
    answered = {message.get("tool_call_id") for message in messages if message["role"] is Role.TOOL}
    steps: list[tuple[Content, ...]] = []
    step, n_mended = _Step(), 0

    def flush() -> None:
        nonlocal step, n_mended
        n_mended += step.close()
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
