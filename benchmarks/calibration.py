"""How well the count of a request is guessed, and whether a limit that was learned once is kept from then on.

    python -m benchmarks.calibration [TURNS] [FORMAT ...]

Talks with the fake model service in each wire format, through the real turn engine and the real clients, with tools.
The service enforces its format's rules and an input limit of its own, which the engine is not told; and it counts in
tokens of its own: per cl100k token 1.2 for lines of logs, 1.5 for prose and 1.7 for code, and 350 a request. Prints,
for each format, the error of the engine's count after ten turns (median and 95th percentile), and how many requests
were over the service's limit, in all and after the first that was refused.
"""

from __future__ import annotations

import asyncio
import functools
import json
import random
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.figures import Figure, Size, alone

from palimpsest.app.model_clients import client_class
from palimpsest.data import load_frame, load_model_table
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.messages import user_message
from palimpsest.domain.models.limits import Model, with_window
from palimpsest.domain.models.provider import Provider, StreamEvent
from palimpsest.domain.models.providers import PROVIDERS, ProviderEntry
from palimpsest.domain.settings.settings import Settings
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.background import Background
from palimpsest.services.context.engine import ContextEngine, always
from palimpsest.services.context.requests import Requests
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.events import Listeners
from palimpsest.services.leases import Leases
from palimpsest.services.models.catalog import Models, with_override
from palimpsest.services.models.tokenizers import Tokenizer, Tokenizers, load_tokenizer
from palimpsest.services.tools.toolbox import Tool, Toolbox, ToolOutput
from palimpsest.services.turns.engine import TurnEngine
from palimpsest.services.turns.run import TurnServices
from palimpsest.storage.store import open_store
from palimpsest_clients.fake.replies import Call, Heard, Reply
from palimpsest_clients.fake.server import NAMES, FakeModels

SEED: Final = 20261122
WINDOW: Final = 24_000
"""What the engine takes for the model's window."""
LIMIT: Final = 12_000
"""What the service takes, in its own tokens."""
MEDIAN_TARGET: Final = 0.02
P95_TARGET: Final = 0.05
_FROM_TURN: Final = 10
_PER_REQUEST: Final = 350
_LOG, _PROSE, _CODE = 1.2, 1.5, 1.7
_KEY: Final = "sk-fake-0123456789"
_LOG_START: Final = "2026-11-22T"
_CODE_STARTS: Final = ("def ", "    ", "class ", "import ", "return ")
_NAMES: Final = {"anthropic": "claude-opus-5-5", "openai": "gpt-6.2-sol", "gemini": "gemini-3.6-flash"}
"""The model that is talked to in a format, as the built-in table knows it; without an entry, one that it does not."""
_WORDS: Final = (
    "the parser reads a file of the area and fails when its value is empty because nobody checked what the loader "
    "returned after the last restart so we should look at the table first and then write a test that shows it"
).split()
_TOOLS: Final = ("read_file", "run_tests")


@functools.cache
def _vocabulary() -> Tokenizer:
    with tempfile.TemporaryDirectory(prefix="palimpsest-benchmark-") as directory:
        return load_tokenizer("cl100k_base", Path(directory))


@functools.lru_cache(maxsize=100_000)
def _hidden_of_line(line: str) -> float:
    n_raw = _vocabulary().count(line) + 1
    if line.startswith(_LOG_START):
        return _LOG * n_raw
    return (_CODE if line.startswith(_CODE_STARTS) else _PROSE) * n_raw


def hidden_tokens(body: Any) -> int:
    """What the service takes for a request."""
    return _PER_REQUEST + round(sum(_hidden_of_line(line) for text in _texts(body) for line in text.split("\n")))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            for each in value.values():
                yield from _texts(each)


@dataclass
class MadeUpModel:
    """What the made-up model says: a user's message leads to none or some tool calls, and then to an answer."""

    chance: random.Random

    def __call__(self, heard: Heard, number: int) -> Reply:
        goes_on = heard.result is None or self.chance.random() < 0.4
        if heard.tools and goes_on and self.chance.random() < 0.8:
            name = self.chance.choice(_TOOLS)
            arguments = json.dumps({"path": f"src/area_{number}/file_{number}.py"})
            return Reply(prose(self.chance, 12), calls=(Call(f"call_{number}", name, arguments),))
        code = f"\n\n{source(self.chance, 8)}" if self.chance.random() < 0.4 else ""
        return Reply(prose(self.chance, self.chance.randint(20, 150)) + code)


def prose(chance: random.Random, n_words: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(n_words)) + "."


def source(chance: random.Random, n_lines: int) -> str:
    lines = [f"def load_{chance.randint(0, 999)}(rows: list[int]) -> int:"]
    lines += [
        f"    value_{n} = {{'{chance.choice(_WORDS)}': rows[{chance.randint(0, 99)}], 'n': {n}}}"
        for n in range(n_lines)
    ]
    return "\n".join(lines)


def log_lines(chance: random.Random, n_lines: int) -> str:
    return "\n".join(
        f"{_LOG_START}{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}Z INFO "
        f"worker-{chance.randint(0, 9)} {prose(chance, 6)}"
        for _ in range(n_lines)
    )


@dataclass(frozen=True, slots=True)
class Request:
    turn: int
    estimated: int
    real: int


@dataclass
class Watched:
    """The client, and what was estimated of each request."""

    client: Provider
    fake: FakeModels
    turn: int = 0
    requests: list[Request] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.client.name

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        n_before = len(self.fake.counts)
        try:
            async with aclosing(self.client.stream(context)) as events:
                async for event in events:
                    yield event
        finally:
            # A client that asks twice would make the list longer than the estimates.
            self.requests += [Request(self.turn, context.estimated_tokens, n) for n in self.fake.counts[n_before:]]


@dataclass(frozen=True, slots=True)
class Talk:
    """Of one conversation."""

    wire: str
    n_turns: int
    requests: Sequence[Request]
    limit: int
    failed: Sequence[str]
    """How turns ended that were not answered."""
    n_cuts: int

    @property
    def n_over(self) -> int:
        return sum(request.real > self.limit for request in self.requests)

    @property
    def n_over_after_learning(self) -> int:
        """Requests over the service's limit, the first of them not counted."""
        return max(0, self.n_over - 1)

    @property
    def errors(self) -> list[float]:
        """Of the count, as a share of the real one, after ten turns."""
        return [abs(request.estimated / request.real - 1) for request in self.requests if request.turn > _FROM_TURN]


def _tool(name: str, write: Callable[[], str]) -> Tool:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

    async def run(_: str) -> ToolOutput:
        return ToolOutput(write())

    return Tool(ToolSchema(name, f"The tool {name} of a made-up project.", schema), run)


def _provider(wire: str) -> ProviderEntry:
    return next(each for each in PROVIDERS if wire in (each.format, each.compatible_format))


def _client(wire: str, url: str) -> Provider:
    entry = _provider(wire)
    return client_class(wire)(_KEY if entry.takes_key else None, f"{url}{urlsplit(entry.address).path}")


def _model(wire: str) -> Model:
    model = load_model_table().find(_NAMES.get(wire, f"{_provider(wire).name}/local"))
    assert model is not None
    small = with_window(model, WINDOW)
    return replace(small, limits=replace(small.limits, max_output=WINDOW // 8))


async def talk(wire: str, n_turns: int) -> Talk:
    chance = random.Random(SEED)
    tools = (
        _tool("read_file", lambda: source(chance, chance.randint(5, 60))),
        _tool("run_tests", lambda: log_lines(chance, chance.randint(5, 40))),
    )
    model = _model(wire)
    with tempfile.TemporaryDirectory(prefix="palimpsest-benchmark-") as directory:
        async with FakeModels(limit_tokens=LIMIT, count=hidden_tokens, think=MadeUpModel(chance)) as fake:
            client = _client(wire, fake.url)
            watched = Watched(client, fake)
            settings = Settings(model=model.name)
            models = with_override(Models(load_model_table(), {model.provider: watched}, {}, settings), model)
            store = await open_store(Path(directory) / "store")
            frame = Frame(load_frame().system, tuple(tool.schema for tool in tools))
            tokenizers = Tokenizers(Path(directory) / "vocabularies")
            contexts = ContextEngine(
                Leases(store, Background()), models, tokenizers, settings.context, always(frame), lambda _: None
            )

            async def frame_of(_: object) -> Frame:
                return frame

            toolbox = Toolbox((lambda _: tools,))
            turns = TurnEngine(TurnServices(store, contexts, Requests(contexts), toolbox, frame_of, lambda _: None))
            conversation = await Conversations(store, contexts, Listeners()).create("calibration", None)
            failed = []
            for turn in range(1, n_turns + 1):
                watched.turn = turn
                asked = f"{turn}: {prose(chance, chance.randint(5, 120))}"
                if chance.random() < 0.2:
                    asked += f"\n{log_lines(chance, 10)}"
                running = await turns.start(conversation.id, f"r{turn}", user_message(asked))
                assert not isinstance(running, str)
                end = await running.wait()
                if end.state.value != "committed":
                    failed.append(f"turn {turn}: {end.state.value}, {end.error_message or ''}")
            n_cuts = (await contexts.state(conversation.id)).cut.version
            await store.close()
            await client.aclose()  # type: ignore[attr-defined]  # every client has it; a Provider need not
    return Talk(wire, n_turns, watched.requests, LIMIT, failed, n_cuts)


def report(figures: Talk) -> str:
    errors = sorted(figures.errors)
    median, p95 = statistics.median(errors), errors[int(0.95 * (len(errors) - 1))]
    return (
        f"{figures.wire:10} {len(figures.requests):8} {figures.n_cuts:12} {median:9.2%} {p95:9.2%} {figures.n_over:6} "
        f"{figures.n_over_after_learning:14} {len(figures.failed):8}"
    )


def main(n_turns: int = 200, wires: Sequence[str] = NAMES) -> None:
    print(f"{n_turns} turns in each format, window {WINDOW}, the service's own limit {LIMIT}, seed {SEED}")
    print(
        f"targets: median under {MEDIAN_TARGET:.0%}, 95th percentile under {P95_TARGET:.0%}, none over after the first"
    )
    print("format     requests  compactions    median       p95   over  over afterwards  failed")
    for wire in wires:
        figures = asyncio.run(talk(wire, n_turns))
        print(report(figures), flush=True)
        for sentence in figures.failed[:3]:
            print(f"           {sentence}")


def figures(size: Size) -> list[Figure]:
    n_turns, wires = (200, NAMES) if size is Size.FULL else (15, NAMES[:1])
    talks = [asyncio.run(talk(wire, n_turns)) for wire in wires]
    errors = sorted(error for each in talks for error in each.errors)
    p95 = errors[int(0.95 * (len(errors) - 1))]
    n_over = sum(each.n_over_after_learning for each in talks)
    return [
        alone(
            "error of a request's counted size with a made-up service, median",
            [statistics.median(errors)],
            MEDIAN_TARGET,
            "",
        ),
        alone("the same, 95th percentile", [p95], P95_TARGET, ""),
        alone("requests that it refused as too long, after the first", [n_over], 0, ""),
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200, sys.argv[2:] or NAMES)
