"""Arguments of a tool, declared once: a frozen dataclass whose fields are made with `argument`.

The JSON Schema a model is shown and the check of what it wrote come from the same fields. What a model wrote is JSON
text that may be anything; what is wrong with it is said so that the model can write it better.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_type_hints

from palimpsest.domain import foreign_json
from palimpsest.domain.errors import InvalidRequest

_T = TypeVar("_T")
_TYPES: Final = {str: "string", int: "integer", bool: "boolean"}
_NAMES: Final = {str: "a string", int: "an integer", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class _Rules:
    description: str
    at_least: int | None
    at_most: int | None

    def problem_of(self, value: int) -> str | None:
        if self.at_least is not None and value < self.at_least:
            return f"must be at least {self.at_least}"
        if self.at_most is not None and value > self.at_most:
            return f"must be at most {self.at_most}"
        return None


def argument(
    description: str, *, default: object = MISSING, at_least: int | None = None, at_most: int | None = None
) -> Any:
    """A field of a class of arguments: a str, int or bool, or one of them or None. Without a default it is required."""
    metadata = {"rules": _Rules(description, at_least, at_most)}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


@functools.cache
def schema_of(arguments: type) -> Mapping[str, Any]:
    """The JSON Schema of a class of arguments. Every turn asks for it, so it is made once; nobody may change it."""
    properties: dict[str, Any] = {}
    types = _types_of(arguments)
    for each in fields(arguments):
        rules: _Rules = each.metadata["rules"]
        declared: dict[str, Any] = {"type": _TYPES[types[each.name]], "description": rules.description}
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
    """What a model wrote, as its class of arguments. InvalidRequest says what is wrong with it.

    No text at all means no arguments, and null an absent one: models write both.
    """
    written = read_object(text)
    types = _types_of(arguments)
    unknown = [name for name in written if name not in types]
    if unknown:
        raise InvalidRequest(f"There is no argument {unknown[0][:50]!r}. Known arguments: {', '.join(types)}.")
    values: dict[str, Any] = {}
    for each in fields(arguments):  # type: ignore[arg-type]  # whoever declares arguments passes a dataclass
        value = written.get(each.name)
        if value is None:
            if each.default is MISSING:
                raise InvalidRequest(f"The argument {each.name!r} is missing.")
            continue
        values[each.name] = _checked(each.name, types[each.name], each.metadata["rules"], value)
    return arguments(**values)


def _checked(name: str, wanted: type, rules: _Rules, value: object) -> object:
    if wanted is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not wanted:
        raise InvalidRequest(f"The argument {name!r} must be {_NAMES[wanted]}.")
    if isinstance(value, int) and (problem := rules.problem_of(value)):
        raise InvalidRequest(f"The argument {name!r} {problem}.")
    return value


def read_object(text: str) -> dict[str, object]:
    """The arguments that a model wrote, by name. InvalidRequest says what is wrong with them."""
    try:
        return foreign_json.read_object(text)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None


def _types_of(arguments: type) -> dict[str, type]:
    return {name: _plain(hint) for name, hint in get_type_hints(arguments).items()}


def _plain(hint: Any) -> type:
    """The type of a value, where a field may also be None."""
    plain: type = next((each for each in get_args(hint) if each is not NoneType), hint)
    return plain
