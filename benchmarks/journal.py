"""What it costs that a delta is durable before an editor sees it, and whether a server stays small and quick to start.

    python -m benchmarks.journal [--deltas N] [--turns N] [--messages N] [--runs N]

Three measurements of the real server, each against a reference measured in the same run:

1. The time of a delta from the socket of a model's service to `$/progress`, and the rate when the service does not
   pause, against a pygls server that passes the same stream on and keeps nothing (`bare_relay.py`). Target: 2.
2. Memory over accelerated turns: short answers, and a budget so small that summaries are written all the time.
   Against its memory after the first tenth of the turns; growth of at most 10 % is the target, which is stated for
   10,000 turns, so after the first 1,000. The default is fewer, because 10,000 take many minutes.
3. The time from starting a server to its answer to `usage`, in a store of many messages in conversations of a hundred
   each, against a store with one conversation and no message. Target: 3.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import psutil

from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.machine import utc_now
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.store import open_store

RELAY: Final = [sys.executable, "-P", str(Path(__file__).with_name("bare_relay.py"))]
OURS: Final = [sys.executable, "-P", "-m", "palimpsest", "serve", "--stdio"]
PAUSE_S: Final = 0.01
"""Between two deltas of a service that writes at its own pace."""
PER_CONVERSATION: Final = 100
"""Messages of a conversation in the large store."""
ANSWER: Final = "The pump parser reads src/module_7.py and fails when value_7 is empty, because nobody checked it. " * 4


class Service:
    """A model's service on loopback. A text delta is the moment it was written, in nanoseconds, and a blank."""

    def __init__(self) -> None:
        self.n_deltas = 0
        """0: the answer is `ANSWER`, at once."""
        self.pause_s = 0.0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET"):  # a list of models, of which this service has none
                writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            else:
                (length,) = (int(line[15:]) for line in head.split(b"\r\n") if line.lower()[:15] == b"content-length:")
                await reader.readexactly(length)
                prompt_tokens = length // 4
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
                await self._stream(writer, prompt_tokens)
            await writer.drain()
        writer.close()

    async def _stream(self, writer: asyncio.StreamWriter, prompt_tokens: int) -> None:
        if not self.n_deltas:
            writer.write(_chunk({"content": ANSWER}))
        for _ in range(self.n_deltas):
            writer.write(_chunk({"content": f"{time.perf_counter_ns()} "}))
            await writer.drain()
            await asyncio.sleep(self.pause_s)
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(ANSWER) // 4}
        writer.write(_chunk({}, "stop") + _event({"choices": [], "usage": usage}) + b"data: [DONE]\n\n")


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


@dataclass
class Client:
    """As little of an editor as can be measured with."""

    process: asyncio.subprocess.Process
    progress: Callable[[dict[str, Any]], None] = lambda _: None
    """Called with every value of `$/progress` as it comes."""
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _pending: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def request(self, method: str, params: Any) -> dict[str, Any]:
        """The result."""
        message_id = next(self._ids)
        answer = self._pending[message_id] = asyncio.get_running_loop().create_future()
        self.send({"id": message_id, "method": method, "params": params})
        message = await asyncio.wait_for(answer, 300)
        if "error" in message:
            raise SystemExit(f"{method} failed: {message['error']['message']}")
        result: dict[str, Any] = message["result"]
        return result

    async def read(self) -> None:
        """Takes in what the server sends, until it ends."""
        assert self.process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                header = await self.process.stdout.readuntil(b"\r\n\r\n")
                (length,) = (int(line[15:]) for line in header.split(b"\r\n") if line[:15] == b"Content-Length:")
                message = json.loads(await self.process.stdout.readexactly(length))
                if message.get("method") == "$/progress":
                    self.progress(message["params"]["value"])
                elif "method" not in message:
                    self._pending.pop(message["id"]).set_result(message)
                elif "id" in message:
                    self.send({"id": message["id"], "result": None})


@contextlib.asynccontextmanager
async def started(command: list[str], home: Path, **more: str) -> AsyncIterator[Client]:
    """An initialized server on the folder `home`, with its data there; ended with the block."""
    places = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 26,
        env=os.environ | dict.fromkeys(places, str(home)) | more,
    )
    client = Client(process)
    reading = asyncio.create_task(client.read())
    try:
        params: dict[str, Any] = {"processId": None, "rootUri": home.as_uri(), "capabilities": {}}
        params["workspaceFolders"] = [{"uri": home.as_uri(), "name": "x"}]
        await client.request("initialize", params)
        client.send({"method": "initialized", "params": {}})
        yield client
        await client.request("shutdown", None)
        client.send({"method": "exit"})
        await asyncio.wait_for(process.wait(), 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading


def on(service: Service) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{service.url}/v1",
        "PALIMPSEST_MODEL": "gpt-4o",
        "PALIMPSEST_SUMMARIZATION_KIND": "extractive",
        "PALIMPSEST_LIBRARIAN_DAILY_TOKENS": "0",
    }


@dataclass
class Arrivals:
    """When the deltas of one answer came."""

    latencies_ms: list[float] = field(default_factory=list)
    first_ns: int = 0
    last_ns: int = 0

    def take(self, value: dict[str, Any]) -> None:
        if value["type"] != "text":
            return
        now = time.perf_counter_ns()
        sent = [int(word) for word in value["text"].split()]  # several where deltas were written together
        self.first_ns = self.first_ns or sent[0]
        self.last_ns = now
        self.latencies_ms += [(now - each) / 1e6 for each in sent]

    @property
    def per_second(self) -> float:
        return len(self.latencies_ms) / ((self.last_ns - self.first_ns) / 1e9)


async def ask(client: Client, service: Service, n: int, *, is_ours: bool) -> Arrivals:
    arrivals = Arrivals()
    client.progress = arrivals.take
    if is_ours:
        params = {"requestId": f"{time.perf_counter_ns()}", "text": f"question {n}", "partialResultToken": f"t{n}"}
        await client.request("palimpsest/chat", params)
    else:
        await client.request("relay/chat", {"url": service.url, "text": f"question {n}", "token": f"t{n}"})
    if len(arrivals.latencies_ms) != service.n_deltas:
        raise SystemExit(f"{len(arrivals.latencies_ms)} of {service.n_deltas} deltas came")
    return arrivals


async def measure_deltas(n_deltas: int, n_runs: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with Service() as service:
            home = Path(directory)
            async with started(OURS, home, **on(service)) as ours, started(RELAY, home) as relay:
                service.n_deltas = 10
                for client in (ours, relay):  # what is loaded at the first answer is not measured
                    await ask(client, service, 0, is_ours=client is ours)
                print(f"journal: {n_deltas} deltas, {n_runs} pairs")
                for pause_s in (PAUSE_S, 0.0):
                    service.n_deltas, service.pause_s = n_deltas, pause_s
                    pairs = [
                        (await ask(relay, service, n, is_ours=False), await ask(ours, service, n, is_ours=True))
                        for n in range(1, n_runs + 1)
                    ]
                    if pause_s:
                        _print_latencies(pairs)
                    else:
                        _print_rates(pairs)


def _print_latencies(pairs: list[tuple[Arrivals, Arrivals]]) -> None:
    for name, index in (("bare relay", 0), ("palimpsest", 1)):
        cuts = statistics.quantiles([each for pair in pairs for each in pair[index].latencies_ms], n=100)
        print(f"  {name}   a delta every {PAUSE_S * 1000:.0f} ms: median {cuts[49]:.2f} ms, 99 % {cuts[98]:.2f} ms")
    ratios = [statistics.median(own.latencies_ms) / statistics.median(bare.latencies_ms) for bare, own in pairs]
    _print_ratio(statistics.median(ratios), 2, "median of pairs")


def _print_rates(pairs: list[tuple[Arrivals, Arrivals]]) -> None:
    bare, own = (statistics.median(pair[index].per_second for pair in pairs) for index in (0, 1))
    print(f"  without a pause: bare relay {bare:,.0f} deltas a second, palimpsest {own:,.0f}")


def _print_ratio(ratio: float, target: float, how: str) -> None:
    print(f"  ratio {ratio:.2f} ({how}), target {target}: {'met' if ratio <= target else 'NOT MET'}")


async def measure_memory(n_turns: int) -> None:
    n_first = max(1, n_turns // 10)
    with tempfile.TemporaryDirectory() as directory:
        async with Service() as service:
            more = on(service) | {"PALIMPSEST_CONTEXT_MAX_TOKENS": "12000"}
            async with started(OURS, Path(directory), **more) as client:
                made = await client.request("palimpsest/conversation/create", {})
                memory = psutil.Process(client.process.pid)
                before, began = 0, time.perf_counter()
                for n in range(1, n_turns + 1):
                    params = {"requestId": f"{n}", "text": f"question {n}", "conversationId": made["conversationId"]}
                    await client.request("palimpsest/chat", params | {"partialResultToken": f"t{n}"})
                    if n == n_first:
                        before = memory.memory_info().rss
                after, elapsed_s = memory.memory_info().rss, time.perf_counter() - began
    print(f"memory: {n_turns} turns in {elapsed_s:.0f} s")
    print(f"  after the first {n_first}: {before / (1 << 20):.1f} MiB, at the end: {after / (1 << 20):.1f} MiB")
    _print_ratio(after / before, 1.1, "growth" if n_turns >= 10_000 else "growth; the target is stated for 10,000")


async def _fill(home: Path, n_messages: int) -> str:
    """Makes the folder's store, with that many messages; the id of the newest conversation."""
    async with started(OURS, home, OPENAI_API_KEY="", ANTHROPIC_API_KEY="") as client:
        made = await client.request("palimpsest/conversation/create", {"title": "empty"})
    if not n_messages:
        return str(made["conversationId"])
    (database,) = await asyncio.to_thread(lambda: list(home.rglob(DATABASE_NAME)))
    store = await open_store(database.parent)
    conversation_id = ConversationId("")
    for number in range(n_messages // PER_CONVERSATION):
        conversation_id = ConversationId(f"{number:032x}")
        contents = [user_message(f"{n}: {ANSWER}") for n in range(PER_CONVERSATION)]
        await store.run(conversations.create, conversation_id, f"conversation {number}", "offline", utc_now())
        await store.run(message_log.append, conversation_id, contents, utc_now())
    await store.close()
    return conversation_id


async def _until_usage(home: Path, conversation_id: str) -> float:
    """Seconds from the start of a server to its answer."""
    began = time.perf_counter()
    async with started(OURS, home, OPENAI_API_KEY="", ANTHROPIC_API_KEY="") as client:
        await client.request("palimpsest/usage", {"conversationId": conversation_id})
        return time.perf_counter() - began


async def measure_start(n_messages: int, n_runs: int) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        homes = [(Path(one), await _fill(Path(one), 0)), (Path(other), await _fill(Path(other), n_messages))]
        pairs = [[await _until_usage(*home) for home in homes] for _ in range(n_runs)]
    empty, full = (statistics.median(pair[index] for pair in pairs) for index in (0, 1))
    print(f"usage after start, median of {n_runs} pairs")
    print(f"  empty store {empty * 1000:,.0f} ms, {n_messages:,} messages {full * 1000:,.0f} ms")
    _print_ratio(statistics.median(full / empty for empty, full in pairs), 3, "median of pairs")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal")
    parser.add_argument("--deltas", type=int, default=300)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(arguments)
    asyncio.run(measure_deltas(options.deltas, options.runs))
    asyncio.run(measure_memory(options.turns))
    asyncio.run(measure_start(options.messages, options.runs))


if __name__ == "__main__":
    main(sys.argv[1:])
