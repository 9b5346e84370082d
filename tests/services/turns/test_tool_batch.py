"""Whether a tool result fits is decided by what the next request will take, as it will be counted then."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

import pytest
from tests.services.scripted import Bench, Opener, ScriptedProvider, calls, says

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.tokens import CountText, Estimator, count_bytes, count_content
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.models.provider import Finished, StreamEvent
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.events import ContextEvent
from palimpsest.services.models.catalog import with_override
from palimpsest.services.tools.toolbox import Tool, ToolOutput

FILLING = "the pump runs "
SEEN = FILLING * 230


@dataclass
class Counting(ScriptedProvider):
    """Says what each request took: as many times the raw tokens as `factor` says."""

    count: CountText = count_bytes
    factor: float = 1.0

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        raw = self.count(context.system) + sum(count_content(each, self.count) for each in context.messages)
        async for event in super().stream(context):
            if isinstance(event, Finished):
                event = replace(event, usage=replace(event.usage, input_tokens=int(self.factor * raw)))
            yield event


async def counted_by(bench: Opener, factor: float) -> Bench:
    """A bench whose model is taken for one that counts 1.4 times the raw tokens, with a service that says otherwise."""

    async def look(_: str) -> ToolOutput:
        return ToolOutput(SEEN)

    tool = Tool(ToolSchema("look", "Looks.", {"type": "object"}), look)
    b = await bench([], window=20_000, reserve=1_000, tools=(tool,), context={"threshold": 0.99})
    contexts = b.session.contexts
    tokenizer = await contexts.tokenizers.get("cl100k_base")
    service = Counting([], count=tokenizer.count, factor=factor)
    model = replace(with_window(contexts.models.get("offline"), 20_000), estimator=Estimator(1.4, 0.05))
    contexts.models = replace(with_override(contexts.models, model), providers={"offline": service})
    b.provider = service
    return b


def events(b: Bench, *types: ContextEventType) -> list[ContextEvent]:
    return [event for event in b.events if isinstance(event, ContextEvent) and event.type in types]


@pytest.mark.parametrize(("factor", "is_compacted"), [(0.9, False), (1.4, True)])
async def test_a_result_needs_room_only_where_the_next_request_would_not_fit(
    bench: Opener, factor: float, is_compacted: bool
) -> None:
    b = await counted_by(bench, factor)
    for number in range(5):
        b.provider.replies = [says("Noted.")]
        assert await b.ask(f"{number}: {FILLING * 700}") == "committed"
    assert events(b, ContextEventType.COMPACTION) == []
    b.provider.replies = [calls(*((f"{n}", "look", "{}") for n in range(4))), says("Done.")]
    assert await b.ask("Look four times.") == "committed"
    assert [text for role, text, _ in await b.said() if role == "tool"] == [SEEN] * 4
    assert bool(events(b, ContextEventType.COMPACTION)) == is_compacted
    assert events(b, ContextEventType.GUARD) == []
