"""The arguments of a tool, declared once: a frozen dataclass whose fields are made with `argument`.

The JSON Schema for the model and the check of the model's arguments come from the same fields. A model may write any
text; an error says how to write it correctly.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Final, TypeVar

from palimpsest import values
from palimpsest.domain import foreign_json
from palimpsest.domain.errors import InvalidRequest

_T = TypeVar("_T")
_JSON_TYPES: Final = {str: "string", int: "integer", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class _Rules:
    description: str
    at_least: int | None
    at_most: int | None

    def applied_to(self, reader: values.Reader) -> values.Reader:
        if self.at_least is not None:
            reader = values.checked(reader, self.at_least.__le__, f"at least {self.at_least}")
        if self.at_most is not None:
            reader = values.checked(reader, self.at_most.__ge__, f"at most {self.at_most}")
        return reader


def argument(
    description: str, *, default: object = MISSING, at_least: int | None = None, at_most: int | None = None
) -> Any:
    """A field of a class of arguments: a str, int or bool, or one of them or None. Without a default it is required."""
    metadata = {"rules": _Rules(description, at_least, at_most)}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


@functools.cache
def schema_of(arguments: type) -> Mapping[str, Any]:
    """The JSON Schema of a class of arguments. It is made once and shared, so callers must not change it."""
    properties: dict[str, Any] = {}
    for each, read in zip(fields(arguments), values.fields_of(_TYPES, arguments), strict=True):
        rules: _Rules = each.metadata["rules"]
        [kind] = read.reader.takes
        declared: dict[str, Any] = {"type": _JSON_TYPES[kind], "description": rules.description}
        if rules.at_least is not None:
            declared["minimum"] = rules.at_least
        if rules.at_most is not None:
            declared["maximum"] = rules.at_most
        if each.default is not MISSING and each.default is not None:
            declared["default"] = each.default
        properties[each.name] = declared
    required = [each.name for each in fields(arguments) if each.default is MISSING]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def read_arguments(arguments: type[_T], text: str) -> _T:
    """The arguments that a model wrote, as an object of their class. Raises InvalidRequest for wrong ones.

    An empty text means no arguments, and null an absent one: models write both.
    """
    reader = _TYPES.of(arguments)
    known = [each.key for each in reader.fields()]
    written = {name: value for name, value in read_object(text).items() if value is not None or name not in known}
    try:
        found: _T = reader.read(written)
    except values.Mismatch as error:
        raise InvalidRequest(_sentence(error.problems[0], known)) from None
    return found


def _sentence(problem: values.Problem, known: Iterable[str]) -> str:
    name = str(problem.path[0])
    if problem.expected == values.NOTHING:
        return f"There is no argument {name[:50]!r}. Known arguments: {', '.join(known)}."
    if problem.got == values.NOTHING:
        return f"The argument {name!r} is missing."
    return f"The argument {name!r} must be {problem.expected}."


def read_object(text: str) -> dict[str, object]:
    """The arguments that a model wrote, by name. Raises InvalidRequest for what is not a JSON object."""
    try:
        return foreign_json.read_object(text)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None


def _fields(readers: values.Types, kind: type) -> list[values.Field]:
    """The fields of a class of arguments, each checked by its rules."""
    rules: dict[str, _Rules] = {each.name: each.metadata["rules"] for each in fields(kind)}
    return [each._replace(reader=rules[each.name].applied_to(each.reader)) for each in values.fields_of(readers, kind)]


def _to_integer(value: object) -> object:
    """Some models write `3.0`."""
    return values.INTEGER.read(int(value) if isinstance(value, float) and value.is_integer() else value)


_WHOLE: Final = values.INTEGER._replace(read=_to_integer)
_TYPES: Final = values.Types({str: values.STRING, int: _WHOLE, bool: values.exactly(bool, "true or false")}, _fields)
