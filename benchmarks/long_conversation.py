"""A conversation that never ends: does it fit for ever, and how do summaries, times and memory grow?

    python -m benchmarks.long_conversation [TURNS] [BUDGET] [--coding] [--no-recall] [--trace]

Feeds made-up turns (seeded) through the real engine and store: each begins a turn, which is told what its context
lacks, prepares a request for it and stores an answer. --coding: with calls of tools, as in `prepare`, a request for
each model call. --no-recall: turns are told nothing, so the time is that of the contexts alone.

At every power of ten it prints messages, summaries in the context, the fullest request so far, the share of prompt
tokens in an unchanged prefix, the memory that came with each 10,000 messages since the first thousand, and the time of
a request over the last tenth beside that of the first ten; at the end the time of a whole turn, which tells of writing
too. Times are the process's CPU time on all threads, which other work on the machine does not change. A standing rule
of the first turn must stand in every request. --trace prints which lines of code hold the most memory at the end; times
mean nothing then.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import random
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
from benchmarks.conversation import Conversation, Setup, open_conversation
from benchmarks.figures import Figure, Size, alone, apart
from benchmarks.prepare import coding_exchanges

from palimpsest.data import load_frame
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import Content, Role, TextPart, user_message
from palimpsest.services.context.requests import Beginning
from palimpsest.storage.context import summary_tree
from palimpsest.storage.directory import DATABASE_NAME

SEED: Final = 20261121
RULE: Final = "Never use tabs."
TARGET_MIB: Final = 15.0
"""For 10,000 messages."""
_SYLLABLES: Final = "ba co di fu ga he jo ka le mi no pe ru sa ti vo we zu lan mer".split()
WORDS: Final = tuple("".join(each) for each in itertools.product(_SYLLABLES, _SYLLABLES, ("n", "r", "s", "t", "x")))
_OFTEN: Final = tuple(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(WORDS))))
"""How often each word comes, as in a language: a few are everywhere, most are rare."""
_NAMES: Final = ("value_{}", "src/module_{}.py", "load_rows_{}()")
_TURNS_PER_NAME, _NAMES_IN_USE, _NAME_SHARE = 5, 30, 0.12
"""Of the words: exact names, a few at a time, and new ones again and again."""
_FIRST_MESSAGES: Final = 1_000
"""Memory counts from here on: caches are full by then."""
_MOST_PLACES: Final = 25

Step = Sequence[Content]
"""What one model call leaves: its answer, with the results of its calls."""
Turn = tuple[Content, Sequence[Step]]
"""A user's message, and the steps of the answer."""


def text(chance: random.Random, n_words: int, n_turns: int) -> str:
    """Sentences, at that turn of a conversation."""
    words = chance.choices(WORDS, cum_weights=_OFTEN, k=n_words)
    for place in range(n_words):
        if chance.random() < _NAME_SHARE:
            words[place] = chance.choice(_NAMES).format(n_turns // _TURNS_PER_NAME + chance.randrange(_NAMES_IN_USE))
    return " ".join(words) + "."


def talk(chance: random.Random) -> Iterator[Turn]:
    """Questions and answers, without end."""
    for number in itertools.count():
        question = user_message(text(chance, chance.randint(5, 60), number))
        answer = TextPart(text(chance, chance.randint(20, 300), number))
        yield question, [[Content(Role.ASSISTANT, (answer,))]]


def coding(chance: random.Random) -> Iterator[Turn]:
    """Turns with three to twelve model calls, without end."""
    asked: Content | None = None
    steps: list[Step] = []
    for exchange in coding_exchanges(chance):
        if exchange[0].role is not Role.USER:
            steps.append(exchange)
            continue
        if asked is not None:
            yield asked, steps
        asked, steps = exchange[0], []


@dataclass(slots=True)
class Measured:
    """What was measured so far."""

    fullest: float = 0.0
    prompt_tokens: int = 0
    unchanged_tokens: int = 0
    requests_ms: list[float] = field(default_factory=list)
    turns_ms: list[float] = field(default_factory=list)
    n_text_bytes: int = 0
    """Of all messages, in UTF-8."""
    first_memory: tuple[int, float] | None = None
    """Messages and MiB when the first thousand were there."""
    _before: list[object] = field(default_factory=list)

    def add(self, conversation: Conversation, context: PreparedContext, ms: float) -> None:
        pieces = conversation.state.pieces
        self.requests_ms.append(ms)
        self.fullest = max(self.fullest, context.upper_tokens / context.limit_tokens)
        n_same = 0
        for old, new in zip(self._before, pieces, strict=False):
            if old != new:
                break
            n_same += 1
        self.prompt_tokens += sum(piece.tokens for piece in pieces)
        self.unchanged_tokens += sum(piece.tokens for piece in pieces[:n_same])
        self._before = list(pieces)
        assert any(RULE in message.text for message in context.messages)

    def growth_mib(self, n_messages: int) -> float | None:
        """For 10,000 messages; None in the beginning."""
        if self.first_memory is None:
            self.first_memory = (n_messages, memory_mib()) if n_messages >= _FIRST_MESSAGES else None
            return None
        n_first, first_mib = self.first_memory
        return (memory_mib() - first_mib) / max(n_messages - n_first, 1) * 10_000 if n_messages > n_first else None


def memory_mib() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def text_bytes(content: Content) -> int:
    texts = [content.text, *(result.text for result in content.results)]
    texts += [text for call in content.calls for text in (call.name, call.arguments)]
    return sum(len(each.encode()) for each in texts)


def disk_size_mib(directory: Path) -> float:
    (file,) = directory.rglob(DATABASE_NAME)
    return file.stat().st_size / 2**20


async def play(conversation: Conversation, turn: Turn, figures: Measured) -> None:
    """One turn: its message, a request for each step, and what each step leaves."""
    question, steps = turn
    figures.n_text_bytes += sum(text_bytes(each) for each in (question, *itertools.chain(*steps)))
    began = time.process_time()
    turn_id = await conversation.ask(question)
    for number, step in enumerate(steps):
        started = time.process_time()
        state = conversation.state
        beginning = Beginning(turn_id, state.frame) if number == 0 else None
        context = await conversation.requests.prepare(conversation.context, state.budget.budget, beginning=beginning)
        figures.add(conversation, context, (time.process_time() - started) * 1000)
        await conversation.append(step)
    figures.turns_ms.append((time.process_time() - began) * 1000)


async def run(n_turns: int, budget: int, *, codes: bool, recalls: bool) -> list[Figure]:
    chance = random.Random(SEED)
    print(f"{n_turns} turns at a budget of {budget} tokens, seed {SEED}")
    print("   turns  messages  summaries  fullest  prefix  MiB for 10,000   request, of the last tenth")
    with tempfile.TemporaryDirectory() as directory:
        conversation = await open_conversation(Path(directory), budget, load_frame(), Setup(recalls=recalls))
        figures = Measured()
        for number, turn in enumerate(itertools.islice((coding if codes else talk)(chance), n_turns), 1):
            question = user_message(f"{RULE} {turn[0].text}") if number == 1 else turn[0]
            await play(conversation, (question, turn[1]), figures)
            growth = figures.growth_mib(conversation.state.n_messages) if number % 100 == 0 else None
            if number in (10, 100, 1_000, 10_000, n_turns):
                print(_line(number, conversation, figures, growth), flush=True)
        growth = figures.growth_mib(conversation.state.n_messages)
        nodes = await conversation.store.read(summary_tree.nodes, conversation.state.id)
        deepest = max((node.level for node in nodes.values()), default=0)
        print(f"{len(nodes)} summaries written, the highest of level {deepest}")
        print(f"a whole turn, of the last tenth: {_times(figures.turns_ms)}")
        if growth is not None:
            print(
                f"memory: {growth:.1f} MiB for 10,000 messages (target {TARGET_MIB:.0f}), {memory_mib():.0f} MiB in all"
            )
        if tracemalloc.is_tracing():
            for held in tracemalloc.take_snapshot().statistics("lineno")[:_MOST_PLACES]:
                place = "/".join((*Path(held.traceback[0].filename).parts[-3:], str(held.traceback[0].lineno)))
                print(f"{held.size / 2**20:8.1f} MiB {held.count:9}  {place}")
        n_messages = conversation.state.n_messages
        await conversation.close()
        disk_mib = disk_size_mib(Path(directory))
    first, last = figures.requests_ms[:_FEW], _last_tenth(figures.requests_ms)
    where = f"after {n_turns:,} questions at {budget:,} tokens"
    found = [
        apart(f"a request {where}", first, last, f"the first {_FEW}", None, "ms CPU"),
        alone(f"the fullest request {where}", [figures.fullest], 1, ""),
        alone(f"levels of summaries {where}", [deepest], math.ceil(math.log2(n_turns)), "", note="at most log2"),
    ]
    if growth is not None:
        found.append(alone(f"memory for 10,000 messages {where}", [growth], TARGET_MIB, "MiB"))
    text_mib = figures.n_text_bytes / 2**20
    sizes = [each / n_messages * 10_000 for each in (text_mib, disk_mib)]
    found.append(apart(f"disk for 10,000 messages {where}", sizes[:1], sizes[1:], "their text", None, "MiB"))
    return found


_FEW: Final = 10


def _line(n_turns: int, conversation: Conversation, figures: Measured, growth: float | None) -> str:
    state = conversation.state
    first = statistics.median(figures.requests_ms[:_FEW])
    now = statistics.median(_last_tenth(figures.requests_ms))
    return (
        f"{n_turns:8} {state.n_messages:9} {state.n_blocks:10} {figures.fullest:8.1%} "
        f"{figures.unchanged_tokens / figures.prompt_tokens:7.1%}  {'-' if growth is None else f'{growth:.1f}':>14}"
        f"   {_times(figures.requests_ms)}, {now / first:.1f} x the first ten"
    )


def _last_tenth(times: Sequence[float]) -> Sequence[float]:
    return times[-max(len(times) // 10, 5) :]


def _times(times: Sequence[float]) -> str:
    last = sorted(_last_tenth(times))
    return f"median {statistics.median(last):.1f} ms, p99 {last[int(0.99 * (len(last) - 1))]:.0f} ms"


def figures(size: Size) -> list[Figure]:
    n_turns = 5_000 if size is Size.FULL else 60
    return asyncio.run(run(n_turns, 16_000, codes=False, recalls=False))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_conversation")
    parser.add_argument("turns", nargs="?", type=int, default=5_000)
    parser.add_argument("budget", nargs="?", type=int, default=16_000)
    parser.add_argument("--coding", action="store_true")
    parser.add_argument("--no-recall", action="store_true")
    parser.add_argument("--trace", action="store_true")
    arguments = parser.parse_args(words)
    if arguments.trace:
        tracemalloc.start()
    asyncio.run(run(arguments.turns, arguments.budget, codes=arguments.coding, recalls=not arguments.no_recall))


if __name__ == "__main__":
    main()
