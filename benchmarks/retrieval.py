"""How long a query takes over many messages and facts, beside one bare full-text query over the same rows.

    python -m benchmarks.retrieval [ROWS]

Fills a store with ROWS (100,000) made-up messages and as many facts (seeded), through the functions that turns and the
librarian use. The bare query is an FTS5 table of its own with the same texts, asked for any of the same words by bm25,
limit 400. Both are asked the same questions in turn, by CPU time, so that other work on the machine does not count.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Size, beside, numbers, show
from benchmarks.prepare import text

from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.facts.fact import Fact, FactType
from palimpsest.domain.facts.retrieval.words import to_terms
from palimpsest.domain.messages import Content, ConversationId, Role, TextPart, user_message
from palimpsest.services.facts.retrieval import Question, Retriever
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.facts import facts
from palimpsest.storage.store import Store, open_store

SEED: Final = 20261122
TARGET: Final = 1.5
_CONVERSATION: Final = ConversationId("benchmark")
_NOW: Final = "2026-03-20T10:00:00.000Z"
_BATCH: Final = 500


def messages(chance: random.Random) -> Iterator[Content]:
    """Short ones of a user and longer ones of an assistant, in turn."""
    while True:
        yield user_message(text(chance, chance.randint(5, 40)))
        yield Content(Role.ASSISTANT, (TextPart(text(chance, chance.randint(20, 120))),))


def questions(chance: random.Random) -> Iterator[str]:
    while True:
        n = chance.randint(0, 999)
        yield f"Which of my rows did load_{n}() return after a restart of module_{chance.randint(0, 999)} last time?"


async def fill(store: Store, bare: sqlite3.Connection, n_rows: int, chance: random.Random) -> float:
    """Milliseconds of CPU time for each message and fact together."""
    said = messages(chance)
    await store.run(conversations.create, _CONVERSATION, "benchmark", "offline", _NOW)
    started = time.process_time()
    for _ in range(0, n_rows, _BATCH):
        contents = list(itertools.islice(said, _BATCH))
        told = [text(chance, 12) for _ in range(_BATCH)]

        def write(contents: Sequence[Content] = contents, told: Sequence[str] = told) -> None:
            message_log.append(_CONVERSATION, contents, _NOW)
            for each in told:
                facts.add(Fact(FactType.CODE_STATE, each, (each.split()[0],)), 1, None, _NOW)

        await store.run(write)
        rows = [(content.text,) for content in contents] + [(each,) for each in told]
        bare.executemany("INSERT INTO bare (words) VALUES (?)", rows)
    return (time.process_time() - started) / n_rows * 1000


def ask_bare(bare: sqlite3.Connection, question: str) -> float:
    started = time.process_time()
    terms = to_terms(question)
    expression = " OR ".join(f'"{word}"' for word in (*terms.telling, *terms.asking))
    found = bare.execute(
        "SELECT rowid FROM bare WHERE bare MATCH ? ORDER BY bm25(bare) LIMIT 400", (expression,)
    ).fetchall()
    assert found
    return (time.process_time() - started) * 1000


async def ask(retriever: Retriever, question: str) -> float:
    started = time.process_time()
    assert await retriever.search(Question(question, _CONVERSATION, _NOW), 50)
    return (time.process_time() - started) * 1000


async def measure(n_rows: int, n_queries: int) -> Figure:
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory() as directory:
        store = await open_store(Path(directory) / "store")
        bare = sqlite3.connect(Path(directory) / "bare.db")
        bare.execute("CREATE VIRTUAL TABLE bare USING fts5(words, tokenize='porter unicode61 remove_diacritics 2')")
        fill_ms = await fill(store, bare, n_rows, chance)
        bare.commit()
        retriever = Retriever(store, count_bytes)
        ours: list[float] = []
        theirs: list[float] = []
        for question in itertools.islice(questions(chance), n_queries):
            theirs.append(ask_bare(bare, question))
            ours.append(await ask(retriever, question))
        bare.close()
        await store.close()
    print(
        f"retrieval: {n_rows:,} messages and {n_rows:,} facts, seed {SEED}, CPU time; filled in {fill_ms:.2f} ms each"
    )
    what = f"retrieval over {n_rows:,} messages and {n_rows:,} facts"
    note = "ours looks in three columns, for parts of words and for neighbors too, and for telling words twice"
    return beside(what, list(zip(theirs, ours, strict=True)), "one bare FTS5 query", TARGET, "ms CPU", note=note)


def figures(size: Size) -> list[Figure]:
    n_rows, n_queries = (100_000, 25) if size is Size.FULL else (2_000, 3)
    return [asyncio.run(measure(n_rows, n_queries))]


if __name__ == "__main__":
    (wanted,) = numbers(__doc__, ROWS=100_000)
    show([asyncio.run(measure(wanted, 25))])
