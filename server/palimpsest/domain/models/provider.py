"""The interface to a model's service, which takes a prepared context and streams events.

A model client only translates; it makes no decision about the request. The order of events within one stream:

    any number of Pause
    any mix of TextDelta, ThinkingDelta, ToolCallStart, ToolArguments
    (ToolCallStart of a call before its ToolArguments; calls may interleave)
    exactly one Finished, last

A failure is a `ProviderError` raised from the iterator. Closing the iterator (`aclose`, or cancelling the task that
drives it) closes the connection.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from palimpsest.domain.messages import OpaquePart

if TYPE_CHECKING:
    from palimpsest.domain.context.prepared import PreparedContext
    from palimpsest.domain.models.limits import ModelLimits


class StopReason(StrEnum):
    """The reasons why a model stops."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    OUTPUT_LIMIT = "output_limit"
    FILTERED = "filtered"


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of one model call as its provider counted them; 0 where it gave no count."""

    input_tokens: int = 0
    """Sent, and neither read from nor written to the provider's cache."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    """Received, including reasoning."""

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True, slots=True)
class Pause:
    """The service could not answer for now. The client tries again by itself after the pause."""

    reason: str
    """A sentence for the user."""
    seconds: float
    n_failed: int
    """The number of attempts that failed, at least 1."""
    skip: Callable[[], None]
    """Ends the pause at once; later calls do nothing."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    call_id: str
    """Unique within the stream; a client creates one when its provider gives none."""
    name: str


@dataclass(frozen=True, slots=True)
class ToolArguments:
    call_id: str
    text: str
    """The next piece of the call's JSON text."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The service has begun with the request, told before the answer is complete."""

    usage: TokenUsage
    """What it counted of the request, without tokens of the answer; nothing where it does not say yet."""


@dataclass(frozen=True, slots=True)
class Finished:
    stop_reason: StopReason
    usage: TokenUsage
    opaque: tuple[OpaquePart, ...] = ()
    """Parts that must be sent back verbatim with this message."""


StreamEvent = Pause | Counted | TextDelta | ThinkingDelta | ToolCallStart | ToolArguments | Finished


class Provider(Protocol):
    """One LLM service."""

    @property
    def name(self) -> str:
        """The provider's name in settings and errors, such as `anthropic`."""
        ...

    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """Makes one model call. Nothing happens before the first item is awaited."""
        ...


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model in its service's list."""

    service_name: str
    """The service's name for it."""
    limits: ModelLimits | None
    """None when the service lists the model without its limits."""


@runtime_checkable
class LiveProvider(Provider, Protocol):
    """A provider whose service lists its models and counts tokens. Each call makes one network request: a failure is a
    `ProviderError`, and there is no retry."""

    async def models(self) -> Sequence[LiveModel]:
        """The models in the service's order; may be empty."""
        ...

    async def count_tokens(self, context: PreparedContext) -> int | None:
        """The service's token count of the request; None when it does not count."""
        ...
