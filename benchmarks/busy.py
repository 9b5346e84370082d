"""How long a conversation waits for its `palimpsest/usage` while two others stream long answers with tool calls.

    python -m benchmarks.busy [SECONDS]

The real server in a process of its own, over stdio, on a fake model service in this process. Two conversations run turn
after turn: `read_file` and `search_files` over a generated folder, then a long answer in many small pieces. The third
is pinged every 50 ms. The reference is the same pings on the same server before anything streams. Meanwhile a tick of
the server's event loop every 5 ms says how long the loop was held up, and what ran then (`ticking`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.editor import environment
from benchmarks.figures import Figure, Size, alone, apart, numbers, show
from benchmarks.startup import frame
from benchmarks.ticking import begin_ticks, end_ticks

_TICKING: Final = Path(__file__).with_name("ticking.py")
TARGET_MS: Final = 50.0
_INTERVAL_S: Final = 0.05
_SEED: Final = 20_261_122
_N_FILES, _N_LINES = 400, 200
_N_PIECES, _PIECE_INTERVAL_S = 600, 0.002
"""Of one answer: words, and the time between two of them."""
_TIMEOUT_S: Final = 120.0


class Model:
    """Speaks Chat Completions: three rounds of tool calls, then a long answer, for every user message."""

    def __init__(self) -> None:
        self.n_streamed = 0
        """Pieces of answers so far."""
        self.n_calls = 0
        self._chance = random.Random(_SEED)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Its address, while the block runs."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
                lengths = [int(line.split(":")[1]) for line in head if line.startswith("content-length:")]
                body = await reader.readexactly(sum(lengths))
                if not body:  # a list of models, of which this service has none
                    writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 2\r\n\r\n{}")
                    continue
                await self._answer(writer, json.loads(body)["messages"])
        writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, messages: Sequence[dict[str, Any]]) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        n_rounds = 0
        for message in reversed(messages):
            if message["role"] == "user":
                break
            n_rounds += message["role"] == "assistant"
        if n_rounds < 3:
            number = self._chance.randrange(_N_FILES)
            calls = [
                ("read_file", {"path": f"src/part_{number % 20}/file_{number}.py"}),
                ("search_files", {"pattern": f"value_{number}\\b"}),
            ]
            self.n_calls += len(calls)
            for index, (name, arguments) in enumerate(calls):
                function = {"name": name, "arguments": json.dumps(arguments)}
                call = {"index": index, "id": uuid.uuid4().hex, "type": "function", "function": function}
                await _send(writer, {"tool_calls": [call]}, None)
            await _send(writer, {}, "tool_calls")
        else:
            for number in range(_N_PIECES):
                await _send(writer, {"content": f"word{number} "}, None)
                self.n_streamed += 1
                await asyncio.sleep(_PIECE_INTERVAL_S)
            await _send(writer, {}, "stop")
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()


async def _send(writer: asyncio.StreamWriter, delta: dict[str, Any], finish: str | None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    data = b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


class Connection:
    """To a server that was started as an editor starts it. What it asks of us is answered with null."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._writer, self._reader = process.stdin, process.stdout
        self._waiting: dict[int, asyncio.Future[tuple[float, dict[str, Any]]]] = {}
        self._n_sent = 0
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = await self._reader.readuntil(b"\r\n\r\n")
                body = await self._reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
                came_at = time.perf_counter()
                # An answer is short and a stream of deltas is not: only what may be an answer is parsed.
                message = json.loads(body) if b'"result"' in body or b'"error"' in body or b'"id"' in body else {}
                if "method" not in message and (waiting := self._waiting.pop(message.get("id", -1), None)) is not None:
                    waiting.set_result((came_at, message))
                elif "method" in message and "id" in message:
                    self._writer.write(frame({"id": message["id"], "result": None}))

    async def request(self, method: str, params: Any) -> tuple[float, dict[str, Any]]:
        """Milliseconds to the answer, and its result."""
        self._n_sent += 1
        waiting = self._waiting[self._n_sent] = asyncio.get_running_loop().create_future()
        started = time.perf_counter()
        self._writer.write(frame({"id": self._n_sent, "method": method, "params": params}))
        came_at, answer = await asyncio.wait_for(waiting, _TIMEOUT_S)
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']['message']}")
        return (came_at - started) * 1000, answer["result"]

    def notify(self, method: str) -> None:
        self._writer.write(frame({"method": method, "params": {}}))


def _generate(folder: Path) -> None:
    chance = random.Random(_SEED)
    for number in range(_N_FILES):
        path = folder / "src" / f"part_{number % 20}" / f"file_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (f"value_{chance.randrange(_N_FILES)} = {chance.random()}  # of file {number}" for _ in range(_N_LINES))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


async def _ping(connection: Connection, conversation_id: str, seconds: float) -> list[float]:
    """Each ping begins 50 ms after the one before began, or when that one is answered, if it took longer."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while (started := time.perf_counter()) < until:
        times.append((await connection.request("palimpsest/usage", {"conversationId": conversation_id}))[0])
        await asyncio.sleep(max(0.0, _INTERVAL_S - (time.perf_counter() - started)))
    return times


async def _chat_on(connection: Connection, conversation_id: str) -> None:
    while True:
        params = {
            "requestId": uuid.uuid4().hex,
            "conversationId": conversation_id,
            "text": "Read and search, then tell me at length.",
            "partialResultToken": conversation_id,
        }
        await connection.request("palimpsest/chat", params)


async def run(seconds: float, directory: Path) -> list[Figure]:
    folder = directory / "folder"
    _generate(folder)
    model = Model()
    async with model.serving() as url:
        places = {f"XDG_{name}_HOME": str(directory / name) for name in ("DATA", "CACHE", "STATE", "CONFIG")}
        variables = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url, "PALIMPSEST_MODEL": "gpt-4o"}
        ticks = directory / "ticks.json"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(_TICKING), str(ticks), "serve", "--stdio"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 26,
            env={**environment(), "HOME": str(directory), **places, **variables},
        )
        connection = Connection(process)
        try:
            folders = [{"uri": folder.as_uri(), "name": "folder"}]
            params: dict[str, Any] = {
                "processId": None,
                "rootUri": None,
                "capabilities": {},
                "workspaceFolders": folders,
            }
            await connection.request("initialize", params)
            connection.notify("initialized")
            ids = [
                (await connection.request("palimpsest/conversation/create", {}))[1]["conversationId"] for _ in range(3)
            ]
            await _ping(connection, ids[2], 1.0)
            idle = await _ping(connection, ids[2], seconds)
            chats = [asyncio.create_task(_chat_on(connection, each)) for each in ids[:2]]
            begin_ticks(ticks)
            busy = await _ping(connection, ids[2], seconds)
            late_ms, ran = await asyncio.to_thread(end_ticks, ticks)
            for chat in chats:
                if chat.done():
                    chat.result()
                chat.cancel()
            await asyncio.gather(*chats, return_exceptions=True)
        finally:
            process.kill()
            await process.wait()
            await connection.reading
    print(f"busy: {model.n_streamed} pieces of answers and {model.n_calls} tool calls; seed {_SEED}")
    return [
        apart("`usage` while two conversations stream", idle, busy, "the same at rest", None),
        alone(
            "the same, 99.9th percentile",
            [_latest(busy)],
            TARGET_MS,
            note=f"the longest: {max(busy):.0f} ms; an answer crosses between threads several times",
        ),
        alone(
            "lateness of the event loop's ticks meanwhile, 99.9th percentile",
            [_latest(late_ms)],
            TARGET_MS,
            note=f"the longest: {max(late_ms):.0f} ms{f', in `{ran}`' if ran else ''}",
        ),
    ]


def _latest(times: Sequence[float]) -> float:
    """The 99.9th percentile; the longest where there are too few."""
    return statistics.quantiles(times, n=1000)[-1] if len(times) > 1000 else max(times)


def measure(seconds: float) -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(run(seconds, Path(directory).resolve()))


def figures(size: Size) -> list[Figure]:
    return measure(60.0 if size is Size.FULL else 1.0)


if __name__ == "__main__":
    show(measure(*numbers(__doc__, SECONDS=60)))
