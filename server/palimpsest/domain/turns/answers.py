"""Limits of a model's answer, and the cleaning of its pieces before any other code sees them.

A service, a model and an editor that offers models can send anything. An answer that no store can hold, or whose calls
no service would accept in the next request, would make its conversation unusable for good.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields, replace
from typing import Final, TypeVar

from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.messages import OpaquePart, clean_text
from palimpsest.domain.models.provider import (
    Counted,
    Finished,
    Pause,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)

MAX_ANSWER_CHARACTERS: Final = 12_000_000
"""The characters of text, thinking, calls and opaque parts together. The longest output of any model is a tenth of
that."""
MAX_CALLS: Final = 4096
"""The calls of one answer. Far fewer are run: see `palimpsest.services.turns.tool_batch`."""
MAX_TOKENS: Final = 10**9
"""A larger count is an error of its source."""

_LONGEST_NAME: Final = 64
_LONGEST_CALL_ID: Final = 200
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_CALL_ID: Final = re.compile(rf"[!-~]{{1,{_LONGEST_CALL_ID}}}")

_T = TypeVar("_T", TextDelta, ThinkingDelta, ToolArguments)


def tool_name(written: str) -> str:
    """The name of a tool in a form that every service accepts: letters, digits, `_` and `-`."""
    return _NOT_IN_A_NAME.sub("_", written[:_LONGEST_NAME]) or "unnamed"


def token_count(told: object) -> int:
    """A number of tokens from a service, an editor or a file; 0 when the value is not a plausible count."""
    if isinstance(told, float) and told.is_integer():
        told = int(told)
    is_count = isinstance(told, int) and not isinstance(told, bool) and 0 < told <= MAX_TOKENS
    return told if is_count else 0  # type: ignore[return-value]  # is_count says that it is an int


@dataclass(slots=True)
class IncomingAnswer:
    """The totals of one answer while it comes in."""

    _n_characters: int = 0
    _n_calls: int = 0

    def take(self, event: StreamEvent) -> StreamEvent:
        """The event, cleaned. Raises ProviderError when the answer becomes too large, or a piece has the wrong type;
        earlier events stay valid."""
        match event:
            case Pause():
                return event
            case TextDelta():
                return self._text(event)
            case ThinkingDelta():
                return self._text(event)
            case ToolArguments():
                return replace(self._text(event), call_id=_call_id(event.call_id))
            case ToolCallStart():
                self._n_calls += 1
                if self._n_calls > MAX_CALLS:
                    raise _refused(f"The model called more than {MAX_CALLS} tools in one answer")
                return ToolCallStart(_call_id(event.call_id), tool_name(_string(event.name)))
            case Counted():
                return Counted(_counts(event.usage))
            case Finished():
                return replace(event, usage=_counts(event.usage), opaque=tuple(map(self._opaque, event.opaque)))

    def _text(self, event: _T) -> _T:
        text, notes = clean_text(_string(event.text))
        self._count(len(text))
        return replace(event, text=text) if notes else event

    def _opaque(self, part: OpaquePart) -> OpaquePart:
        self._count(len(part.data))
        return part

    def _count(self, n_characters: int) -> None:
        self._n_characters += n_characters
        if self._n_characters > MAX_ANSWER_CHARACTERS:
            raise _refused(f"The answer has more than {MAX_ANSWER_CHARACTERS:,} characters")


def _counts(usage: TokenUsage) -> TokenUsage:
    return TokenUsage(*(token_count(getattr(usage, each.name)) for each in fields(TokenUsage)))


def _call_id(given: object) -> str:
    """The id itself when it is printable and short enough, else an id derived from it."""
    text = _string(given)
    if _CALL_ID.fullmatch(text):
        return text
    return f"call_{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _refused("The model's service sent an event of an unknown type")
    return value


def _refused(what: str) -> ProviderError:
    return ProviderError(ErrorKind.BAD_RESPONSE, f"{what}, so it was stopped. The text before that is kept.")
