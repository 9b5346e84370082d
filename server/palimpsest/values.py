"""Read a JSON value as the type that it is declared to be.

A `Reader` reads values of one type, and `Types` finds the reader of an annotation. Users of this module say what their
texts and numbers may be and which classes are objects; the rest is read here, for the protocol, the settings, the
arguments of tools and the files of conversations.

Reading is strict: `true` is not 1, and `1.5` is not 1. `[]` also stands for an empty object, because Lua writes an
empty table so. A `Mismatch` names places, what was expected there and the kind of value that was found, and never a
value, which may be what a person typed.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

MAX_PROBLEMS: Final = 20
"""Problems in one `Mismatch`: a list of a thousand wrong items needs no thousand sentences."""
MAX_SAFE_INTEGER: Final = 2**53 - 1
"""What every JSON reader can hold: JavaScript and Lua read numbers as doubles."""
NOTHING: Final = "nothing"
"""What was expected where a field is unknown, and what was found where one is missing."""

_KINDS: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


class Problem(NamedTuple):
    """One place where a value is not what its type says."""

    path: tuple[str | int, ...]
    """Keys of fields and positions in lists, the outermost first; `*` for an item of a mapping, whose key may be what
    a person typed. Empty for the value itself. The key of an unknown field comes from the value."""
    expected: str
    """A noun with its article, such as `a string` or `one of "a", "b"`."""
    got: str
    """The kind of the value, such as `null` or `another string`; empty where it says nothing."""

    def sentence(self, root: str) -> str:
        """The problem as `params.turns[3].text: expected a string, got null`; `root` names the outermost value."""
        place = root + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        if self.got == NOTHING:
            return f"{place}: is missing"
        return f"{place}: expected {self.expected}" + (f", got {self.got}" if self.got else "")


class Mismatch(ValueError):
    """A value is not of its declared type."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)[:MAX_PROBLEMS]
        """At least one; those of an object's missing and unknown fields first."""
        super().__init__(*self.problems)

    def __str__(self) -> str:
        return ", ".join(self.sentences("value"))

    def sentences(self, root: str) -> list[str]:
        """One line for each problem; `root` names the outermost value."""
        return [problem.sentence(root) for problem in self.problems]

    def below(self, part: str | int) -> list[Problem]:
        """The problems, seen from the object or list that holds the value at `part`."""
        return [Problem((part, *each.path), each.expected, each.got) for each in self.problems]


class Reader(NamedTuple):
    """How values of one type are read."""

    read: Callable[[Any], Any]
    """Returns the typed value of a JSON value. Raises `Mismatch`."""
    expected: str
    """The type in words, as in `Problem`."""
    takes: frozenset[type]
    """The types of the JSON values that it may accept: by them a union chooses among its members."""
    words: tuple[str, ...] = ()
    """The only strings that it accepts; empty: not a type of a few words."""
    fields: Callable[[], Sequence[Field]] = tuple
    """The declared fields of an object."""


class Field(NamedTuple):
    """One field of an object."""

    key: str
    """Its name in JSON."""
    name: str
    """Its name in Python."""
    reader: Reader
    is_required: bool


def wrong(expected: str, got: str = "") -> Mismatch:
    """The error that a reader raises; see `Problem`."""
    return Mismatch([Problem((), expected, got)])


def unexpected(expected: str, value: object) -> Mismatch:
    """The error for a value of a wrong kind."""
    return wrong(expected, _KINDS.get(type(value), type(value).__name__))


def exactly(kind: type, expected: str = "") -> Reader:
    """Values of one JSON type, as they are."""
    said = expected or _KINDS[kind]

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise unexpected(said, value)
        return value

    return Reader(read, said, frozenset({kind}))


def checked(reader: Reader, holds: Callable[[Any], object], expected: str, got: str = "") -> Reader:
    """What `reader` reads, if `holds` is true of it; otherwise the problem says `expected` and `got`."""

    def read(value: Any) -> Any:
        found = reader.read(value)
        if not holds(found):
            raise wrong(expected, got)
        return found

    return reader._replace(read=read)


def or_null(reader: Reader) -> Reader:
    """What `reader` reads; null is None."""
    return reader._replace(read=lambda value: None if value is None else reader.read(value))


def one_of(values: Mapping[str, Any]) -> Reader:
    """The value of one of a few words."""
    words = tuple(values)
    expected = ("one of " if len(words) > 1 else "") + ", ".join(f'"{word}"' for word in words)

    def read(value: Any) -> Any:
        if type(value) is not str:
            raise unexpected(expected, value)
        if value not in values:
            raise wrong(expected, "another string")
        return values[value]

    return Reader(read, expected, frozenset({str}), words)


def sequence(item: Reader, make: Callable[[list[Any]], Any] = list) -> Reader:
    """An array of any length, as `make` makes it of a list."""

    def read(value: Any) -> Any:
        return make(_each(((at, item, each) for at, each in enumerate(_ARRAY.read(value))), []))

    return Reader(read, "an array", _ARRAY.takes)


def fixed(*items: Reader) -> Reader:
    """A tuple with one item for each reader."""

    def read(value: Any) -> Any:
        if len(_ARRAY.read(value)) != len(items):
            raise wrong(f"an array of {len(items)}", "another array")
        return tuple(_each(zip(range(len(items)), items, value, strict=True), []))

    return Reader(read, "an array", _ARRAY.takes)


def mapping(item: Reader, key: Reader) -> Reader:
    """A dict with keys of the object's own choice."""

    def read(value: Any) -> dict[str, Any]:
        given = _to_object(value)
        keys = [key.read(each) for each in given]
        return dict(zip(keys, _each((("*", item, each) for each in given.values()), []), strict=True))

    return Reader(read, "an object", OBJECT.takes)


def record(make: Callable[..., Any], fields: Callable[[], Sequence[Field]], *, is_open: bool) -> Reader:
    """An object with declared fields, as `make` makes it of them by name. `fields` is called when it is first needed,
    so a class may hold itself. Unknown fields are ignored where `is_open`, and a problem otherwise."""
    known: dict[str, Field] = {}

    def all_fields() -> Sequence[Field]:
        if not known:
            known.update((field.key, field) for field in fields())
        return tuple(known.values())

    def read(value: Any) -> Any:
        given, declared = _to_object(value), all_fields()
        problems = [] if is_open else [Problem((key,), NOTHING, "a value") for key in given if key not in known]
        problems += [
            Problem((field.key,), field.reader.expected, NOTHING)
            for field in declared
            if field.is_required and field.key not in given
        ]
        present = [field for field in declared if field.key in given]
        found = _each(((field.key, field.reader, given[field.key]) for field in present), problems)
        return make(**{field.name: item for field, item in zip(present, found, strict=True)})

    return Reader(read, "an object", OBJECT.takes, fields=all_fields)


def union(members: Sequence[Reader]) -> Reader:
    """The first member that accepts the value. Of objects, one of whose words the value holds in a field is asked
    first, so that its problems are named and not those of all."""
    *head, last = (member.expected for member in members)
    expected = f"{', '.join(head)} or {last}"

    def read(value: Any) -> Any:
        able = [member for member in members if type(value) in member.takes]
        if type(value) is dict and len(able) > 1:
            able = [member for member in able if _is_tagged(member, value)] or able
        errors: list[Mismatch] = []
        for member in able:
            try:
                return member.read(value)
            except Mismatch as error:
                errors.append(error)
        raise errors[0] if len(errors) == 1 else unexpected(expected, value)

    return Reader(read, expected, frozenset[type]().union(*(member.takes for member in members)))


def _to_object(value: Any) -> dict[str, Any]:
    if type(value) is dict:
        return value
    if value == []:
        return {}
    raise unexpected("an object", value)


def _is_tagged(member: Reader, value: Mapping[str, Any]) -> bool:
    return any(value.get(field.key) in field.reader.words for field in member.fields())


def _each(items: Iterable[tuple[str | int, Reader, Any]], problems: list[Problem]) -> list[Any]:
    """What is read at each place. Raises `Mismatch` with the `problems` given and those of every place."""
    found: list[Any] = []
    for part, reader, value in items:
        try:
            found.append(reader.read(value))
        except Mismatch as error:
            problems += error.below(part)
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise Mismatch(problems)
    return found


class Types:
    """The readers of annotations, under one set of rules."""

    def __init__(
        self,
        leaves: Mapping[Any, Reader],
        fields: Callable[[Types, Any], Sequence[Field]] | None = None,
        *,
        is_object: Callable[[type], bool] = dataclasses.is_dataclass,
        is_open: bool = False,
    ) -> None:
        """`leaves`: the readers of texts, numbers and whatever else this class does not know, by annotation. `fields`:
        the fields of a class for which `is_object`; None: see `fields_of`. `is_open`: as for `record`."""
        self._readers = dict(leaves)
        self._fields = fields or fields_of
        self._is_object = is_object
        self._is_open = is_open

    def of(self, hint: Any) -> Reader:
        """The reader of an annotation, with its names resolved. Raises TypeError where it has no form in JSON."""
        found = self._readers.get(hint)
        if found is None:
            found = self._readers[hint] = self._make(hint)
        return found

    def _make(self, hint: Any) -> Reader:
        origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        if origin is typing.Literal:
            return one_of({word: word for word in arguments})
        if origin in (types.UnionType, typing.Union):
            return union([self.of(member) for member in arguments])
        if origin is list:
            return sequence(self.of(arguments[0] if arguments else Any))
        if origin is tuple:
            is_fixed = arguments[-1] is not Ellipsis
            return fixed(*map(self.of, arguments)) if is_fixed else sequence(self.of(arguments[0]), tuple)
        if origin is dict:
            return mapping(self.of(arguments[1] if arguments else Any), self.of(str))
        if isinstance(hint, type) and issubclass(hint, Enum):
            return one_of({member.value: member for member in hint})
        if isinstance(hint, type) and self._is_object(hint):
            return record(hint, lambda: self._fields(self, hint), is_open=self._is_open)
        raise TypeError(f"{hint!r} has no form in JSON.")


def without_none(hint: Any) -> Any:
    """The annotation of a field without the None that says that it is absent."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return typing.Union[tuple(part for part in typing.get_args(hint) if part is not type(None))]  # noqa: UP007
    return hint


def fields_of(readers: Types, kind: type) -> list[Field]:
    """The fields of a dataclass: those with a default may be absent, and none may be null."""
    hints = typing.get_type_hints(kind)
    return [
        Field(each.name, each.name, readers.of(without_none(hints[each.name])), each.default is dataclasses.MISSING)
        for each in dataclasses.fields(kind)
    ]


def _to_integer(value: Any) -> int:
    if type(value) is not int:
        raise unexpected("an integer", value)
    if abs(value) > MAX_SAFE_INTEGER:
        raise wrong("an integer between -(2^53 - 1) and 2^53 - 1")
    return value


def _to_number(value: Any) -> float:
    if type(value) is int and abs(value) <= MAX_SAFE_INTEGER:
        return float(value)
    if type(value) is not float or not math.isfinite(value):
        raise unexpected("a finite number", value)
    return value


NULL: Final = exactly(type(None))
BOOLEAN: Final = exactly(bool)
STRING: Final = exactly(str)
_ARRAY: Final = exactly(list)
OBJECT: Final = Reader(_to_object, "an object", frozenset({dict, list}))
"""An object of any fields."""
INTEGER: Final = Reader(_to_integer, "an integer", frozenset({int}))
"""An integer that every JSON reader can hold."""
NUMBER: Final = Reader(_to_number, "a number", frozenset({int, float}))
"""A finite number, as a float."""
EVERY_TYPE: Final = frozenset(_KINDS)
