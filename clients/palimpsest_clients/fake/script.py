"""A script of answers: one JSON object a line, each for one request.

{"text": "Hello", "thinking": "...", "calls": [{"name": "read_file", "arguments": {"path": "a.py"}}]}
{"status": 429, "headers": {"retry-after": "2"}}
{"after": 3, "then": "drop"}                         drop, stall or error, behind so many events of an answer
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from palimpsest_clients.fake.replies import Call, Reply
from palimpsest_clients.fake.server import Failure

_REPLY_FIELDS = {"text", "thinking", "calls", "stop"}
_FAILURE_FIELDS = {"status", "headers", "message", "code", "then", "after"}
_ENDS = ("drop", "stall", "error")


def read_script(lines: Iterable[str]) -> list[Reply | Failure]:
    """The answers and failures of a script; blank lines are skipped. Raises ValueError with a sentence that names
    the line."""
    steps: list[Reply | Failure] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            steps.append(_step(json.loads(line), len(steps)))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            why = str(error) if type(error) is ValueError else "it is not a JSON object of the right shape"
            raise ValueError(f"Line {number} of the script cannot be used: {why}.") from None
    return steps


def _step(entry: dict[str, Any], number: int) -> Reply | Failure:
    fields = set(entry)
    if fields and fields <= _FAILURE_FIELDS:
        failure = Failure(**entry)
        if failure.then not in _ENDS or not 200 <= failure.status <= 599 or failure.after < 0:
            raise ValueError(f"status is 200 to 599, after is not negative, then is one of {', '.join(_ENDS)}")
        return failure
    if unknown := fields - _REPLY_FIELDS:
        raise ValueError(f"there is no field {sorted(unknown)[0]!r}")
    calls = tuple(
        Call(f"call_{number}_{index}", call["name"], json.dumps(call.get("arguments", {}), ensure_ascii=False))
        for index, call in enumerate(entry.get("calls", ()))
    )
    return Reply(entry.get("text", ""), entry.get("thinking", ""), calls, entry.get("stop"))
