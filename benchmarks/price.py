"""What the requests of a long session cost, beside simpler ways to keep a conversation in its window.

    python -m benchmarks.price [EXCHANGES] [BUDGET]

A made-up coding session (seeded) of many exchanges, a request before each. A service that keeps the beginning of a
prompt is taken to charge a tenth, as Claude does (others a quarter or half, some the whole), for as much of a request
as the one before began with. The price of a way is the sum over its requests of all characters, less nine tenths of the
unchanged ones, and what a summarizing model had to read. Beside ours: the newest messages that fit (`trim_messages` of
langchain-core), and the summarizing middleware of LangChain (where `make bench-servers` has installed it) with its own
count of tokens and 20 messages kept. Our summaries are those without a model. Tools and the system message are the same
in all and left out.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.conversation import open_conversation
from benchmarks.figures import Figure, Size, Spread, alone, show
from benchmarks.prepare import coding_exchanges
from benchmarks.startup import SERVERS
from langchain_core.messages import AIMessage, HumanMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

from palimpsest.data import load_frame
from palimpsest.domain.messages import Content, Role

SEED: Final = 20261128
_CACHED: Final = 0.1
"""The price of an unchanged beginning."""
_PYTHON: Final = SERVERS / "python" / "bin" / "python"
_MIDDLEWARE: Final = Path(__file__).with_name("summarizing_middleware.py")
_TARGET: Final = 1 / 3
_KEEPS_LESS: Final = "it keeps 20 messages and a summary of the last 4,000 tokens before them"


@dataclass(slots=True)
class Bill:
    """What the requests of one way cost."""

    n_chars: int = 0
    n_unchanged: int = 0
    n_asked: int = 0
    """Characters that a summarizing model had to read."""
    _before: Sequence[str] = field(default_factory=tuple)

    def add(self, sent: Sequence[str], asked: int = 0) -> None:
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(self._before, sent, strict=False))
        self.n_unchanged += sum(len(text) for text, _ in same)
        self.n_chars += sum(map(len, sent))
        self.n_asked += asked
        self._before = sent

    @property
    def price(self) -> float:
        return self.n_chars - (1 - _CACHED) * self.n_unchanged + self.n_asked


def text_of(content: Content) -> str:
    """All that is sent of a message."""
    calls = "".join(f"{each.name}{each.arguments}" for each in content.calls)
    return content.text + calls + "".join(each.text for each in content.results)


async def ours(exchanges: Sequence[Sequence[Content]], budget: int) -> Bill:
    bill = Bill()
    with tempfile.TemporaryDirectory() as directory:
        talk = await open_conversation(Path(directory), budget, load_frame())
        for each in exchanges:
            await talk.append(each)
            await talk.rest()
            context = await talk.requests.prepare(talk.context, budget)
            bill.add([text_of(message) for message in context.messages])
        await talk.close()
    return bill


def newest(exchanges: Sequence[Sequence[Content]], budget: int) -> Bill:
    bill = Bill()
    said: list[Any] = []
    for each in exchanges:
        said += [(HumanMessage if one.role is Role.USER else AIMessage)(text_of(one)) for one in each]
        kept = trim_messages(said, max_tokens=budget, token_counter=count_tokens_approximately, strategy="last")
        bill.add([str(message.content) for message in kept])
    return bill


def summarizing(exchanges: Sequence[Sequence[Content]], budget: int) -> Bill | None:
    """None where the middleware is not installed."""
    if not _PYTHON.exists():
        return None
    requests = [[["user" if one.role is Role.USER else "ai", text_of(one)] for one in each] for each in exchanges]
    given = json.dumps({"budget": budget, "requests": requests})
    done = subprocess.run([_PYTHON, _MIDDLEWARE], input=given, capture_output=True, text=True, check=True)
    bill = Bill()
    for request in json.loads(done.stdout):
        bill.add(request["sent"], request["asked"])
    return bill


def measure(n_exchanges: int, budget: int) -> list[Figure]:
    exchanges = list(itertools.islice(coding_exchanges(random.Random(SEED)), n_exchanges))
    own = asyncio.run(ours(exchanges, budget))
    where = f"{n_exchanges} exchanges at {budget:,} tokens"
    share = own.n_unchanged / own.n_chars
    found = [alone(f"unchanged beginning of requests, {where}", [share], 0.95, "", is_least=True)]
    others = [
        ("the newest messages that fit", newest(exchanges, budget), ""),
        ("LangChain's summarizing middleware", summarizing(exchanges, budget), _KEEPS_LESS),
    ]
    for name, other, note in others:
        theirs = None if other is None else other.price / n_exchanges
        found.append(
            Figure(
                f"price of a request, {where}",
                "characters",
                Spread.of([own.price / n_exchanges]),
                name,
                None if theirs is None else Spread.of([theirs]),
                0.0 if theirs is None else own.price / n_exchanges / theirs,
                _TARGET,
                note=note,
            )
        )
    return found


def figures(size: Size) -> list[Figure]:
    return measure(*((1_000, 32_000) if size is Size.FULL else (30, 4_000)))


if __name__ == "__main__":
    show(measure(*([int(each) for each in sys.argv[1:]] or (1_000, 32_000))))
