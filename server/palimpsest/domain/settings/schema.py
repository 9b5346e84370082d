"""What a setting is, and what may be its value. Which settings there are stands in `settings`."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, TypeGuard

from palimpsest.domain.errors import InvalidRequest

NAME: Final = "NAME"
"""In a key: stands for the name of a model or of a provider."""
_LARGEST: Final = 10**12
"""No whole number above that is meant; TOML has no limit of its own."""


class Kind(StrEnum):
    """What a value is. The names are those of JSON schema."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    LIST = "array"
    """Of strings, none twice; its order counts. A tuple once it is loaded."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of a number, or of how many items a list has; None: unbounded."""

    above: int | None = None
    at_least: int | None = None
    at_most: int | None = None

    def hold(self, value: float) -> bool:
        """Never for NaN where there is a bound."""
        return (
            (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
        )

    def describe(self) -> str:
        """Begins with a space unless it is empty: `" above 0 and at most 1"`."""
        named = (("above", self.above), ("of at least", self.at_least), ("at most", self.at_most))
        words = " and ".join(f"{name} {value}" for name, value in named if value is not None)
        return f" {words}" if words else ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table."""

    key: str
    """Dotted, as in a file; `NAME` stands for the name of a model or provider."""
    owner: type
    """The dataclass that holds the value."""
    attribute: str
    """Its field there."""
    kind: Kind
    choices: tuple[str, ...]
    """Of a string, or of a list's items; empty: any."""
    default: Any
    """None where unset means something of its own, which the documentation says."""
    bounds: Bounds
    may_project_set: bool
    """Whether the file of a project counts, which the user has not written."""

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))

    @property
    def variable(self) -> str | None:
        """The environment variable; None for settings of a named model or provider."""
        return None if NAME in self.path else "PALIMPSEST_" + self.key.upper().replace(".", "_")

    def describe_allowed(self) -> str:
        """What a value may be, to stand behind "must be"."""
        choices = " or ".join(f'"{choice}"' for choice in self.choices)
        match self.kind:
            case Kind.BOOLEAN:
                return "true or false"
            case Kind.INTEGER:
                return f"a whole number{self.bounds.describe()}"
            case Kind.NUMBER:
                return f"a number{self.bounds.describe()}"
            case Kind.STRING:
                return choices or "a text of one line"
            case Kind.LIST:
                least = f"at least {self.bounds.at_least} of " if self.bounds.at_least else ""
                return f"a list of {least}{choices or 'names'}, none twice"
            case _:
                typing.assert_never(self.kind)

    def allows(self, value: object) -> bool:
        """Whether a loaded value (a list is a tuple by then) is of the type and in the range. No bool is a number."""
        match self.kind:
            case Kind.BOOLEAN:
                return isinstance(value, bool)
            case Kind.INTEGER:
                return _is_whole(value) and value <= _LARGEST and self.bounds.hold(value)
            case Kind.NUMBER:
                return (_is_whole(value) or isinstance(value, float)) and self.bounds.hold(value)
            case Kind.STRING:
                return self._allows_text(value)
            case Kind.LIST:
                return (
                    isinstance(value, tuple)
                    and all(self._allows_text(item) for item in value)
                    and len(set(value)) == len(value)
                    and self.bounds.hold(len(value))
                )
            case _:
                typing.assert_never(self.kind)

    def _allows_text(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        return value in self.choices if self.choices else value.isprintable() and bool(value.strip())

    def problem(self, name: str, value: object) -> str | None:
        """The sentence about a value that is not allowed, under the name its writer knows it by; None when it is."""
        if self.allows(value):
            return None
        return f"{name} must be {self.describe_allowed()}, but is {self._shown(value)}."

    def _shown(self, value: object) -> str:
        """Free text is not shown: it could be anything, and errors end up in logs."""
        match value:
            case bool():
                return str(value).lower()
            case int() if abs(value) > _LARGEST:
                return "far from it"  # Python refuses to write out very large ones
            case int() | float():
                return str(value)
            case str() if self.kind is not Kind.STRING or self.choices:
                return repr(value[:40])
            case str():
                return "another text" if value else "empty"
            case tuple() | list():
                return "a list" if self.kind is not Kind.LIST else "another list"
            case Mapping():
                return "a table"
        return "something else"


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def declare(
    key: str,
    default: Any = None,
    *,
    above: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    may_project_set: bool = False,
) -> Any:
    """Declares a field as a setting: `attribute: T = declare("a.key", its_default)`."""
    bounds = Bounds(above, at_least, at_most)
    return field(default=default, metadata={"key": key, "bounds": bounds, "may_project_set": may_project_set})


def settings_of(owner: type) -> tuple[Setting, ...]:
    """The settings that one of the classes below holds itself, in their order."""
    hints = typing.get_type_hints(owner)
    return tuple(_read(owner, f, hints[f.name]) for f in dataclasses.fields(owner) if "key" in f.metadata)


def _read(owner: type, declared: dataclasses.Field[Any], hint: Any) -> Setting:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    is_list = typing.get_origin(hint) is tuple
    if is_list:
        hint = typing.get_args(hint)[0]
    choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
    kinds = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.NUMBER, str: Kind.STRING}
    kind = Kind.LIST if is_list else Kind.STRING if choices else kinds[hint]
    metadata = declared.metadata
    return Setting(
        metadata["key"],
        owner,
        declared.name,
        kind,
        choices,
        declared.default,
        metadata["bounds"],
        metadata["may_project_set"],
    )


def check(settings: Any, *problems: str) -> None:
    """Raises InvalidRequest with every sentence about a value out of its range, and with the `problems` given."""
    found: list[str] = []
    for setting in settings_of(type(settings)):
        value = getattr(settings, setting.attribute)
        is_unset = value is None and setting.default is None
        if not is_unset and (problem := setting.problem(setting.key, value)):
            found.append(problem)
    if found or problems:
        raise InvalidRequest(" ".join((*found, *problems)))
