"""How long a request takes to build from a long conversation, beside LangChain's `trim_messages` on the same messages.

    python -m benchmarks.prepare [MESSAGES ...]

Fills a store with a made-up coding conversation (seeded) for each number of messages, through the engine as turns do:
messages are accepted and appended, what waits for them is read as while a model answers, and a request is prepared, so
that compaction runs where it is due. To be done in minutes a transaction takes 20 exchanges. Then, with the state in
memory as in a running server, one exchange at a time is appended and a request prepared and rendered, from one
compaction to the next: the context is measured at every fullness it has. Prints medians, the ratio to `trim_messages`
(approximate counter, the same budget, the newest messages) for the last number of messages but one, the ratio of the
last number to that, and what compactions and a cold load take. What is read of an exchange while the
model answers is in no request, and stands in a row of its own. Requests and `trim_messages` wait for nothing, so their
time is the process's CPU time, which other work on the machine does not change; compactions and loads are by the
clock.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.conversation import Conversation, open_conversation
from benchmarks.figures import Figure, Size, alone, apart, parser_of, positive, show

from palimpsest.data import load_frame
from palimpsest.domain.messages import Content, Role, TextPart, ToolCallPart, tool_result, user_message
from palimpsest_clients.anthropic import request_body

SEED: Final = 20261122
BUDGET: Final = 100_000
TRIM_TARGET: Final = 1 / 30
GROWTH_TARGET: Final = 1.5
_EXCHANGES_AT_ONCE: Final = 20
_TRIM_RUNS: Final = 8
"""Before our requests are measured, and as often after: so a processor that changes its pace slows both alike."""
_LOADS: Final = 5
Trim = Callable[[Sequence[Content]], Callable[[], list[float]]]
"""Takes the messages in; what comes back trims them some times, and says the milliseconds of each."""
WORDS: Final = (
    "the parser of module_{n} reads src/area_{n}/file_{n}.py and fails when value_{n} is empty, because test_{n} has "
    "checked what load_{n}() returned after a restart; then it ran once more with {n} rows"
).split()
_TURNS_PER_RULE: Final = 50
_UNIT: Final = "ms CPU"


def text(chance: random.Random, n_words: int) -> str:
    return " ".join(chance.choice(WORDS).format(n=chance.randint(0, 999)) for _ in range(n_words))


def coding_exchanges(chance: random.Random) -> Iterator[list[Content]]:
    """Without end: turns of a user's message, some with a standing rule, then 3 to 12 model calls; all but the last
    call one tool."""
    n_calls = 0
    for n_turns in itertools.count():
        rule = f" Never edit src/area_{n_turns}." if n_turns % _TURNS_PER_RULE == 0 else ""
        yield [user_message(f"{text(chance, chance.randint(5, 60))}.{rule}")]
        for _ in range(chance.randint(2, 11)):
            n_calls += 1
            arguments = json.dumps({"path": f"src/area_{n_calls}/file_{n_calls}.py", "query": text(chance, 4)})
            call = ToolCallPart(f"call_{n_calls}", chance.choice(("read", "search", "run")), arguments)
            said = TextPart(text(chance, chance.randint(5, 30)) + ".")
            result = "\n".join(text(chance, 8) for _ in range(chance.randint(1, 16)))
            yield [Content(Role.ASSISTANT, (said, call)), tool_result(call, result)]
        yield [Content(Role.ASSISTANT, (TextPart(text(chance, chance.randint(20, 120)) + "."),))]


async def timed_request(
    talk: Conversation, budget: int, compactions_ms: list[float]
) -> tuple[float, float, float] | None:
    """CPU milliseconds of preparing, of building the request's body and of making bytes of it; None for a compaction,
    whose time by the clock is added to `compactions_ms`."""
    version = talk.state.cut.version
    clock, started = time.perf_counter(), time.process_time()
    context = await talk.requests.prepare(talk.context, budget)
    prepared = time.process_time()
    if talk.state.cut.version != version:
        compactions_ms.append((time.perf_counter() - clock) * 1000)
        return None
    body = request_body(context)
    rendered = time.process_time()
    json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    ended = time.process_time()
    return (prepared - started) * 1000, (rendered - prepared) * 1000, (ended - rendered) * 1000


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one number of messages. Milliseconds are medians."""

    n_messages: int
    fill_s: float
    prepares_ms: Sequence[float]
    """Of each request between two compactions; as `bodies_ms` and `totals_ms`, which is both."""
    bodies_ms: Sequence[float]
    bytes_ms: float
    meanwhile_ms: Sequence[float]
    """What is read of an exchange while the model answers, before each of these requests."""
    n_pieces: int
    """In the fullest request measured."""
    compaction_ms: float
    slowest_compaction_ms: float
    n_compactions: int
    load_ms: float
    trims_ms: Sequence[float]
    """Empty where it was not measured."""

    @property
    def totals_ms(self) -> list[float]:
        return [prepare + body for prepare, body in zip(self.prepares_ms, self.bodies_ms, strict=True)]


async def measure(n_messages: int, budget: int, trim: Trim | None) -> Measured:
    compactions_ms: list[float] = []
    said: list[Content] = []
    exchanges = coding_exchanges(random.Random(SEED))
    with tempfile.TemporaryDirectory() as directory:
        talk = await open_conversation(Path(directory), budget, load_frame())
        try:
            started = time.perf_counter()
            while talk.state.n_messages < n_messages:
                contents = [content for _ in range(_EXCHANGES_AT_ONCE) for content in next(exchanges)]
                await talk.append(contents)
                await talk.rest()
                await timed_request(talk, budget, compactions_ms)
                if trim is not None:
                    said += contents
            fill_s = time.perf_counter() - started
            trim_runs = (lambda: []) if trim is None else trim(said[:n_messages])
            trims = trim_runs()
            times, n_pieces = await _between_compactions(talk, budget, exchanges, compactions_ms)
            trims += trim_runs()
            loads = [await _load(talk) for _ in range(_LOADS)]
        finally:
            await talk.store.close()
    prepares_ms, bodies_ms, bytes_ms, meanwhile_ms = zip(*times, strict=True)
    return Measured(
        n_messages,
        fill_s,
        prepares_ms,
        bodies_ms,
        statistics.median(bytes_ms),
        meanwhile_ms,
        n_pieces,
        statistics.median(compactions_ms),
        max(compactions_ms),
        len(compactions_ms),
        statistics.median(loads),
        trims,
    )


async def _between_compactions(
    talk: Conversation, budget: int, exchanges: Iterator[list[Content]], compactions_ms: list[float]
) -> tuple[list[tuple[float, float, float, float]], int]:
    """Times of the requests between the next compaction and the one after it, each with what was read before it while
    the model answered; and the pieces of the fullest."""
    times: list[tuple[float, float, float, float]] = []
    n_pieces, n_compactions = 0, 0
    while n_compactions < 2:
        await talk.append(next(exchanges))
        began = time.process_time()
        await talk.rest()
        meanwhile_ms = (time.process_time() - began) * 1000
        timed = await timed_request(talk, budget, compactions_ms)
        n_compactions += timed is None
        if timed is not None and n_compactions == 1:
            times.append((*timed, meanwhile_ms))
            n_pieces = max(n_pieces, len(talk.state.pieces))
    return times, n_pieces


async def _load(talk: Conversation) -> float:
    talk.engine.forget(talk.state.id)
    started = time.perf_counter()
    await talk.engine.state(talk.state.id)
    return (time.perf_counter() - started) * 1000


def load_trim(budget: int) -> Trim | None:
    """None where langchain-core is not installed."""
    try:
        langchain = importlib.import_module("langchain_core.messages")
    except ImportError:
        return None

    def convert(content: Content) -> Any:
        match content.role:
            case Role.USER:
                return langchain.HumanMessage(content.text)
            case Role.ASSISTANT:
                calls = [{"id": c.call_id, "name": c.name, "args": json.loads(c.arguments)} for c in content.calls]
                return langchain.AIMessage(content.text, tool_calls=calls)
            case Role.TOOL:
                (result,) = content.results
                return langchain.ToolMessage(result.text, tool_call_id=result.call_id)

    def trim(contents: Sequence[Content]) -> Callable[[], list[float]]:
        messages = [convert(content) for content in contents]

        def run() -> list[float]:
            times = []
            for _ in range(_TRIM_RUNS):
                started = time.process_time()
                kept = langchain.trim_messages(
                    messages,
                    max_tokens=budget,
                    token_counter=langchain.utils.count_tokens_approximately,
                    strategy="last",
                )
                times.append((time.process_time() - started) * 1000)
                assert 0 < len(kept) < len(messages)
            return times

        return run

    return trim


def report(measured: Measured) -> None:
    print(f"{measured.n_messages:,} messages, filled in {measured.fill_s:.0f} s, {measured.n_compactions} compactions")
    prepare_ms, body_ms, meanwhile_ms = (
        statistics.median(each) for each in (measured.prepares_ms, measured.bodies_ms, measured.meanwhile_ms)
    )
    print(
        f"  a request     {statistics.median(measured.totals_ms):7.2f} ms: prepare {prepare_ms:.2f}, request body "
        f"{body_ms:.2f} (its JSON text {measured.bytes_ms:.2f} ms more); {meanwhile_ms:.2f} ms before it; "
        f"{len(measured.bodies_ms)} requests of up to {measured.n_pieces} pieces"
    )
    print(f"  a compaction  {measured.compaction_ms:7.0f} ms, the slowest {measured.slowest_compaction_ms:.0f} ms")
    print(f"  a cold load   {measured.load_ms:7.0f} ms")


def measured_at(sizes: Sequence[int], budget: int = BUDGET) -> list[Figure]:
    """The comparison with `trim_messages` is made at the last size but one, the growth is from there to the last."""
    trim = load_trim(budget)
    print(f"prepare: requests at a budget of {budget:,} tokens, seed {SEED}")
    measured: list[Measured] = []
    for n_messages in sizes:
        compared = trim if n_messages == sizes[-2:][0] else None
        measured.append(asyncio.run(measure(n_messages, budget, compared)))
        report(measured[-1])
    before, last = measured[-2:][0], measured[-1]
    found = []
    if before.trims_ms:
        trimming, where = "LangChain's `trim_messages`", f"{before.n_messages:,} messages"
        found.append(
            apart(
                f"preparing a request, {where}", before.trims_ms, before.prepares_ms, trimming, TRIM_TARGET, _UNIT,
                note="its new messages were read before, while the model answered: two rows below",
            )
        )  # fmt: skip
        whole = f"the same with its body for a service, {where}"
        found.append(apart(whole, before.trims_ms, before.totals_ms, trimming, None, _UNIT))
        read = f"what is read of an exchange while the model answers, {where}"
        found.append(alone(read, before.meanwhile_ms, None, _UNIT))
    if last is not before:
        growth = tuple((each.n_messages, statistics.median(each.totals_ms)) for each in measured)
        figure = apart(
            f"a request, {last.n_messages:,} messages",
            before.totals_ms,
            last.totals_ms,
            f"the same at {before.n_messages:,}",
            GROWTH_TARGET,
            _UNIT,
        )
        found.append(replace(figure, growth=growth))
    compactions = [each.compaction_ms for each in measured]
    note = "on a thread of its own, while the answer waits"
    found.append(
        alone(
            f"summarizing when a window of {budget:,} tokens is full, median at each size", compactions, 100, note=note
        )
    )
    found.append(alone("the slowest of those", [max(each.slowest_compaction_ms for each in measured)], None))
    return found


def figures(size: Size) -> list[Figure]:
    return measured_at((1_000, 10_000, 100_000)) if size is Size.FULL else measured_at((100, 200, 300), 8_000)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("MESSAGES", nargs="*", type=positive, help="by default 1,000 10,000 100,000")
    show(measured_at(parser.parse_args().MESSAGES or (1_000, 10_000, 100_000)))
