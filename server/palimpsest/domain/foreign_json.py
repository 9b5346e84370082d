"""JSON that others wrote: services, models, editors, files. One reader for all of it, so that every value it lets in
can be stored, sent and written as JSON again.

JSON's grammar is wider than what JSON readers hold: `1e400` is an infinity to most of them, thousands of digits are an
error to some, and an escape may be half a character. What a program cannot hold is made harmless (`read`), or is a
reason not to take the value (`read_object`).
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

from palimpsest.domain.messages import clean_text, is_clean

MAX_DEPTH: Final = 100
"""Objects and arrays inside each other. Deeper values break the readers and writers of others, and ours."""
MAX_ARGUMENTS: Final = 1 << 20
"""Characters of the arguments of one tool call."""
_LONGEST_INTEGER: Final = 18
"""Digits. Every 64-bit reader, and SQLite, holds them."""


class _TooLarge(ValueError):
    pass


def read(text: str) -> Any:
    """The value of `text`, with whatever other readers could not hold made harmless.

    A number beyond a double's range, an integer of more than 18 digits, NaN and infinities become the text they were
    written as; NUL and halves of characters are cleaned, in names too; of a name that comes twice the last value
    counts. ValueError: it is not JSON, or is nested deeper than `MAX_DEPTH`.
    """
    value = _parsed(text, parse_float=_float_or_text, parse_int=_int_or_text, parse_constant=str)
    return _cleaned(value, MAX_DEPTH)


def read_object(text: str) -> dict[str, Any]:
    """The object that a model wrote as the arguments of a call; no text at all is an empty one.

    ValueError says in a sentence why it is none: it is not JSON, or no object, or too long or too deep, or holds a
    number that JSON readers cannot.
    """
    if not text.strip():
        return {}
    if len(text) > MAX_ARGUMENTS:
        raise ValueError(f"The arguments have more than {MAX_ARGUMENTS:,} characters. Do it in smaller pieces.")
    try:
        value = _parsed(text, parse_float=_float, parse_int=_int, parse_constant=_refuse)
    except _TooLarge:
        raise ValueError("The arguments hold a number that JSON readers cannot hold. Write a smaller one.") from None
    except ValueError:
        raise ValueError("The arguments are not valid JSON. Write one JSON object.") from None
    if not isinstance(value, dict):
        raise ValueError("The arguments are not a JSON object. Write one, with the arguments by name.")
    try:
        found: dict[str, Any] = _cleaned(value, MAX_DEPTH)
    except ValueError:
        raise ValueError("The arguments are nested too deeply. Write a flatter object.") from None
    return found


def object_in(text: str) -> dict[str, Any] | None:
    """What `read_object` gives; None where it raises."""
    try:
        return read_object(text)
    except ValueError:
        return None


def is_writable(value: object, depth: int = MAX_DEPTH) -> bool:
    """Whether a value of a JSON reader can be stored and sent as it is: no infinity, no half of a character, no NUL, no
    integer of more than 18 digits, and not too deep."""
    match value:
        case str():
            return is_clean(value)
        case bool() | None:
            return True
        case int():
            return abs(value) < 10**_LONGEST_INTEGER
        case float():
            return math.isfinite(value)
        case list() | tuple():
            return depth > 0 and all(is_writable(item, depth - 1) for item in value)
        case dict():
            pairs = value.items()
            return depth > 0 and all(is_writable(key) and is_writable(item, depth - 1) for key, item in pairs)
        case _:
            return False


def cleaned(value: Any) -> Any:
    """A value of a JSON reader with every text in it cleaned, names too. ValueError: it is nested too deeply."""
    return _cleaned(value, MAX_DEPTH)


def _parsed(text: str, **hooks: Any) -> Any:
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value if is_clean(value) else clean_text(value)[0]
    if not isinstance(value, (dict, list)):
        return value
    if not depth:
        raise ValueError("It is nested too deeply.")
    if isinstance(value, list):
        return [_cleaned(item, depth - 1) for item in value]
    return {_cleaned(key, 1): _cleaned(item, depth - 1) for key, item in value.items()}


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _TooLarge
    return value


def _int(digits: str) -> int:
    if len(digits.lstrip("-")) > _LONGEST_INTEGER:
        raise _TooLarge
    return int(digits)


def _float_or_text(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits


def _int_or_text(digits: str) -> int | str:
    return int(digits) if len(digits.lstrip("-")) <= _LONGEST_INTEGER else digits


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
