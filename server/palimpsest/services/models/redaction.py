"""The door every request to a model's service goes through: it takes secrets out.

The whole request is looked at, whoever wrote it (a turn, a summary, the librarian), so there is no other place to
forget. The same message is sent alike each time, because `redact` is a function of its text.
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
    """A `LiveProvider`. One that cannot tell and count has nothing to tell here either."""

    inner: Provider

    @property
    def name(self) -> str:
        return self.inner.name

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        # The first time a text is looked at takes milliseconds a megabyte.
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
