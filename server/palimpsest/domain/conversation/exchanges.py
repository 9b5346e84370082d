"""Exchanges: the smallest units that compaction may cut or age.

A user message is an exchange. So is an assistant message with all results of its calls. Where a recording splits one
parallel batch into several assistant messages before the first result, they form one exchange together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from palimpsest.domain.messages import Content, Part, Role, TextPart, ToolCallPart, ToolResultPart


def exchange_starts(contents: Sequence[Content]) -> list[int]:
    """The indexes at which exchanges begin, ascending; empty without contents.

    The first index always begins one, whatever its role.
    """
    starts: list[int] = []
    open_calls: list[str] = []
    for index, content in enumerate(contents):
        match content.role:
            case Role.USER:
                begins = True
                open_calls.clear()
            case Role.ASSISTANT:
                begins = not open_calls
            case Role.TOOL:
                begins = index == 0
        if begins:
            starts.append(index)
        open_calls.extend(call.call_id for call in content.calls)
        for result in content.results:
            if result.call_id in open_calls:
                open_calls.remove(result.call_id)
    return starts


def unanswered_calls(contents: Sequence[Content]) -> list[str]:
    """The ids of calls without a result among `contents`, oldest first."""
    open_calls: list[str] = []
    for content in contents:
        open_calls.extend(call.call_id for call in content.calls)
        for result in content.results:
            if result.call_id in open_calls:
                open_calls.remove(result.call_id)
    return open_calls


def without_strays(contents: list[Content]) -> list[Content]:
    """The messages without calls that have no result before the assistant goes on, and without results of no such
    call: services refuse each request that has one. A call becomes a sentence, and a result goes. A message without any
    is the same object, and so is the list. What the user says between a call and its result does not part them: clients
    send it behind.

    A store that was ended in the middle of a shared turn leaves a call behind, and a member may push anything.
    """
    strays: defaultdict[int, set[int]] = defaultdict(set)
    waiting: dict[str, tuple[int, int]] = {}
    goes_on = False
    """Whether an assistant's message would be a new step."""

    def give_up() -> None:
        for at, number in waiting.values():
            strays[at].add(number)
        waiting.clear()

    for at, content in enumerate(contents):
        if content.role is Role.ASSISTANT and goes_on:
            give_up()
        goes_on = content.role is not Role.ASSISTANT and (goes_on or content.role is Role.USER)
        for number, part in enumerate(content.parts):
            match part:
                case ToolCallPart():
                    if content.role is Role.ASSISTANT and part.call_id not in waiting:
                        waiting[part.call_id] = at, number
                    else:
                        strays[at].add(number)
                case ToolResultPart():
                    goes_on = goes_on or content.role is Role.TOOL
                    if content.role is not Role.TOOL or waiting.pop(part.call_id, None) is None:
                        strays[at].add(number)
    give_up()
    if not strays:
        return contents
    return [_without(each, strays[at]) if at in strays else each for at, each in enumerate(contents)]


def _without(content: Content, numbers: set[int]) -> Content:
    parts: list[Part] = []
    for number, part in enumerate(content.parts):
        if number not in numbers:
            parts.append(part)
        elif isinstance(part, ToolCallPart) and content.role is Role.ASSISTANT:
            parts.append(TextPart("[A tool was called here, and no result came.]"))
    return replace(content, parts=tuple(parts))
