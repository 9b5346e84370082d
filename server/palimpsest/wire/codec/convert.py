"""Conversion between `Wire` classes and JSON values: `from_json`, `to_json`, and `teach` for an existing cattrs
converter.

Reading is strict (`palimpsest.values`), because a lenient reader turns a caller's mistake into wrong content in the
history. Two deviations are accepted on purpose: undeclared fields (a newer peer may send them), and null for an
optional field (the same as leaving it out). Writing leaves out only optional fields that are None.

A lone surrogate, which JSON can escape but no file, store or request can hold, is refused in ids, paths and names. Text
written by people and models may contain one (`PROSE`), so that the message is not lost; the services clean it and note
that. A value without a declared shape (`Any`) must be one that every peer can hold: no infinity, no integer beyond
`MAX_SAFE_INTEGER`, and at most `MAX_DEPTH` levels.
"""

from __future__ import annotations

import functools
import typing
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from palimpsest import values
from palimpsest.wire.declare import Wire, WireField, wire_fields

if TYPE_CHECKING:
    from cattrs import Converter

MAX_DEPTH: Final = 64
"""The most levels of objects and arrays in a value without a declared shape."""
PROSE: Final = frozenset(("text", "title", "message", "query", "content", "jsonl", "arguments"))
"""The names of fields whose text is written by people and models."""


def from_json(value: Any, hint: Any) -> Any:
    """The value of type `hint` that the JSON `value` encodes. Raises `Mismatch` when it does not fit, and TypeError
    when a field of a `Wire` class may not have that annotation."""
    return _TYPES.of(hint).read(value)


def to_json(value: Any) -> Any:
    """The value as plain JSON values (dicts, lists, strings, numbers, booleans, None). Raises TypeError for other
    types.

    Tuples become lists, enums their values. NaN and infinities pass: the JSON encoder refuses them.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Wire):
        found: dict[str, Any] = {}
        for field in wire_fields(type(value)):
            item = getattr(value, field.name)
            if item is not None or not field.is_optional:
                found[field.key] = to_json(item)
        return found
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {_to_key(key): to_json(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} cannot be sent.")


def teach(converter: Converter) -> None:
    """Makes `converter` read and write `Wire` classes by these rules, at any depth of its own values."""
    converter.register_structure_hook_factory(_is_wire, lambda cls: lambda value, _: from_json(value, cls))
    converter.register_unstructure_hook_factory(_is_wire, lambda _: to_json)


def _is_wire(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Wire)


def _to_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError("A key of an object on the wire is a string.")
    return str(key.value) if isinstance(key, Enum) else key


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_WHOLE: Final = values.checked(values.STRING, _is_whole, "whole characters", "half of one (a lone surrogate)")


def _read_any(depth: int, value: Any) -> Any:
    match value:
        case list() | dict() if not depth:
            raise values.wrong(f"at most {MAX_DEPTH} objects and arrays inside each other", "more")
        case list():
            for item in value:
                _read_any(depth - 1, item)
        case dict():
            for key, item in value.items():
                _WHOLE.read(key)
                _read_any(depth - 1, item)
        case _:
            return _read_plain(value)
    return value


def _read_plain(value: Any) -> Any:
    if type(value) not in _PLAIN:
        raise values.unexpected("a JSON value", value)
    return _PLAIN[type(value)].read(value)


def _fields(readers: values.Types, kind: type[Wire]) -> list[values.Field]:
    return [_field(each, readers.of(each.hint)) for each in wire_fields(kind)]


def _field(declared: WireField, reader: values.Reader) -> values.Field:
    if declared.key in PROSE:
        reader = _PROSE.get(typing.get_origin(declared.hint) or declared.hint, reader)
    if declared.is_optional:
        reader = values.or_null(reader)
    return values.Field(declared.key, declared.name, reader, is_required=not declared.is_optional)


_PLAIN: Final = {str: _WHOLE, bool: values.BOOLEAN, int: values.INTEGER, float: values.NUMBER, type(None): values.NULL}
_PROSE: Final[dict[Any, values.Reader]] = {str: values.STRING, dict: values.OBJECT}
_ANYTHING: Final = values.Reader(functools.partial(_read_any, MAX_DEPTH), "anything", values.EVERY_TYPE)
_TYPES: Final = values.Types({**_PLAIN, None: values.NULL, Any: _ANYTHING}, _fields, is_object=_is_wire, is_open=True)
