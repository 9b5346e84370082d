"""What the requests of a long session cost, beside simpler ways to keep a conversation in its window.

    python -m benchmarks.price [EXCHANGES] [BUDGET]

A made-up coding session (seeded), a request before each message of the assistant. All ways get the same messages and
the same system prompt, are limited by the same count (cl100k, and 4 tokens a message), and are charged for what they
send by that count, at the prices of services that the program itself reckons with: a beginning that the service has
kept, what is written to be kept (dearer than plain input with Claude), what a summarizing model reads and writes, each
at its own price. Claude keeps a beginning as far as a request marked it, others wherever two requests part. No way pays
for keeping when plain input is cheaper. Answers cost the same in all and are shown apart.

Ours is as set up: summaries by rules with a short text by a small model behind, and each question is told what its
context lacks. The small model is scripted: it says as much as it is asked for. Beside it, ours without each of these;
the newest messages that fit (`trim_messages` of langchain-core); and LangChain's summarizing middleware (where `make
bench-servers` has installed it). That is measured as its guide sets it up, which begins to summarize at 80 % of the
budget, keeps 20 messages and lets a model read the last 4,000 tokens before them; and set to keep as much as ours does:
it begins at 97 %, keeps half of the budget, and the model reads all of the rest. Its model is fake, and writes some 500
tokens.

Not counted: facts that the librarian's model extracts after each turn, which is no part of keeping a conversation in
its window (`librarian.daily_tokens` limits it). A second table says what the same costs when each question comes after
the service has forgotten the last one, as after five minutes with Claude.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import statistics
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.billing import Parts, Request, Service, Sizes, cents, each, tokens, unchanged
from benchmarks.conversation import Setup, open_conversation
from benchmarks.figures import Figure, Size, Spread, alone, number, numbers, show
from benchmarks.prepare import coding_exchanges
from benchmarks.sessions.scripted_models import ScriptedModel, faithful
from benchmarks.startup import SERVERS
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, trim_messages

from palimpsest.data import load_frame
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import Content, Role
from palimpsest.domain.models.provider import StreamEvent, TextDelta
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.services.context.requests import Beginning
from palimpsest.services.models.tokenizers import load_tokenizer

SEED: Final = 20261128
_PAGE: Final = Service("Claude Sonnet 5", "anthropic", "claude-sonnet-5", "claude-haiku-4-5", keeps_at_marks=True)
SERVICES: Final = (
    _PAGE,
    Service("Claude Sonnet 5.5", "anthropic", "claude-sonnet-5-5", "claude-haiku-4-5", keeps_at_marks=True),
    Service("GPT-5.2", "openai", "gpt-5.2", "gpt-5-nano"),
    Service("Gemini 3.1 Pro", "gemini", "gemini-3.1-pro-preview", "gemini-3.6-flash"),
    Service("Mistral Large", "mistral", "mistral-large-latest", "mistral-small-latest"),
)
_PYTHON: Final = SERVERS / "python" / "bin" / "python"
_NEEDED: Final = ("langchain", "tiktoken")
_MIDDLEWARE: Final = Path(__file__).with_name("summarizing_middleware.py")
_TARGET: Final = 1 / 3
_OURS: Final = ContextSettings()


@dataclass(frozen=True, slots=True)
class Keeping:
    """How the middleware is set up."""

    begins_at: float
    """The share of the budget at which it summarizes."""
    keeps: tuple[str, int]
    """`messages` or `tokens`, and how many of them."""
    most_read: int | None
    """The tokens of the rest that its model reads, the newest; None for all."""


def _as_in_its_guide() -> Keeping:
    """As of November 2026; the numbers but for the first are its defaults."""
    return Keeping(0.8, ("messages", 20), 4_000)


def _as_ours(budget: int) -> Keeping:
    return Keeping(_OURS.threshold, ("tokens", int(budget * _OURS.target)), None)


OURS, UNTOLD, UNAIDED, NEWEST, MIDDLEWARE, ROOMY = (
    "ours",
    "ours, without what is recalled",
    "ours, without a model",
    "the newest messages that fit",
    "LangChain's summarizing middleware",
    "the same middleware, keeping as much as ours",
)

Exchanges = Sequence[Sequence[Content]]
Ways = Mapping[str, Sequence[Request] | None]
"""The requests of each way; None for what is not installed."""


def text_of(content: Content) -> str:
    """All that is sent of a message."""
    calls = "".join(f"{call.name}{call.arguments}" for call in content.calls)
    return content.text + calls + "".join(result.text for result in content.results)


@dataclass(slots=True)
class Helper:
    """A small model, and what it took since it was last asked."""

    sizes: Sizes
    name: str = "scripted"
    n_read: int = 0
    n_wrote: int = 0
    _model: ScriptedModel = field(default_factory=lambda: ScriptedModel(faithful))

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        self.n_read += self.sizes.of([context.system, *map(text_of, context.messages)])
        async for event in self._model.stream(context):
            if isinstance(event, TextDelta):
                self.n_wrote += self.sizes.of_text(event.text)
            yield event

    def taken(self) -> tuple[int, int]:
        found = self.n_read, self.n_wrote
        self.n_read = self.n_wrote = 0
        return found


def asked(exchanges: Exchanges) -> Sequence[tuple[Exchanges, str, bool]]:
    """For each request: the exchanges that are new, the answer to it, and whether it is the first of a turn."""
    found: list[tuple[Exchanges, str, bool]] = []
    new: list[Sequence[Content]] = []
    for exchange, following in itertools.pairwise(exchanges):
        new.append(exchange)
        if following[0].role is Role.ASSISTANT:
            found.append((new, text_of(following[0]), exchange[0].role is Role.USER))
            new = []
    return found


async def ours(exchanges: Exchanges, budget: int, helper: Helper | None, *, recalls: bool = True) -> list[Request]:
    requests = []
    with tempfile.TemporaryDirectory() as directory:
        setup = Setup(recalls=recalls, summaries_by=helper)
        talk = await open_conversation(Path(directory), budget, load_frame(), setup)
        for new, answer, begins in asked(exchanges):
            beginning = None
            for exchange in new:
                if exchange[0].role is Role.USER:
                    beginning = Beginning(await talk.ask(exchange[0]), talk.state.frame)
                else:
                    await talk.append(exchange)
                    await talk.rest()
            context = await talk.requests.prepare(talk.context, budget, beginning=beginning)
            sent = [context.system, *map(text_of, context.messages)]
            marked = (1, 1 + context.n_lasting_messages)
            requests.append(Request(sent, answer, begins, marked, *(helper.taken() if helper is not None else ())))
        await talk.close()
    return requests


def newest(exchanges: Exchanges, budget: int, sizes: Sizes) -> list[Request]:
    requests = []
    said: list[Any] = [SystemMessage(load_frame().system)]

    def count(messages: Sequence[Any]) -> int:
        return sizes.of([str(message.content) for message in messages])

    for new, answer, begins in asked(exchanges):
        said += [
            (HumanMessage if one.role is Role.USER else AIMessage)(text_of(one)) for exchange in new for one in exchange
        ]
        # What it would leave out again is not offered again: it looks at all it is given.
        said = trim_messages(said, max_tokens=budget, token_counter=count, strategy="last", include_system=True)
        requests.append(Request([str(message.content) for message in said], answer, begins))
    return requests


def summarizing(
    exchanges: Exchanges, budget: int, sizes: Sizes, vocabularies: Path, keeping: Keeping
) -> list[Request] | None:
    """None where the middleware is not installed."""
    if not all(any(_PYTHON.parent.parent.glob(f"lib/*/site-packages/{each}")) for each in _NEEDED):
        return None
    system = load_frame().system
    steps = asked(exchanges)
    said = [
        [["user" if one.role is Role.USER else "ai", text_of(one)] for exchange in new for one in exchange]
        for new, _, _ in steps
    ]
    # The system prompt is in no list of messages there: the limit is what is left beside it.
    trigger = int((budget - sizes.of([system])) * keeping.begins_at)
    given = json.dumps({"trigger": trigger, "keep": keeping.keeps, "most_read": keeping.most_read, "said": said})
    environment = os.environ | {"TIKTOKEN_CACHE_DIR": str(vocabularies)}
    done = subprocess.run(
        [_PYTHON, _MIDDLEWARE], input=given, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return [
        Request([system, *request["sent"]], answer, begins, (1,), sizes.of(request["read"]), sizes.of(request["wrote"]))
        for request, (_, answer, begins) in zip(json.loads(done.stdout), steps, strict=True)
    ]


def ways(exchanges: Exchanges, budget: int, sizes: Sizes, vocabularies: Path) -> Ways:
    middleware = exchanges, budget, sizes, vocabularies
    return {
        OURS: asyncio.run(ours(exchanges, budget, Helper(sizes))),
        UNTOLD: asyncio.run(ours(exchanges, budget, Helper(sizes), recalls=False)),
        UNAIDED: asyncio.run(ours(exchanges, budget, None)),
        NEWEST: newest(exchanges, budget, sizes),
        MIDDLEWARE: summarizing(*middleware, _as_in_its_guide()),
        ROOMY: summarizing(*middleware, _as_ours(budget)),
    }


def bill(requests: Sequence[Request], service: Service, sizes: Sizes, budget: int, *, pauses: bool = False) -> Parts:
    """Cents for a request."""
    used = tokens(requests, sizes, keeps_at_marks=service.keeps_at_marks, pauses=pauses)
    return each(cents(used, service, budget), len(requests))


def report(found: Ways, sizes: Sizes, budget: int) -> None:
    for pauses in (False, True):
        print("each question after a pause, when nothing is kept any more:" if pauses else "without pauses:")
        print(f"{'cents a request':50} {'kept':>7}{'new':>7}{'anew':>7}{'read':>7}{'wrote':>7}{'sum':>8}{'answer':>8}")
        for service in SERVICES:
            print(service.name)
            for way, requests in found.items():
                if requests is not None:
                    parts = bill(requests, service, sizes, budget, pauses=pauses)
                    amounts = (parts.kept, parts.new, parts.anew, parts.summarized, parts.summaries)
                    columns = "".join(f"{amount:7.3f}" for amount in amounts)
                    print(f"  {way:48} {columns}{parts.total:8.3f}{parts.answers:8.3f}")
    for way, requests in found.items():
        if requests is not None:
            used = each(tokens(requests, sizes, keeps_at_marks=True), len(requests))
            print(
                f"{way}: {used.prompts:,.0f} tokens a request, of them {unchanged(requests, sizes):.1%} unchanged; "
                f"{used.new:,.0f} new, {used.anew:,.0f} anew; {used.summarized:,.0f} read for summaries"
            )


def measure(n_exchanges: int, budget: int) -> list[Figure]:
    exchanges = list(itertools.islice(coding_exchanges(random.Random(SEED)), n_exchanges))
    with tempfile.TemporaryDirectory() as directory:
        vocabularies = Path(directory)
        sizes = Sizes(load_tokenizer("cl100k_base", vocabularies).count)
        found = ways(exchanges, budget, sizes, vocabularies)
    report(found, sizes, budget)
    return figures_of(found, sizes, budget, f"{n_exchanges:,} exchanges at {budget:,} tokens")


def figures_of(found: Ways, sizes: Sizes, budget: int, where: str) -> list[Figure]:
    own = found[OURS]
    assert own is not None
    others = [(way, requests) for way in (NEWEST, MIDDLEWARE) if (requests := found[way]) is not None]
    beside = "; ".join(f"{way}: {number(unchanged(requests, sizes))}" for way, requests in others)
    share = unchanged(own, sizes)
    return [
        alone(f"unchanged beginning of requests, {where}", [share], 0.95, "", is_least=True, note=beside),
        *(_beside(way, found, sizes, budget, where) for way in (NEWEST, MIDDLEWARE, ROOMY)),
    ]


def _beside(way: str, found: Ways, sizes: Sizes, budget: int, where: str) -> Figure:
    what = f"price of a request, {where}, at the prices of {_PAGE.name}"
    target = None if way == ROOMY else _TARGET
    own, untold, other = found[OURS], found[UNTOLD], found[way]
    assert own is not None
    assert untold is not None
    ours_now = bill(own, _PAGE, sizes, budget)
    if other is None:
        return Figure(what, "cents", Spread.of([ours_now.total]), way, None, 0.0, target)

    def ratio(to: Sequence[Request], service: Service = _PAGE) -> float:
        return bill(to, service, sizes, budget).total / bill(other, service, sizes, budget).total

    theirs = bill(other, _PAGE, sizes, budget).total
    elsewhere = [ratio(own, service) for service in SERVICES if service is not _PAGE]
    note = (
        f"it sends {sizes_of(other, sizes):,.0f} tokens in each, ours {sizes_of(own, sizes):,.0f}; of ours "
        f"{_shares(ours_now)}; reading alone is {number(ours_now.kept / theirs)} of its price; without what is "
        f"recalled {number(ratio(untold))}; at other services {number(min(elsewhere))} to {number(max(elsewhere))}"
    )
    return Figure(what, "cents", Spread.of([ours_now.total]), way, Spread.of([theirs]), ratio(own), target, note=note)


def sizes_of(requests: Sequence[Request], sizes: Sizes) -> float:
    """Tokens of a request, in the mean."""
    return statistics.mean(sizes.of(request.sent) for request in requests)


def _shares(parts: Parts) -> str:
    """Where the money goes."""
    summaries = parts.summarized + parts.summaries
    named = {"reading what is kept": parts.kept, "new": parts.new, "sent anew": parts.anew, "summaries": summaries}
    return ", ".join(f"{amount / parts.total:.0%} {name}" for name, amount in named.items())


def figures(size: Size) -> list[Figure]:
    return measure(*((1_000, 32_000) if size is Size.FULL else (30, 4_000)))


if __name__ == "__main__":
    given = numbers(__doc__, EXCHANGES=1_000, BUDGET=32_000)
    show(measure(*given))
