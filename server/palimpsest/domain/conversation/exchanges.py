"""Exchanges: the smallest units that compaction may cut or age.

A user message is an exchange. So is an assistant message with all results of its calls. Where a recording splits one
parallel batch into several assistant messages before the first result, they form one exchange together.
"""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.domain.messages import Content, Role


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
