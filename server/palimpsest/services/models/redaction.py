"""The wrapper of every provider that removes secrets from requests.

It checks the whole request, of a turn, a summary or the librarian alike, so no other code has to. A message is sent
equally each time, because `redact` is a function of its text.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.models.provider import LiveModel, LiveProvider, Provider, StreamEvent
from palimpsest.domain.models.redaction import redact_context


@dataclass(frozen=True, slots=True)
class RedactingProvider:
    """A `LiveProvider`, whose lists and counts are empty when the inner provider has none."""

    inner: Provider

    @property
    def name(self) -> str:
        return self.inner.name

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        # The first check of a text takes milliseconds per megabyte.
        redacted = await asyncio.to_thread(redact_context, context)
        async with aclosing(self.inner.stream(redacted)) as events:
            async for event in events:
                yield event

    async def models(self) -> Sequence[LiveModel]:
        return await self.inner.models() if isinstance(self.inner, LiveProvider) else ()

    async def count_tokens(self, context: PreparedContext) -> int | None:
        if not isinstance(self.inner, LiveProvider):
            return None
        return await self.inner.count_tokens(await asyncio.to_thread(redact_context, context))
