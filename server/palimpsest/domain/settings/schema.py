"""What a setting is, and what may be its value. Which settings there are stands in `settings`."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from palimpsest import values
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
    reader: values.Reader
    """Reads a value as it stands in a file; what it expects stands behind "must be"."""
    choices: tuple[str, ...]
    """The values of a string, or of a list's items; empty: any."""
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

    def read(self, name: str, value: object) -> Any:
        """The value as the program uses it. Raises InvalidRequest with a sentence under the name that the user knows
        it by."""
        try:
            return self.reader.read(list(value) if isinstance(value, tuple) else value)  # a tuple was loaded before
        except values.Mismatch:
            raise InvalidRequest(f"{name} must be {self.reader.expected}, but is {self._shown(value)}.") from None

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
    metadata, hint = declared.metadata, values.without_none(hint)
    bounds: Bounds = metadata["bounds"]
    is_list = typing.get_origin(hint) is tuple
    kind = Kind.LIST if is_list else _KINDS.get(hint, Kind.STRING)
    item = _TYPES.of(typing.get_args(hint)[0] if is_list else hint)
    choices = " or ".join(f'"{word}"' for word in item.words)
    if is_list:
        least = f"at least {bounds.at_least} of " if bounds.at_least else ""
        expected = f"a list of {least}{choices or 'names'}, none twice"
        reader = values.checked(
            values.sequence(item, tuple), lambda all_: bounds.hold(len(all_)) and len({*all_}) == len(all_), expected
        )
    else:
        expected = choices or f"{item.expected}{bounds.describe()}"
        reader = values.checked(item, bounds.hold, expected)
    return Setting(
        metadata["key"],
        owner,
        declared.name,
        kind,
        reader._replace(expected=expected),
        item.words,
        declared.default,
        bounds,
        metadata["may_project_set"],
    )


_KINDS: Final = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.NUMBER}
_LINE: Final = values.checked(values.STRING, lambda text: text.isprintable() and text.strip(), "a text of one line")
_WHOLE: Final = values.checked(values.INTEGER, _LARGEST.__ge__, "a whole number")
_TYPES: Final = values.Types(
    {
        bool: values.exactly(bool, "true or false"),
        int: _WHOLE._replace(expected="a whole number"),
        float: values.NUMBER,
        str: _LINE._replace(expected="a text of one line"),
    }
)


def check(settings: Any, *problems: str) -> None:
    """Raises InvalidRequest with every sentence about a value out of its range, and with the `problems` given."""
    found: list[str] = []
    for setting in settings_of(type(settings)):
        value = getattr(settings, setting.attribute)
        if value is None and setting.default is None:
            continue  # unset
        try:
            setting.read(setting.key, value)
        except InvalidRequest as error:
            found.append(str(error))
    if found or problems:
        raise InvalidRequest(" ".join((*found, *problems)))
