"""Days of talk with a small local model whose window nobody told: its service refuses once, and from then on no message
is refused, every request fits, and compactions are rare."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

import pytest
from tests.services.scripted import Bench, Opener
from tests.slow import slow

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.tokens import CountText, count_content, count_tools
from palimpsest.domain.errors import ErrorDetail, ErrorKind, ProviderError
from palimpsest.domain.messages import user_message
from palimpsest.domain.models.limits import LimitsSource
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage
from palimpsest.domain.settings.settings import Settings
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.events import ContextEvent
from palimpsest.services.tools.toolbox import ToolOutput

FACTOR, OVERHEAD = 1.08, 120
"""How the service counts, beside the public vocabulary."""
WORDS = (
    "parser gateway retries limit idle connection dropped tests region deploy cache token queue lease store index "
    "reads writes under load because the a of in when we should not before after each request fails with timeout config"
).split()


@dataclass
class SmallService:
    """A service with a window, which is all it takes: a request and what may be answered."""

    window: int
    count: CountText
    name: str = "openai"
    n_refused: int = 0
    taken: list[PreparedContext] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(17))

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        raw = self.count(context.system) + count_tools(context.tools, self.count)
        raw += sum(count_content(each, self.count) for each in context.messages)
        n_tokens = int(FACTOR * raw) + OVERHEAD
        # Like most local ones it answers as much as there is room for, and refuses what leaves none.
        if n_tokens >= self.window:
            self.n_refused += 1
            detail = ErrorDetail("openai", "m1", None, self.window, n_tokens)
            raise ProviderError(ErrorKind.CONTEXT_TOO_LONG, "It is too long.", detail)
        self.taken.append(context)
        assert n_tokens + context.max_output_tokens <= self.window or context.window_tokens > self.window
        answer = talk(self.rng, 90)
        yield TextDelta(answer)
        yield Finished(StopReason.END, TokenUsage(input_tokens=n_tokens, output_tokens=self.count(answer)))


def talk(rng: random.Random, n_words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(n_words)).capitalize() + f" in src/part_{rng.randrange(40)}.py."


SCHEMA = ToolSchema("read_file", "Reads a file, or some of it. " * 130, {"type": "object"})


@dataclass
class Tool:
    """A tool whose declaration is as large as all tools of a folder."""

    schema: ToolSchema = SCHEMA
    is_read_only: bool = True

    async def run(self, arguments: str) -> ToolOutput:
        return ToolOutput("nothing")


async def behind(b: Bench, window: int) -> SmallService:
    """The bench's engine with a service behind a model's name that nobody knows; the bench's conversation uses it."""
    contexts = b.session.contexts
    tokenizer = await contexts.tokenizers.get("cl100k_base")
    service = SmallService(window, tokenizer.count)
    settings = Settings(model="openai/m1", context=contexts.models.settings.context)
    contexts.models = replace(
        contexts.models, providers={**contexts.models.providers, "openai": service}, settings=settings
    )
    record = await b.session.conversations.create("days of talk", "openai/m1")
    b.conversation_id = record.id
    return service


def was_compacted(b: Bench, seen: int) -> bool:
    return any(isinstance(e, ContextEvent) and e.type is ContextEventType.COMPACTION for e in b.events[seen:])


@pytest.mark.parametrize(
    ("window", "least_apart"),
    [slow(4_096, 3), (8_192, 10), slow(16_384, 10)],
)
async def test_a_hundred_turns_with_a_window_that_only_a_refusal_told(
    bench: Opener, window: int, least_apart: int
) -> None:
    b = await bench([], tools=(Tool(),))
    service = await behind(b, window)
    rng, compacted_turns = random.Random(3), list[int]()
    for number in range(100):
        seen = len(b.events)
        running = await b.session.turns.start(b.conversation_id, f"r{number}", user_message(talk(rng, 40)))
        assert not isinstance(running, str)
        end = await running.wait()
        assert end.state.value == "committed", end.error_message
        if was_compacted(b, seen):
            compacted_turns.append(number)
    state = await b.session.contexts.state(b.conversation_id)
    assert (state.model.source, state.model.limits.window) == (LimitsSource.LEARNED, window)
    assert service.n_refused == 1
    assert all(request.upper_tokens <= request.limit_tokens for request in service.taken)
    assert compacted_turns
    assert min((b - a for a, b in itertools.pairwise(compacted_turns)), default=100) >= least_apart


async def test_a_request_that_fits_by_what_was_measured_is_reported_by_no_guard(bench: Opener) -> None:
    b = await bench([], context={"threshold": 0.97, "max_tokens": 8_000})
    service = await behind(b, 131_072)
    rng = random.Random(5)
    for number in range(60):
        assert await b.ask(f"{number}: {talk(rng, 60)}") == "committed"
    above = [r for r in service.taken if r.upper_tokens > 0.95 * r.limit_tokens]
    assert above, "some requests come near the limit"
    assert [e for e in b.events if isinstance(e, ContextEvent) and e.type is ContextEventType.GUARD] == []
