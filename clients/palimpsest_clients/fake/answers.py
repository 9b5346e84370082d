"""The answers of the fake without a script: enough to see an editor plugin work.

`read FILE` calls the first tool that is offered and named for reading; `list N` answers a numbered list; a tool's
result is reported; everything else is repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from palimpsest_clients.fake.replies import Call, Heard, Reply

_DELTA_CHARACTERS: Final = 12
_LONGEST_LIST: Final = 1000
_QUOTED_CHARACTERS: Final = 400


def answer_to(heard: Heard, number: int) -> Reply:
    """`number` tells the calls of one conversation apart."""
    if heard.result is not None:
        return _said(f"The tool answered:\n\n{_beginning(heard.result)}")
    if (wanted := re.search(r"\bread\s+[`'\"]?([^\s`'\"]+)", heard.text, re.I)) and (
        tool := next((name for name in heard.tools if "read" in name.lower()), None)
    ):
        arguments = json.dumps({_first_string(heard.tools[tool]): wanted[1]}, ensure_ascii=False)
        said = f"I will read {wanted[1]}."
        return Reply(said, calls=(Call(f"call_{number}", tool, arguments),), n_pieces=_n_pieces(said))
    if wanted := re.search(r"\blist\b(?:\s+(\d{1,9}))?", heard.text, re.I):
        n_items = min(int(wanted[1] or 5), _LONGEST_LIST)
        return _said("\n".join(f"{n}. Item {n} of {n_items}" for n in range(1, n_items + 1)) or "The list is empty.")
    return _said(f"You said: {_beginning(heard.text)}" if heard.text.strip() else "You said nothing.")


def _said(text: str) -> Reply:
    return Reply(text, n_pieces=_n_pieces(text))


def _n_pieces(text: str) -> int:
    return max(1, len(text) // _DELTA_CHARACTERS)


def _beginning(text: str) -> str:
    return text if len(text) <= _QUOTED_CHARACTERS else f"{text[:_QUOTED_CHARACTERS]} …"


def _first_string(schema: Mapping[str, Any]) -> str:
    """The argument for the name of the file: a required string, else any string."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    strings = [name for name, each in properties.items() if isinstance(each, dict) and each.get("type") == "string"]
    required = [name for name in strings if name in (schema.get("required") or ())]
    return next(iter(required + strings), "path")
