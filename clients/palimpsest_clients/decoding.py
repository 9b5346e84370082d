"""What decoders of several services need. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import uuid4

from palimpsest.domain.turns.answers import token_count


def string(value: object) -> str:
    """The value, which must be a string: TypeError, so that a decoder need not check for itself."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    return value


def index(value: object) -> int:
    """The place of something in an answer; TypeError when it is no integer."""
    if not isinstance(value, int):
        raise TypeError(f"expected an integer, got {type(value).__name__}")
    return value


def word(value: object) -> str:
    """The value where it is a string, else nothing: for what only steers, such as the reason why an answer ended."""
    return value if isinstance(value, str) else ""


def counts(told: object, *path: str) -> Mapping[str, int]:
    """The counts of tokens in a service's object of usage, or in the one that `path` leads to; 0 for each name that it
    does not tell, or tells as something that is no count."""
    for name in path:
        told = told.get(name) if isinstance(told, Mapping) else None
    return _Counts(told if isinstance(told, Mapping) else {})


class _Counts(dict[str, int]):
    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__({name: token_count(value) for name, value in told.items()})

    def __missing__(self, name: str) -> int:
        return 0


def own_call_id(given: object, taken: Collection[str]) -> str:
    """The id of a call: the service's, or a fresh one where it gave none or one that its answer used before."""
    return given if isinstance(given, str) and given and given not in taken else f"call_{uuid4().hex[:24]}"
