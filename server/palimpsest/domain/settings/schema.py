"""The declaration of a setting and the check of its value. `settings` has the table of all settings."""

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
"""The placeholder in a key for the name of a model or of a provider."""
_LARGEST: Final = 10**12
"""The largest whole number; TOML has no limit of its own."""


class Kind(StrEnum):
    """The kind of a value, by its name in JSON Schema."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    LIST = "array"
    """An ordered list of distinct strings. A tuple once it is loaded."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of a number, or of the length of a list; None is unbounded."""

    above: int | None = None
    at_least: int | None = None
    at_most: int | None = None

    def hold(self, value: float) -> bool:
        """Whether the number is in the range. NaN is in no bounded range."""
        return (
            (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
        )

    def describe(self) -> str:
        """The range in words, beginning with a space unless empty: `" above 0 and at most 1"`."""
        named = (("above", self.above), ("of at least", self.at_least), ("at most", self.at_most))
        words = " and ".join(f"{name} {value}" for name, value in named if value is not None)
        return f" {words}" if words else ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table of settings."""

    key: str
    """The dotted key; `NAME` stands for the name of a model or provider."""
    owner: type
    """The dataclass with the value."""
    attribute: str
    """The field in that class."""
    kind: Kind
    reader: values.Reader
    """Reads a value of a file; its `expected` completes the sentence "must be …"."""
    choices: tuple[str, ...]
    """The allowed values of a string, or of a list's items; empty for any."""
    default: Any
    """None when an unset value has a meaning of its own, which the documentation says."""
    bounds: Bounds
    may_project_set: bool
    """Whether a project's file may set it: the user has not written that file."""
    may_editor_set: bool
    """Whether an editor may set it: some editors take settings from files of the workspace, too."""

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))

    @property
    def variable(self) -> str | None:
        """The environment variable; None for a setting of a named model or provider."""
        return None if NAME in self.path else "PALIMPSEST_" + self.key.upper().replace(".", "_")

    def read(self, name: str, value: object) -> Any:
        """The checked value as the program uses it. Raises InvalidRequest; `name` is the user's name of the setting."""
        try:
            return self.reader.read(
                list(value) if isinstance(value, tuple) else value
            )  # a tuple comes from an earlier load
        except values.Mismatch:
            raise InvalidRequest(f"{name} must be {self.reader.expected}, but is {self._shown(value)}.") from None

    def _shown(self, value: object) -> str:
        """The value for an error, without free text: it could be anything, and errors end up in logs."""
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
    may_editor_set: bool = True,
) -> Any:
    """Declare a field as a setting: `attribute: T = declare("a.key", its_default)`."""
    bounds = Bounds(above, at_least, at_most)
    may = {"may_project_set": may_project_set, "may_editor_set": may_editor_set}
    return field(default=default, metadata={"key": key, "bounds": bounds, **may})


def settings_of(owner: type) -> tuple[Setting, ...]:
    """The settings in one class, in order. Each class is read once, because that takes a millisecond."""
    if owner not in _READ:
        hints = typing.get_type_hints(owner)
        _READ[owner] = tuple(_read(owner, f, hints[f.name]) for f in dataclasses.fields(owner) if "key" in f.metadata)
    return _READ[owner]


_READ: Final = dict[type, tuple[Setting, ...]]()


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
        metadata["may_editor_set"],
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
    """Raises InvalidRequest with a sentence for every value out of its range, and with the given `problems`."""
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
