"""A provider that tells what its models take, and counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.models.limits import ModelLimits
from palimpsest.domain.models.provider import LiveModel, StreamEvent


def told(**windows: int | None) -> list[LiveModel]:
    """Models by name, `_` for `-`, each with a window and an output of 1,000; None is only a name."""
    return [
        LiveModel(name.replace("_", "-"), None if window is None else ModelLimits(window, 1_000))
        for name, window in windows.items()
    ]


@dataclass
class TellingProvider:
    name: str
    tells: Sequence[LiveModel] | Exception = ()
    counts: int | Exception | None = None
    n_asked: int = 0
    gate: asyncio.Event | None = field(default=None)
    """What the answer waits for."""

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        raise AssertionError("nobody chats here")
        yield

    async def models(self) -> Sequence[LiveModel]:
        self.n_asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.tells, Exception):
            raise self.tells
        return self.tells

    async def count_tokens(self, context: PreparedContext) -> int | None:
        self.n_asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.counts, Exception):
            raise self.counts
        return self.counts
