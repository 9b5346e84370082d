"""What Palimpsest adds to the time until the first delta, in a conversation of 10,000 messages.

    python -m benchmarks.first_token [MESSAGES]

A conversation is stored in the real engine (seeded, with the exchanges of `prepare`), and turns are run on it against
the fake model service on loopback; what counts is the time from the start of a turn until the first delta of its answer
may be shown, durable as it then is. The reference is plain httpx: the same service, the same answer, and a body of the
same size that was made before; from the call until the first delta is read. Both are asked in turn on warm connections,
so that other work on the machine slows both alike. The way from the server's process to the editor is
not in it: `journal` measures that of each delta.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import httpx
from benchmarks.conversation import Conversation, open_conversation
from benchmarks.figures import Figure, Size, alone, beside, numbers, show
from benchmarks.prepare import BUDGET, SEED, coding_exchanges
from httpx_sse import EventSource

from palimpsest.data import load_frame
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.messages import user_message
from palimpsest.domain.models.provider import StreamEvent
from palimpsest.services.models.catalog import Models
from palimpsest.services.tools.toolbox import Toolbox
from palimpsest.services.turns.engine import TurnEngine
from palimpsest.services.turns.run import TurnServices
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage import leases
from palimpsest_clients.anthropic import API_VERSION, AnthropicClient, request_body
from palimpsest_clients.fake.replies import Reply
from palimpsest_clients.fake.server import FakeModels

_KEY: Final = "sk-fake-0123456789"
_EXCHANGES_AT_ONCE: Final = 200
_WARM_UP: Final = 3
_SAID: Final = Reply("A short answer.")


@dataclass
class _Client:
    """The real client under the name of the offline one, whose tokens `open_conversation` counts by."""

    client: AnthropicClient
    name: str = "offline"
    asked: list[PreparedContext] = field(default_factory=list)

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        self.asked.append(context)
        async with aclosing(self.client.stream(context)) as events:
            async for event in events:
                yield event


async def _filled(directory: Path, n_messages: int) -> Conversation:
    exchanges = coding_exchanges(random.Random(SEED))
    conversation = await open_conversation(directory, BUDGET, load_frame())
    while conversation.state.n_messages < n_messages:
        contents = [content for _ in range(_EXCHANGES_AT_ONCE) for content in next(exchanges)]
        await conversation.append(contents)
        await conversation.requests.prepare(conversation.context, BUDGET)
    await conversation.store.run(leases.release, conversation.context.lease)
    return conversation


async def _through_palimpsest(turns: TurnEngine, conversation: Conversation, number: int) -> float:
    shown = asyncio.Event()
    started = time.perf_counter()
    running = await turns.start(conversation.state.id, f"r{number}", user_message(f"Question {number}?"))
    assert isinstance(running, RunningTurn)
    stop = running.follow(lambda _: shown.set(), 0)
    async with asyncio.timeout(60):
        await shown.wait()
    took_ms = (time.perf_counter() - started) * 1000
    await running.wait()
    stop()
    return took_ms


async def _through_httpx(client: httpx.AsyncClient, url: str, payload: bytes) -> float:
    headers = {"x-api-key": _KEY, "anthropic-version": API_VERSION, "content-type": "application/json"}
    took_ms = 0.0
    started = time.perf_counter()
    async with client.stream("POST", f"{url}/v1/messages", content=payload, headers=headers) as response:
        async for event in EventSource(response).aiter_sse():
            if not took_ms and json.loads(event.data)["type"] == "content_block_delta":
                took_ms = (time.perf_counter() - started) * 1000
    assert took_ms
    return took_ms


async def run(n_messages: int, n_pairs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="palimpsest-benchmark-") as directory:
        conversation = await _filled(Path(directory), n_messages)
        async with FakeModels(limit_tokens=10**9, think=lambda *_: _SAID) as fake, httpx.AsyncClient() as plain:
            client = _Client(AnthropicClient(_KEY, fake.url))
            engine = conversation.engine
            engine.models = _with_provider(engine.models, client)

            async def frame_of(_: object) -> Frame:
                return await engine.frame_now()

            services = TurnServices(
                conversation.store, engine, conversation.requests, Toolbox(()), frame_of, lambda _: None
            )
            turns = TurnEngine(services)
            ours: list[float] = []
            theirs: list[float] = []
            for number in range(_WARM_UP + n_pairs):
                ours.append(await _through_palimpsest(turns, conversation, number))
                payload = json.dumps(request_body(client.asked[-1]), ensure_ascii=False).encode()
                theirs.append(await _through_httpx(plain, fake.url, payload))
            await client.client.aclose()
        await conversation.store.close()
    pairs = list(zip(theirs, ours, strict=True))[_WARM_UP:]
    print(f"first delta: a body of {len(payload) // 1000:,} kB, seed {SEED}")
    what = f"first delta of an answer inside the server, {conversation.state.n_messages:,} messages"
    return [
        beside(what, pairs, "plain httpx", None),
        alone(
            "what is added to it", [own - other for other, own in pairs], 10, note="counts, rules and 150 kB of JSON"
        ),
    ]


def _with_provider(models: Models, provider: _Client) -> Models:
    return replace(models, providers={provider.name: provider})


def figures(size: Size) -> list[Figure]:
    return asyncio.run(run(*((10_000, 15) if size is Size.FULL else (300, 2))))


if __name__ == "__main__":
    (wanted,) = numbers(__doc__, MESSAGES=10_000)
    show(asyncio.run(run(wanted, 15)))
