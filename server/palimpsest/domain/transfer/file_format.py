"""The file of a conversation: JSON lines, UTF-8.

Line 1 is the header: `{"palimpsest": "conversation", "version": 1, …}`. The lines for messages, turns, summaries,
hidden ranges, expansions, withdrawals, cuts, previews and the bytes of pictures follow in that order, each with its
`type`. A field without a value is absent. An undeclared field is refused, because an import that skips it would lose
it. Summaries are numbered 0, 1, 2, … within the file. The encoding is canonical: decoding and encoding a file gives the
same text, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from palimpsest import values
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import Content, Digest, is_clean, is_time, read_content
from palimpsest.domain.transfer.checks import Fault, Rules
from palimpsest.domain.transfer.conversation import KINDS, NAMES, Header, Instant, Transfer

FORMAT: Final = "conversation"
VERSION: Final = 1
_OPENING: Final = re.compile(r'\ufeff?\s*\{\s*"palimpsest"\s*:')
T = TypeVar("T")


def encode(transfer: Transfer) -> str:
    """The text of the file, which ends with a newline."""
    lines = [
        _dump({"type": NAMES[type(line)], **_to_json(line)})
        for name in (field.name for field in fields(Transfer)[1:])
        for line in getattr(transfer, name)
    ]
    head = {"palimpsest": FORMAT, "version": VERSION, **_to_json(transfer.header), "body_digest": _body_digest(lines)}
    return "".join(f"{line}\n" for line in (_dump(head), *lines))


def is_export(text: str) -> bool:
    """Whether the text claims to be such a file, valid or not: its header begins with that key."""
    return _OPENING.match(text) is not None


def decode(text: str) -> Transfer:
    """The conversation in a file. Raises InvalidRequest, which names the line and its fault but never quotes the
    line."""
    numbered = ((number, line.strip()) for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1))
    lines = [(number, line) for number, line in numbered if line]
    number = 1
    try:
        if not lines:
            raise Fault("the file is empty")
        head_number, first = lines[0]
        number = head_number
        head = _load(first)
        rules = Rules(_header(head))
        for number, line in lines[1:]:
            value = _load(line)
            kind = KINDS.get(str(value.pop("type", "")))
            if kind is None:
                raise Fault(f"its type is none of {', '.join(KINDS)}")
            rules.add(number, _read(kind, value))
        number = head_number
        rules.finish()
        if head["body_digest"] != _body_digest([line for _, line in lines[1:]]):
            raise Fault("the lines after this one are not the exported ones: their digest differs")
        return rules.transfer()
    except Fault as fault:
        raise InvalidRequest(f"Line {fault.line or number}: {fault}. Nothing was imported.") from None


def _header(head: dict[str, Any]) -> Header:
    if head.get("palimpsest") != FORMAT:
        raise Fault("this is not an exported conversation")
    version = head.get("version")
    if type(version) is int and version > VERSION:
        raise Fault(f"a newer Palimpsest wrote this (format {version}; this one reads {VERSION}); update this one")
    if type(version) is not int or version != VERSION or type(head.get("body_digest")) is not str:
        raise Fault("the header has no version, or no digest of the lines after it")
    return _read(Header, {key: head[key] for key in head if key not in ("palimpsest", "version", "body_digest")})


def _body_digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _load(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise Fault("this is not a line of JSON, or it was cut short") from None
    if not isinstance(value, dict):
        raise Fault("this is not a JSON object")
    return value


def _to_json(value: Any) -> Any:
    if isinstance(value, Content):
        return value.to_json()
    if is_dataclass(value):
        items = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: _to_json(item) for name, item in items if item is not None}
    if isinstance(value, StrEnum):
        return value.value
    return [_to_json(item) for item in value] if isinstance(value, tuple) else value


def _read(kind: type[T], given: dict[str, Any]) -> T:
    try:
        found: T = _TYPES.of(kind).read(given)
    except values.Mismatch as error:
        raise Fault(_said(error.problems[0])) from None
    return found


def _said(problem: values.Problem) -> str:
    """The problem as the rest of a sentence about a line."""
    if problem.expected == values.NOTHING:
        return f"it has a field that version {VERSION} of the format does not know"
    field = next(part for part in reversed(problem.path) if isinstance(part, str))
    if problem.got == values.NOTHING:
        return f"its field {field} is missing"
    if problem.expected == _MESSAGE:
        return f"its content is not {_MESSAGE}"
    return f"its field {field} has an invalid value"


def _to_content(value: Any) -> Content:
    try:
        return read_content(value)
    except ValueError:
        raise values.unexpected(_MESSAGE, value) from None


_MESSAGE: Final = "a message"
_TEXT: Final = values.checked(values.STRING, is_clean, "a text that can be stored")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_SHAPED: Final = {
    Instant: values.checked(_TEXT, is_time, "a time in UTC"),
    Digest: values.checked(_TEXT, _DIGEST.fullmatch, "a digest"),
    Content: values.Reader(_to_content, _MESSAGE, frozenset({dict})),
}
_TYPES: Final = values.Types({**_SHAPED, str: _TEXT, int: values.INTEGER, float: values.NUMBER, bool: values.BOOLEAN})
