"""As little of an editor and of a model's service as can be measured with, for benchmarks of the real server."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from palimpsest.domain.models.providers import PROVIDERS

OURS: Final = [sys.executable, "-P", "-m", "palimpsest", "serve", "--stdio"]
ANSWER: Final = "The pump parser reads src/module_7.py and fails when value_7 is empty, because nobody checked it. " * 4


_MODEL: Final = "gpt-4o"
VOCABULARY: Final = "o200k_base"
"""What its tokens are counted with."""


def environment() -> dict[str, str]:
    """Ours, without what would configure a server, give it a key or lead its requests elsewhere."""
    services = {name.partition("_")[0] for each in PROVIDERS for name in (*each.key_variables, each.host_variable)}
    left_out = ("PALIMPSEST_", "PYTHONDONTWRITEBYTECODE", *(f"{service}_" for service in services if service))
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(left_out) and not name.lower().endswith("_proxy")
    }


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
        env=environment() | dict.fromkeys(places, str(home)) | more,
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
        "PALIMPSEST_MODEL": _MODEL,
        "PALIMPSEST_SUMMARIZATION_KIND": "extractive",
        "PALIMPSEST_LIBRARIAN_DAILY_TOKENS": "0",
    }
