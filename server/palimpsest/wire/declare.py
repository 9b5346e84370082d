"""How a custom message is declared: once, in Python, for every language.

A field of a `Wire` class is either required (no default, always on the wire, falsy or not) or optional
(`T | None = None`, absent from the wire when it is None). A required field may still be nullable (`T | None` with
no default): null is then written out. No other default exists, so what a message says never depends on which
side's defaults are newer. `wire_fields` holds the rule; the converter and the generator both read classes through it.

Nothing here knows lsprotocol or pygls: the terminal client speaks the protocol without them.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import attrs


class Wire:
    """Marks an attrs class as a structure of the custom protocol: snake_case here, camelCase on the wire.

    Declared with `@attrs.frozen(eq=False, repr=False)`: comparing is done here, once for all, because attrs would
    compile a method for each class at every start of the server; and what may hold a person's words prints none.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in wire_fields(type(self)))

    __hash__ = None  # type: ignore[assignment]  # some fields are lists


class Direction(StrEnum):
    """Who sends a message; the values are those of the LSP metamodel."""

    CLIENT_TO_SERVER = "clientToServer"
    SERVER_TO_CLIENT = "serverToClient"


@dataclass(frozen=True, slots=True)
class Request:
    """A message that is answered exactly once."""

    method: str
    params: type[Wire]
    result: Any
    """The annotation of the result: a `Wire` class, a list of one, a primitive, `None`."""
    doc: str
    direction: Direction = Direction.CLIENT_TO_SERVER


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that is not answered."""

    method: str
    params: type[Wire]
    doc: str
    direction: Direction = Direction.SERVER_TO_CLIENT


@dataclass(frozen=True, slots=True)
class WireField:
    """One field as the wire knows it."""

    name: str
    """The Python name."""
    key: str
    """The name on the wire."""
    hint: Any
    """The resolved annotation; for an optional field without its `None`."""
    is_optional: bool


_FIELDS: dict[type[Wire], tuple[WireField, ...]] = {}
"""What `wire_fields` found: annotations are resolved once a class, on first use."""


def camel(name: str) -> str:
    """`max_tokens` is `maxTokens` on the wire; one trailing underscore (`from_`) only dodges a Python keyword."""
    head, *rest = name.removesuffix("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def wire_fields(cls: type[Wire]) -> tuple[WireField, ...]:
    """The fields of a `Wire` class in order; TypeError names a field that breaks the rule of this module."""
    if cls not in _FIELDS:
        _FIELDS[cls] = tuple(_resolve(cls))
    return _FIELDS[cls]


def _resolve(cls: Any) -> Iterator[WireField]:
    if not attrs.has(cls):
        raise TypeError(f"{cls.__name__} is a Wire class, but not an attrs class.")
    hints = typing.get_type_hints(cls)
    for field in attrs.fields(cls):
        hint = getattr(hints[field.name], "__supertype__", hints[field.name])  # a NewType is what it is made of
        is_optional = field.default is not attrs.NOTHING
        if is_optional:
            if field.default is not None or not _is_nullable(hint):
                raise TypeError(f"{cls.__name__}.{field.name}: only `T | None = None` may have a default.")
            hint = _without_none(hint)
        yield WireField(field.name, camel(field.name), hint, is_optional)


def _is_nullable(hint: Any) -> bool:
    return typing.get_origin(hint) in (types.UnionType, typing.Union) and type(None) in typing.get_args(hint)


def _without_none(hint: Any) -> Any:
    rest = tuple(part for part in typing.get_args(hint) if part is not type(None))
    return typing.Union[rest]  # noqa: UP007  # built from a tuple: `|` cannot spell it
