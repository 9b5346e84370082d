"""Calls of tools: by what a line tells them, what they were given, and with which options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from palimpsest.domain.context.notebook.evidence import REPLACED, arguments_of, command_in, tool_label
from palimpsest.domain.messages import ToolCallPart

_READ_CHARS: Final = 8_000
_HEAD_CHARS, _PATH_CHARS, _VALUE_CHARS, _TEXT_CHARS = 140, 160, 80, 40
_OPTION_CHARS, _MOST_OPTIONS = 40, 8
_TARGETS: Final = ("file_path", "path", "filename", "file", "target_file", "notebook_path", "pattern", "query", "url")
"""The arguments that tell what a call is about, the best first."""
_SOUGHT: Final = ("pattern", "query", "regex")
"""The arguments that hold what a search looks for."""
_COMMANDS: Final = ("command", "cmd")
_PURPOSES: Final = ("description", "explanation", "purpose", "reason")
"""The arguments in which a model says what a call is for."""
_CHANGED_FOLDER: Final = re.compile(r"cd \S+ (?:&&|;) ")


def head_of(call: ToolCallPart) -> tuple[str, str, bool]:
    """What a call is called by, the path that it is about, and whether it runs a command."""
    arguments, name = arguments_of(call), tool_label(call.name)
    command = command_in(arguments)
    if not arguments and call.arguments.strip() not in ("", "{}"):
        command = call.arguments.strip()
        if "\n" in command:  # a text that was given to the tool, such as an edit, and no command
            return f"{name}: {clip(' '.join(command[:_READ_CHARS].split()), _TEXT_CHARS)}", "", True
    if command:
        plain = without_folder(" ".join(command[:_READ_CHARS].split()))
        return f"{name}: {clip(plain, _HEAD_CHARS)}", "", True
    target, value = _target(arguments)
    shown = clip(" ".join(value[:_READ_CHARS].split()), _PATH_CHARS if target in _TARGETS else _VALUE_CHARS)
    path = shown if target in _TARGETS and "/" in shown and shown == value else ""
    if sought := _sought(arguments, target):
        shown = f"{clip(' '.join(str(arguments[sought])[:_READ_CHARS].split()), _VALUE_CHARS)} in {shown}"
    return f"{name} {shown}".strip(), path, False


def options_of(call: ToolCallPart) -> str:
    """The arguments beside those that its head and its purpose tell, each with its value if that is one short word;
    empty where there are none."""
    return ", ".join(_options(call))


def values_of(call: ToolCallPart) -> list[str]:
    """The texts that a call was given; what an edit puts in comes before what it takes away."""
    arguments = arguments_of(call)
    if not arguments:
        return [call.arguments]
    names = [name for name, value in arguments.items() if isinstance(value, str)]
    names.sort(key=lambda name: name in REPLACED)
    return [str(arguments[name]) for name in names]


def purpose_of(call: ToolCallPart) -> str:
    """What the call itself says that it is for; empty where it does not."""
    arguments = arguments_of(call)
    return next((value for name in _PURPOSES if isinstance(value := arguments.get(name), str)), "")


def without_folder(command: str) -> str:
    """The command without a change of the folder before it."""
    return _CHANGED_FOLDER.sub("", command, count=1)


def clip(text: str, n_chars: int) -> str:
    return text if len(text) <= n_chars else f"{text[: n_chars - 1]}…"


def _target(arguments: Mapping[str, object]) -> tuple[str, str]:
    """The argument that tells what a call that runs no command is about, and its text; both empty without one."""
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    name = next((each for each in _TARGETS if texts.get(each)), next(iter(texts), ""))
    return name, texts.get(name, "")


def _sought(arguments: Mapping[str, object], target: str) -> str:
    """The argument that holds what a search in `target` looks for; empty where there is none."""
    if target in _SOUGHT:
        return ""
    return next((each for each in _SOUGHT if isinstance(value := arguments.get(each), str) and value.strip()), "")


def _options(call: ToolCallPart) -> Iterator[str]:
    arguments = arguments_of(call)
    target = _target(arguments)[0]
    told = {*_COMMANDS, *_PURPOSES} if command_in(arguments) else {target, _sought(arguments, target), *_PURPOSES}
    for name in [each for each in arguments if each not in told][:_MOST_OPTIONS]:
        value = arguments[name]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        is_short = 0 < len(text) <= _OPTION_CHARS and not any(map(str.isspace, text))
        yield f"{tool_label(name)} {text if is_short else '…'}"
