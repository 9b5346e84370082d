"""What a model's service is to the rest: something that takes a prepared context and streams events.

A model client translates; it decides nothing about what is sent. The order of events within one stream:

    any mix of TextDelta, ThinkingDelta, ToolCallStart, ToolArguments
    (ToolCallStart of a call before its ToolArguments; calls may interleave)
    exactly one Finished, last

A failure is a `ProviderError` raised from the iterator. Closing the iterator (`aclose`, or cancelling the task that
drives it) closes the connection.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from palimpsest.domain.messages import OpaquePart

if TYPE_CHECKING:
    from palimpsest.domain.context.prepared import PreparedContext
    from palimpsest.domain.models.limits import ModelLimits


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    OUTPUT_LIMIT = "output_limit"
    FILTERED = "filtered"


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one model call as its provider counted them; 0 where it did not say."""

    input_tokens: int = 0
    """Sent and neither read from nor written to the provider's cache."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    """Received, reasoning included."""

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    call_id: str
    """Unique within the stream; a client makes one up where its provider gives none."""
    name: str


@dataclass(frozen=True, slots=True)
class ToolArguments:
    call_id: str
    text: str
    """The next piece of the call's JSON text."""


@dataclass(frozen=True, slots=True)
class Finished:
    stop_reason: StopReason
    usage: TokenUsage
    opaque: tuple[OpaquePart, ...] = ()
    """What must go back verbatim with this message."""


StreamEvent = TextDelta | ThinkingDelta | ToolCallStart | ToolArguments | Finished


class Provider(Protocol):
    """One LLM service."""

    @property
    def name(self) -> str:
        """The name in settings and errors, such as `anthropic`."""
        ...

    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """One model call. Nothing happens before the first item is awaited."""
        ...


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model as its service lists it."""

    service_name: str
    """What the service calls it."""
    limits: ModelLimits | None
    """None when the service names the model and not what it takes."""


@runtime_checkable
class LiveProvider(Provider, Protocol):
    """A provider whose service can be asked about its models and its counting. Both calls go over the network, once:
    a failure is a `ProviderError`, and nothing is tried again."""

    async def models(self) -> Sequence[LiveModel]:
        """In the service's order; may be empty."""
        ...

    async def count_tokens(self, context: PreparedContext) -> int | None:
        """The tokens of the request as the service counts them. None when it does not count."""
        ...
