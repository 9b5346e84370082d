"""What a long history costs: the first answers after a start, memory, taking messages in, and purging them.

    python -m benchmarks.history

The real server over stores with made-up conversations (seeded), which it has imported itself; a fake service answers.

1. From the start of a server to its answer to a chat in a conversation of 10,000 messages, and to `usage` with 100,000
   messages in the store, beside the same with 10.
2. The memory of a server that holds 100,000 messages and as many facts, after a chat and a search, beside the same
   with 10 of each.
3. Appending one message (counted, chained by digests, stored, indexed), and importing 10,000, beside tiktoken alone,
   which counts them, and bare sqlite3, which inserts them: in one transaction each, and in one for all. An import
   answers when the messages are stored, so its rows say what is waited for: that; that they are counted (the answer
   to `usage`); that all are indexed for search, beside sqlite3 that also fills one full-text table; and, in a server
   of its own, that a chat is answered which was sent at once.
4. Purging 8,000 messages, of which nothing stays in the file, beside one DELETE of as many rows in a bare table; and
   how long a `usage` of another conversation waits meanwhile.

The bare databases are set up as the store is (a write-ahead log, `synchronous = normal`), and overwrite what is deleted
as it does. tiktoken counts the same texts with the vocabulary that the server counts with, after it was loaded; it gets
them in memory, while ours reads a file of JSON lines, checks it, and chains the messages by digests.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.conversation import open_conversation
from benchmarks.editor import OURS, VOCABULARY, Client, Service, on, started
from benchmarks.figures import Figure, Size, alone, beside, show
from benchmarks.prepare import BUDGET, text
from benchmarks.startup import memory_mib

from palimpsest.data import load_frame
from palimpsest.domain.facts.fact import Fact, FactType
from palimpsest.domain.messages import user_message
from palimpsest.machine import utc_now
from palimpsest.services.conversation.pending_work import do_pending_work
from palimpsest.services.models.tokenizers import load_tokenizer
from palimpsest.storage.conversation.pending_work import Kind
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.facts import facts
from palimpsest.storage.store import open_store

SEED: Final = 20261128
FEW: Final = 10
_PER_CONVERSATION: Final = 10_000
_FACTS_AT_ONCE: Final = 1_000
_PING_S: Final = 0.01
_APPENDED: Final = 40
"""Messages that are appended one by one, in each run."""
_IMPORTS: Final = 3
"""At most: until all of one is indexed takes long."""


@dataclass(frozen=True, slots=True)
class Home:
    """A folder with its data, and the conversation that is chatted in."""

    path: Path
    conversation_id: str


def messages(n_messages: int, chance: random.Random) -> list[dict[str, str]]:
    """A user's and an assistant's, in turn."""
    return [
        {"role": "assistant" if number % 2 else "user", "content": text(chance, chance.randint(5, 120))}
        for number in range(n_messages)
    ]


async def import_messages(client: Client, folder: Path, said: Sequence[dict[str, str]]) -> tuple[str, float]:
    """The id of the new conversation, and the milliseconds that it took."""
    file = folder / "recorded.jsonl"
    await asyncio.to_thread(file.write_text, "".join(json.dumps(each) + "\n" for each in said), "utf-8")
    began = time.perf_counter()
    done = await client.request("palimpsest/conversation/import", {"path": str(file)})
    return str(done["conversation"]["conversationId"]), (time.perf_counter() - began) * 1000


async def chat(client: Client, conversation_id: str) -> None:
    params = {"requestId": f"{time.perf_counter_ns()}", "text": "And now?", "conversationId": conversation_id}
    await client.request("palimpsest/chat", params)


async def fill(path: Path, service: Service, n_messages: int, n_facts: int) -> Home:
    """Imports the messages, the first conversation in one piece of at most 10,000, and chats once, as in use."""
    chance = random.Random(SEED)
    await asyncio.to_thread(path.mkdir)
    first = ""
    async with started(OURS, path, **on(service)) as client:
        for start in range(0, n_messages, _PER_CONVERSATION):
            said = messages(min(_PER_CONVERSATION, n_messages - start), chance)
            conversation_id, _ = await import_messages(client, path, said)
            first = first or conversation_id
        await chat(client, first)
    (database,) = await asyncio.to_thread(lambda: list(path.rglob(DATABASE_NAME)))
    store = await open_store(database.parent)
    for start in range(0, n_facts, _FACTS_AT_ONCE):
        told = [text(chance, 12) for _ in range(min(_FACTS_AT_ONCE, n_facts - start))]

        def write(told: Sequence[str] = told) -> None:
            for each in told:
                facts.add(Fact(FactType.CODE_STATE, each, (each.split()[0],)), 1, None, utc_now())

        await store.run(write)
    await do_pending_work(store)  # in use, the index was made long before the next start
    await store.close()
    return Home(path, first)


async def until_chat(home: Home, service: Service) -> float:
    began = time.perf_counter()
    async with started(OURS, home.path, **on(service)) as client:
        await chat(client, home.conversation_id)
        return (time.perf_counter() - began) * 1000


async def until_usage(home: Home, service: Service) -> float:
    began = time.perf_counter()
    async with started(OURS, home.path, **on(service)) as client:
        await client.request("palimpsest/usage", {"conversationId": home.conversation_id})
        return (time.perf_counter() - began) * 1000


async def memory_after_use(home: Home, service: Service) -> float:
    """MiB behind a chat and a search for facts."""
    async with started(OURS, home.path, **on(service)) as client:
        await chat(client, home.conversation_id)
        await client.request("palimpsest/facts/search", {"query": "load_7 returned rows after a restart"})
        await client.request("palimpsest/conversation/search", {"query": "load_7 rows"})
        return memory_mib(client.process.pid)


async def starts(directory: Path, service: Service, n_long: int, n_many: int, n_runs: int) -> list[Figure]:
    few = await fill(directory / "few", service, FEW, FEW)
    long = await fill(directory / "long", service, n_long, FEW)
    many = await fill(directory / "many", service, n_many, n_many)
    chats = [(await until_chat(few, service), await until_chat(long, service)) for _ in range(n_runs)]
    usages = [(await until_usage(few, service), await until_usage(many, service)) for _ in range(n_runs)]
    memory = [(await memory_after_use(few, service), await memory_after_use(many, service)) for _ in range(n_runs)]
    beside_few = f"the same with {FEW}"
    more = [many_mib - few_mib for few_mib, many_mib in memory]
    return [
        beside(
            f"first chat after a start, {n_long:,} messages",
            chats,
            beside_few,
            1.5,
            note="the newest 1,000 are read for their names, and its rules are derived",
        ),
        beside(f"`usage` after a start, {n_many:,} messages", usages, beside_few, 1.5),
        alone("memory after a first chat", [few_mib for few_mib, _ in memory], None, "MiB"),
        alone(f"more memory with {n_many:,} messages and {n_many:,} facts", more, 60, "MiB"),
    ]


class Bare:
    """tiktoken and sqlite3 alone, which is set up as the store is."""

    def __init__(self, directory: Path, vocabulary: str) -> None:
        directory.mkdir()
        self._count = load_tokenizer(vocabulary, directory).count
        self._database = bare_database(directory / "bare.db")
        self._database.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, content TEXT, tokens INTEGER)")
        self._database.execute("CREATE VIRTUAL TABLE words USING fts5(content, tokenize='unicode61')")

    def take(self, texts: Sequence[str]) -> Took:
        """Inserts them in one transaction; and what it takes more to count them, and to index their words in one."""
        began = time.perf_counter()
        tokens = [self._count(each) for each in texts]
        counted = time.perf_counter()
        rows = list(zip(texts, tokens, strict=True))
        self._database.executemany("INSERT INTO said (content, tokens) VALUES (?, ?)", rows)
        self._database.commit()
        stored = time.perf_counter()
        self._database.executemany("INSERT INTO words (content) VALUES (?)", [(each,) for each in texts])
        self._database.commit()
        return Took((stored - counted) * 1000, (stored - began) * 1000, (time.perf_counter() - began) * 1000)


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds of taking messages in."""

    stored: float
    counted: float
    """And stored."""
    indexed: float
    """And stored and counted."""


def bare_database(file: Path) -> sqlite3.Connection:
    """Set up as the store is."""
    database = sqlite3.connect(file, check_same_thread=False)
    for pragma in ("journal_mode = wal", "synchronous = normal", "secure_delete = 1", "temp_store = memory"):
        database.execute(f"PRAGMA {pragma}")
    return database


_REFERENCE: Final = "tiktoken and sqlite3 alone"


async def appends(directory: Path, n_messages: int) -> Figure:
    talk = await open_conversation(directory / "append", BUDGET, load_frame())
    bare = Bare(directory / "append-bare", talk.state.tokenizer.name)
    pairs = []
    for each in messages(n_messages, random.Random(SEED)):
        theirs = bare.take([each["content"]]).counted
        began = time.perf_counter()
        await talk.append([user_message(each["content"])])
        pairs.append((theirs, (time.perf_counter() - began) * 1000))
    await talk.close()
    return beside("appending a message", pairs, _REFERENCE, 2, note="it is indexed for search at once")


async def imports(directory: Path, service: Service, n_messages: int, n_runs: int) -> list[Figure]:
    home = directory / "imports"
    await asyncio.to_thread(home.mkdir)
    bare = Bare(directory / "imports-bare", VOCABULARY)
    pairs: list[tuple[Took, Took]] = []
    async with started(OURS, home, **on(service)) as client:
        for run in range(n_runs):
            said = messages(n_messages, random.Random(SEED + run))
            theirs = await asyncio.to_thread(bare.take, [each["content"] for each in said])
            conversation_id, stored_ms = await import_messages(client, home, said)
            began = time.perf_counter()
            await client.request("palimpsest/usage", {"conversationId": conversation_id})
            counted_ms = stored_ms + (time.perf_counter() - began) * 1000
            await until_indexed(home)
            pairs.append((theirs, Took(stored_ms, counted_ms, stored_ms + (time.perf_counter() - began) * 1000)))
    what = f"importing {n_messages:,} messages"
    stored, counted, indexed = (
        [(getattr(theirs, name), getattr(own, name)) for theirs, own in pairs]
        for name in ("stored", "counted", "indexed")
    )
    return [
        beside(f"{what}, until it is answered", stored, "sqlite3 alone", None, note="nothing is counted yet"),
        beside(
            f"{what}, until all are counted",
            counted,
            _REFERENCE,
            2,
            note="they are chained by digests, and read again to be counted",
        ),
        beside(f"{what}, until all words can be found", indexed, f"{_REFERENCE} with a full-text table", None),
    ]


async def first_answer(directory: Path, service: Service, n_messages: int) -> Figure:
    """From an import to the answer of a chat in it that was sent at once."""
    home = directory / "first"
    await asyncio.to_thread(home.mkdir)
    async with started(OURS, home, **on(service)) as client:
        conversation_id, stored_ms = await import_messages(client, home, messages(n_messages, random.Random(SEED)))
        began = time.perf_counter()
        await chat(client, conversation_id)
        took = stored_ms + (time.perf_counter() - began) * 1000
    what = f"importing {n_messages:,} messages, until a chat in them is answered"
    return alone(what, [took], None, note=_READ_FIRST)


_READ_FIRST: Final = (
    "they are looked through for rules first: half of them are a user's, of recorded sessions one in fifteen"
)
_STILL_INDEXED: Final = "of messages that are still being indexed"


async def until_indexed(home: Path) -> None:
    (file,) = await asyncio.to_thread(lambda: list(home.rglob(DATABASE_NAME)))
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        # Nothing tells of it.
        while database.execute("SELECT 1 FROM pending_work WHERE kind = ?", (Kind.INDEX.value,)).fetchone():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def delete_rows(file: Path, said: Sequence[dict[str, str]]) -> float:
    """Milliseconds of a DELETE that visits the rows: without a condition SQLite only frees the pages of the table."""
    with contextlib.closing(bare_database(file)) as bare:
        bare.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, role TEXT, content TEXT)")
        bare.executemany("INSERT INTO said (role, content) VALUES (?, ?)", [tuple(each.values()) for each in said])
        bare.commit()
        began = time.perf_counter()
        bare.execute("DELETE FROM said WHERE id > 0")
        bare.commit()
        return (time.perf_counter() - began) * 1000


async def ping(client: Client, conversation_id: str, waits: list[float], ending: asyncio.Event) -> None:
    """Asks for the usage again and again."""
    while not ending.is_set():
        began = time.perf_counter()
        await client.request("palimpsest/usage", {"conversationId": conversation_id})
        waits.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(_PING_S)


async def purges(directory: Path, service: Service, n_messages: int) -> list[Figure]:
    said = messages(n_messages, random.Random(SEED))
    bare = await asyncio.to_thread(delete_rows, directory / "delete.db", said)
    home = directory / "purge"
    await asyncio.to_thread(home.mkdir)
    async with started(OURS, home, **on(service)) as client:
        other = await client.request("palimpsest/conversation/create", {})
        conversation_id, _ = await import_messages(client, home, said)
        waits: list[float] = []
        ending = asyncio.Event()
        pinging = asyncio.create_task(ping(client, other["conversationId"], waits, ending))
        await asyncio.sleep(1)
        waits.clear()
        began = time.perf_counter()
        await client.request("palimpsest/conversation/purge", {"conversationId": conversation_id, "confirm": True})
        took = (time.perf_counter() - began) * 1000
        ending.set()
        await pinging
    return [
        beside(f"purging {n_messages:,} messages", [(bare, took)], "one DELETE of as many rows", None),
        alone("the longest wait of another request meanwhile", [max(waits)], 50, note=_STILL_INDEXED),
    ]


async def measure(n_long: int, n_many: int, n_purged: int, n_runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        async with Service() as service:
            found = [await appends(directory, _APPENDED * n_runs)]
            found += await imports(directory, service, n_long, min(n_runs, _IMPORTS))
            found.append(await first_answer(directory, service, n_long))
            found += await purges(directory, service, n_purged)
            found += await starts(directory, service, n_long, n_many, n_runs)
            return found


def figures(size: Size) -> list[Figure]:
    return asyncio.run(measure(*((10_000, 100_000, 8_000, 5) if size is Size.FULL else (300, 500, 200, 1))))


if __name__ == "__main__":
    show(figures(Size.FULL))
