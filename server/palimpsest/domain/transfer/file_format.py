"""The file of a conversation: JSON lines, UTF-8.

Line 1 is the header: `{"palimpsest": "conversation", "version": 1, …}`. A line each follows for the messages, turns,
summaries, hidden ranges, expansions, withdrawals, cuts and previews, in that order, each with its `type`. A field that
has no value is absent; one that is not declared is refused, because an import that skips what it does not know would
lose it. Summaries are numbered 0, 1, 2, … within the file. What is encoded is canonical: decoded and encoded again it
is the same text, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import types
import typing
from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import Content, Digest, clean_text
from palimpsest.domain.transfer.checks import Fault, Rules
from palimpsest.domain.transfer.conversation import KINDS, NAMES, Header, Instant, Transfer

FORMAT: Final = "conversation"
VERSION: Final = 1
_LARGEST: Final = 2**53 - 1
"""What every JSON reader can hold."""
_SHAPES: Final = {
    Instant: re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
    Digest: re.compile(r"[0-9a-f]{64}"),
}
_OPENING: Final = re.compile(r'\ufeff?\s*\{\s*"palimpsest"\s*:')
T = TypeVar("T")


def encode(transfer: Transfer) -> str:
    """The file's text. Ends with a newline."""
    lines = [
        _dump({"type": NAMES[type(line)], **_to_json(line)})
        for name in (field.name for field in fields(Transfer)[1:])
        for line in getattr(transfer, name)
    ]
    head = {"palimpsest": FORMAT, "version": VERSION, **_to_json(transfer.header), "body_digest": _body_digest(lines)}
    return "".join(f"{line}\n" for line in (_dump(head), *lines))


def is_export(text: str) -> bool:
    """Whether the text says of itself that it is such a file, sound or not: a header begins with that key."""
    return _OPENING.match(text) is not None


def decode(text: str) -> Transfer:
    """The conversation in a file. Raises InvalidRequest, naming the line and what is wrong with it, and never what
    stands in it."""
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
            raise Fault("the lines after this one are not those that were exported: their digest differs")
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
    """A value of one of our dataclasses, strictly: nothing is coerced."""
    hints = _hints(kind)
    if any(name not in hints for name in given):
        raise Fault(f"it has a field that version {VERSION} of the format does not know")
    found: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in given:
            found[field.name] = _value(field.name, hints[field.name], given[field.name])
        elif field.default is MISSING:
            raise Fault(f"its field {field.name} is missing")
    return kind(**found)


def _hints(kind: type) -> dict[str, Any]:
    """The annotation of each field, without the `None` of an optional one."""
    if kind not in _HINTS:
        _HINTS[kind] = {name: _without_none(hint) for name, hint in typing.get_type_hints(kind).items()}
    return _HINTS[kind]


_HINTS: Final[dict[type, dict[str, Any]]] = {}
"""What `_hints` found: annotations are resolved once a class, on first use."""


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(each for each in typing.get_args(hint) if each is not types.NoneType)
    return hint


def _value(name: str, hint: Any, value: Any) -> Any:
    wrong = Fault(f"its field {name} is not what it must be")
    shape = _SHAPES.get(hint)
    plain = getattr(hint, "__supertype__", hint)
    if typing.get_origin(plain) is tuple:
        if type(value) is not list:
            raise wrong
        inner = typing.get_args(plain)
        hints = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        if len(hints) != len(value):
            raise wrong
        return tuple(_value(name, each, item) for each, item in zip(hints, value, strict=True))
    if plain is Content:
        return _content(value)
    if is_dataclass(plain):
        if type(value) is not dict:
            raise wrong
        return _read(plain, value)  # type: ignore[arg-type]
    if issubclass(plain, StrEnum):
        if value not in [member.value for member in plain]:
            raise wrong
        return plain(value)
    if plain is float and type(value) is int:
        value = float(value) if abs(value) <= _LARGEST else math.nan
    if type(value) is not plain:
        raise wrong
    if plain is str and (not _is_clean(value) or (shape is not None and not shape.fullmatch(value))):
        raise wrong
    if (plain is int and abs(value) > _LARGEST) or (plain is float and not math.isfinite(value)):
        raise wrong
    return value


def _content(value: Any) -> Content:
    """Strictly what `Content.to_json` writes."""
    try:
        content = Content.from_json(value)
        texts = [item for part in value["parts"] for name, item in part.items() if name != "is_error"]
        errors = [part.get("is_error", False) for part in value["parts"]]
        texts += content.notes
        is_typed = all(type(text) is str and _is_clean(text) for text in texts)
        if is_typed and all(type(each) is bool for each in errors) and content.to_json() == value:
            return content
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise Fault("its content is not a message")


def _is_clean(text: str) -> bool:
    """Whether every part of the system can store it."""
    return not clean_text(text)[1]
