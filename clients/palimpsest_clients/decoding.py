"""What decoders of several services need. No I/O."""

from __future__ import annotations

from collections.abc import Collection
from uuid import uuid4


def string(value: object) -> str:
    """The value, which must be a string: TypeError, so that a decoder need not check for itself."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    return value


def own_call_id(given: object, taken: Collection[str]) -> str:
    """The id of a call: the service's, or a fresh one where it gave none or one that its answer used before."""
    return given if isinstance(given, str) and given and given not in taken else f"call_{uuid4().hex[:24]}"
