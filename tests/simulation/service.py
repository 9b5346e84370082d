"""A model's service that plays what was scripted for the newest word it is asked about."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, count_bytes, count_content, count_tools
from palimpsest.domain.errors import ErrorDetail, ErrorKind, InvalidRequest, ProviderError
from palimpsest.domain.messages import Role
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage
from palimpsest.domain.models.providers import ProviderEntry, configured
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.keys import Key
from palimpsest.services.models.model_services import ServiceAnswer, ServiceState
from palimpsest.services.models.tokenizers import Tokenizer

SMALL, LARGE = "claude-haiku-4-5", "claude-opus-4-5"
WINDOWS: Final = {SMALL: 9_000, LARGE: 30_000}
MAX_OUTPUT: Final = 1_000
WORD: Final = re.compile(r"zqword\d{4}[a-y]\d*")
"""What each message holds one of, and no other text does."""
Reply = list[StreamEvent | Exception | float]
"""What a service does: an event, an error, a pause in seconds."""


def raw_tokens(context: PreparedContext) -> int:
    """The raw tokens of a request, counted anew."""
    return (
        count_bytes(context.system)
        + MESSAGE_OVERHEAD
        + count_tools(context.tools, count_bytes)
        + sum(count_content(content, count_bytes) for content in context.messages)
    )


@dataclass(slots=True)
class Service:
    """The service of one provider, for all servers."""

    truth: float
    """What it counts, for a raw token."""
    watch: Callable[[PreparedContext], None]
    """Called with each request."""
    name: str = "anthropic"
    scripts: dict[str, list[Reply]] = field(default_factory=dict)
    """By the word of the user's message: an answer for each request of the turn. Behind the last it says yes."""
    help: Callable[[PreparedContext], Reply | None] = lambda _: None
    """What a helping model answers; None: as usual."""
    has_refused: bool = False
    """Whether it found a request too long: what that taught may leave no room for what was admitted before."""

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        self.watch(context)
        for action in self._reply(context):
            if isinstance(action, Exception):
                raise action
            if isinstance(action, float):
                await asyncio.sleep(action)
            else:
                yield action

    def _reply(self, context: PreparedContext) -> Reply:
        asked = [WORD.findall(content.text) for content in context.messages if content.role is Role.USER]
        if not context.tools:
            return self.help(context) or _help(len(context.messages[-1].text), asked[-1] if asked else [])
        own = next((words[0] for words in reversed(asked) if words), "")  # what was recalled stands behind it
        replies = self.scripts.get(own, [])
        yes: Reply = [TextDelta("Yes."), Finished(StopReason.END, TokenUsage(output_tokens=2))]
        reply = replies.pop(0) if replies else yes
        real = int(raw_tokens(context) * self.truth)
        limit = WINDOWS.get(context.model, WINDOWS[SMALL]) - MAX_OUTPUT
        if real > limit:
            self.has_refused = True
            detail = ErrorDetail(limit_tokens=limit, projected_tokens=real)
            return [ProviderError(ErrorKind.CONTEXT_TOO_LONG, "The request is too long.", detail)]
        last = reply[-1]
        if isinstance(last, Finished):
            reply[-1] = replace(last, usage=TokenUsage(real, output_tokens=9))
        return reply


def _help(size: int, words: list[str]) -> Reply:
    """A summary, or facts: mostly a sentence, now and then an error, or too late."""
    v = random.Random(size)
    if v.random() < 0.2:
        return [v.choice((ProviderError(ErrorKind.OVERLOADED, "Out."), 70.0))]
    told = " and ".join(words[:2]) or "a pump"
    said = TextDelta(f"The user asked about {told}, and it was answered.")
    reply: Reply = [v.choice((0.0, 0.01, 0.01, 12.0)), said, Finished(StopReason.END, TokenUsage(output_tokens=9))]
    return reply


@dataclass(frozen=True, slots=True)
class Clients:
    """Stands for `ClientPool`."""

    found: dict[str, Any]

    def get(self, settings: Settings) -> dict[str, Any]:
        return self.found

    def entries(self, settings: Settings) -> dict[str, ProviderEntry]:
        return configured(settings.providers, {})

    def hints(self, settings: Settings) -> dict[str, str]:
        return {}

    def addresses(self, settings: Settings) -> dict[str, str]:
        return {}

    def states(self, settings: Settings) -> list[ServiceState]:
        return []

    async def try_service(
        self, settings: Settings, provider: str, key: str | None, address: str | None
    ) -> ServiceAnswer:
        raise InvalidRequest("This machine tries no keys.")

    async def aclose(self) -> None:
        """There is nothing to close."""


class NoStoredKeys:
    """Stands for `StoredKeys`: the services of this machine need no key."""

    def read(self) -> Mapping[str, Key]:
        return {}

    def stamp(self) -> Hashable:
        return None

    def write(self, provider: str, key: Key) -> str:
        raise InvalidRequest("This machine stores no keys.")

    def remove(self, provider: str) -> bool:
        return False


class Bytes:
    """Stands for `Tokenizers`: what loads a vocabulary is not looked at here."""

    async def get(self, name: str) -> Tokenizer:
        return Tokenizer("bytes", count_bytes)
