"""Helpers of the decoders. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import uuid4

from palimpsest.domain.turns.answers import token_count


def string(value: object) -> str:
    """The value, which must be a string. Raises TypeError, which a decoder may let through."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    return value


def index(value: object) -> int:
    """The position of an item in an answer. Raises TypeError when it is not an integer."""
    if not isinstance(value, int):
        raise TypeError(f"expected an integer, got {type(value).__name__}")
    return value


def word(value: object) -> str:
    """The value if it is a string, else the empty string. For values that only steer, such as the reason why an
    answer ended."""
    return value if isinstance(value, str) else ""


def counts(told: object, *path: str) -> Mapping[str, int]:
    """The token counts in a service's usage object, or in the object inside it that `path` leads to. A name that is
    absent or has a value that is no count maps to 0."""
    for name in path:
        told = told.get(name) if isinstance(told, Mapping) else None
    return _Counts(told if isinstance(told, Mapping) else {})


class _Counts(dict[str, int]):
    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__({name: token_count(value) for name, value in told.items()})

    def __missing__(self, name: str) -> int:
        return 0


def own_call_id(given: object, taken: Collection[str]) -> str:
    """The id of a call: that of the service, or a new one when the service gave none or one that `taken` contains."""
    return given if isinstance(given, str) and given and given not in taken else f"call_{uuid4().hex[:24]}"
