"""Between `Wire` classes and JSON values: `from_json`, `to_json`, and `teach` for a cattrs converter that exists.

Reading is strict, because a lenient reader turns a caller's mistake into wrong content in the history: a string is a
string, `true` is not 1, `1.5` is not 1, an object is not an array. Three things are let through on purpose: fields
nobody declared (a newer peer may send them), null for an optional field (the same as leaving it out), and `[]` for an
object (the way Lua writes an empty table). Writing leaves out an optional field that is None, and nothing else.

Text that is no text is refused: half of a character (a lone surrogate, which JSON can escape and no file, store or
request can hold) stands in no id, path or name. What people and models wrote may hold one (`PROSE`), because a message
is not lost for it; the services clean it and note that. A value nobody declared the shape of (`Any`) is what every
peer can hold: no infinity, no integer beyond `MAX_SAFE_INTEGER`, and at most `MAX_DEPTH` deep.

What is wrong is said with its place, as `params.turns[3].text: expected a string, got null`, and never with a value:
a value may be what the user typed, and these sentences end up in logs and in error data.
"""

from __future__ import annotations

import functools
import math
import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, cast

from palimpsest.wire.declare import Wire, wire_fields

if TYPE_CHECKING:
    from cattrs import Converter

MAX_PROBLEMS = 20
"""Places named in one error: an array of a thousand wrong items needs no thousand sentences."""
MAX_SAFE_INTEGER = 2**53 - 1
"""What every peer can hold: JavaScript and Lua read JSON numbers as doubles."""

MAX_DEPTH = 64
"""Objects and arrays inside each other, in a value of no declared shape."""
PROSE = frozenset(("text", "title", "message", "query", "content", "jsonl", "arguments"))
"""Fields of strings that people and models wrote."""

_HALF = "expected whole characters, got half of one (a lone surrogate)"

_ProseText = typing.NewType("_ProseText", str)
_ProseObject = typing.NewType("_ProseObject", dict[str, Any])
_Reader = Callable[[Any], Any]

_NAMES: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


class WireError(ValueError):
    """A JSON value is not what its declaration says."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems[:MAX_PROBLEMS]
        """Pairs of place (`.turns[3].text`, empty for the value itself) and what is wrong there."""
        super().__init__(", ".join(self.sentences("value")))

    def sentences(self, root: str) -> list[str]:
        """One line a problem; `root` is what the outermost value is called."""
        return [f"{root}{place}: {what}" for place, what in self.problems]


def from_json(value: Any, hint: Any) -> Any:
    """The value of the annotation `hint` that `value` stands for; WireError when it does not fit.

    `hint` may be anything a field of a `Wire` class may be.
    """
    return _reader(hint)(value)


def to_json(value: Any) -> Any:
    """Plain JSON values (dicts, lists, strings, numbers, booleans, None); TypeError names a type that has no such form.

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
    raise TypeError(f"{type(value).__name__} has no form on the wire.")


def teach(converter: Converter) -> None:
    """Make `converter` read and write `Wire` classes by these rules, wherever they stand in its own values."""
    converter.register_structure_hook_factory(_is_wire, lambda cls: lambda value, _: from_json(value, cls))
    converter.register_unstructure_hook_factory(_is_wire, lambda _: to_json)


def _is_wire(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Wire)


def _to_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError("A key of an object on the wire is a string.")
    return str(key.value) if isinstance(key, Enum) else key


def _name_of(value: Any) -> str:
    return _NAMES.get(type(value), type(value).__name__)


def _unexpected(expected: str, value: Any) -> WireError:
    return WireError([("", f"expected {expected}, got {_name_of(value)}")])


def _expectation(hint: Any) -> str:
    """What a hint asks for, as the object of "expected"."""
    origin = typing.get_origin(hint)
    if hint is Any:
        return "anything"
    if origin is Literal:
        return _one_of(typing.get_args(hint))
    if origin in (types.UnionType, typing.Union):
        *head, last = (_expectation(part) for part in typing.get_args(hint))
        return f"{', '.join(head)} or {last}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _one_of(tuple(member.value for member in hint))
    if origin in (list, tuple) or hint in (list, tuple):
        return "an array"
    return _NAMES.get(hint, "an object")


def _one_of(values: tuple[Any, ...]) -> str:
    return ("one of " if len(values) > 1 else "") + ", ".join(f'"{value}"' for value in values)


@functools.cache
def _reader(hint: Any) -> _Reader:
    """How to read a value of one annotation. TypeError: the annotation has no form on the wire."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return functools.partial(_read_any, MAX_DEPTH)
    if hint is None or hint is type(None):
        return functools.partial(_read_exactly, type(None))
    if hint is str:
        return _read_whole_text
    if hint is _ProseText:
        return functools.partial(_read_exactly, str)
    if hint is _ProseObject:
        return _object
    if hint is bool:
        return functools.partial(_read_exactly, hint)
    if hint is int:
        return _read_int
    if hint is float:
        return _read_float
    if hint is dict or origin is dict:
        return functools.partial(_read_dict, args[1] if args else Any)
    if hint is list or origin is list:
        return functools.partial(_read_list, args[0] if args else Any)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return lambda value: tuple(_read_list(args[0], value))
    if origin is Literal and all(isinstance(arg, str) for arg in args):
        return functools.partial(_read_one_of, {arg: arg for arg in args})
    if origin in (types.UnionType, typing.Union):
        return functools.partial(_read_union, hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return functools.partial(_read_one_of, {member.value: member for member in hint})
    if _is_wire(hint):
        return functools.partial(_read_wire, hint)
    raise TypeError(f"{hint!r} has no form on the wire.")


def _read_exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise _unexpected(_NAMES[kind], value)
    return value


def _read_whole_text(value: Any) -> str:
    text = cast(str, _read_exactly(str, value))
    if _is_half(text):
        raise WireError([("", _HALF)])
    return text


def _is_half(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _read_any(depth: int, value: Any) -> Any:
    match value:
        case str():
            return _read_whole_text(value)
        case bool() | None:
            return value
        case int():
            return _read_int(value)
        case float():
            return _read_float(value)
        case list() | dict() if not depth:
            raise WireError([("", "is nested too deeply")])
        case list():
            for item in value:
                _read_any(depth - 1, item)
        case dict():
            for key, item in value.items():
                _read_whole_text(key)
                _read_any(depth - 1, item)
    return value


def _read_int(value: Any) -> int:
    number = cast(int, _read_exactly(int, value))
    if abs(number) > MAX_SAFE_INTEGER:
        raise WireError([("", "expected an integer between -(2^53 - 1) and 2^53 - 1")])
    return number


def _read_float(value: Any) -> float:
    if type(value) is int and abs(value) <= MAX_SAFE_INTEGER:
        return float(value)
    if type(value) is not float or not math.isfinite(value):
        raise _unexpected("a finite number", value)
    return value


def _read_one_of(values: dict[Any, Any], value: Any) -> Any:
    if type(value) is not str:
        raise _unexpected(_one_of(tuple(values)), value)
    if value not in values:
        raise WireError([("", f"expected {_one_of(tuple(values))}, got another string")])
    return values[value]


def _read_list(item_hint: Any, value: Any) -> list[Any]:
    if type(value) is not list:
        raise _unexpected("an array", value)
    return [item for _, item in _read_all((f"[{at}]", item_hint, item) for at, item in enumerate(value))]


def _read_dict(item_hint: Any, value: Any) -> dict[str, Any]:
    given = _object(value)
    if any(_is_half(key) for key in given):
        raise WireError([("", _HALF)])
    found = _read_all((".*", item_hint, item) for item in given.values())  # a key may be content: it is not named
    return {key: item for key, (_, item) in zip(given, found, strict=True)}


def _read_wire(cls: type[Wire], value: Any) -> Wire:
    given = _object(value)
    names: dict[str, str] = {}
    wanted: list[tuple[str, Any, Any]] = []
    missing: list[tuple[str, str]] = []
    for field in wire_fields(cls):
        place = f".{field.key}"
        names[place] = field.name
        if given.get(field.key) is not None or (field.key in given and not field.is_optional):
            wanted.append((place, _prose_hint(field.hint) if field.key in PROSE else field.hint, given[field.key]))
        elif not field.is_optional:
            missing.append((place, "is missing"))
    try:
        found = _read_all(wanted)
    except WireError as error:
        raise WireError(missing + error.problems) from None
    if missing:
        raise WireError(missing)
    return cls(**{names[place]: item for place, item in found})


def _prose_hint(hint: Any) -> Any:
    """The hint with strings that may hold half a character."""
    if hint is str:
        return _ProseText
    return _ProseObject if typing.get_origin(hint) is dict else hint


def _read_union(hint: Any, value: Any) -> Any:
    members = [member for member in typing.get_args(hint) if type(value) in _json_types(member)]
    if isinstance(value, dict) and len(members) > 1:
        members = _by_tag(members, value) or members
    failures: list[WireError] = []
    for member in members:
        try:
            return from_json(value, member)
        except WireError as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    raise _unexpected(_expectation(hint), value)


def _by_tag(members: list[Any], value: dict[str, Any]) -> list[Any]:
    """The members one of whose `Literal` fields is what `value` says: its problems are then named, not everyone's."""
    return [
        member
        for member in members
        if _is_wire(member)
        and any(
            typing.get_origin(field.hint) is Literal and value.get(field.key) in typing.get_args(field.hint)
            for field in wire_fields(member)
            if isinstance(value.get(field.key), str)
        )
    ]


def _json_types(member: Any) -> tuple[type, ...]:
    """The types of JSON values that a member of a union can stand for."""
    if member is Any:
        return tuple(_NAMES)
    origin = typing.get_origin(member) or member
    if origin is Literal or (isinstance(origin, type) and issubclass(origin, Enum)):
        return (str,)
    if origin is float:
        return (int, float)
    if origin in (list, tuple):
        return (list,)
    return (origin,) if origin in _NAMES and origin is not dict else (dict, list)


def _object(value: Any) -> dict[str, Any]:
    if value == []:
        return {}
    if type(value) is not dict:
        raise _unexpected("an object", value)
    return value


def _read_all(items: typing.Iterable[tuple[str, Any, Any]]) -> list[tuple[str, Any]]:
    """Read (place, hint, value) after each other; every one that is wrong is named, not only the first."""
    found: list[tuple[str, Any]] = []
    problems: list[tuple[str, str]] = []
    for place, hint, value in items:
        try:
            found.append((place, from_json(value, hint)))
        except WireError as error:
            problems += ((place + deeper, what) for deeper, what in error.problems)
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise WireError(problems)
    return found
