"""The same fake service speaking OpenAI's Responses API, and answering what is asked with GET from a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.clients.fake_provider import KEY, FakeProvider, Fault, Raw, Reply, Request

from palimpsest_clients.fake import responses
from palimpsest_clients.fake.dialect import refuse
from palimpsest_clients.fake.replies import Usage
from palimpsest_clients.fake.responses import Item, Responses, call, items_of, message, refusal, thought
from palimpsest_clients.fake.service import Refusal

__all__ = ["FakeResponses", "call", "events_of", "message", "refusal", "thought"]


class FakeResponses(FakeProvider):
    def __init__(self, *, limit_tokens: int = 200_000, chunk_bytes: int | None = None) -> None:
        super().__init__(limit_tokens=limit_tokens, chunk_bytes=chunk_bytes)
        self.answers: dict[str, Any] = {}
        """JSON by the path of a GET; every other path is not found."""
        self.can_read = "enc-"
        """What thinking begins with that this service has encrypted."""

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        body = json.loads(raw) if raw else {}
        self.requests.append(Request(target, headers, body, number))
        step = self.script.pop(0) if self.script else Reply()
        if isinstance(step, Raw):
            return await _send(writer, 200, step.content_type, step.body)
        fault = step if isinstance(step, Fault) else None
        dialect = Responses(self.can_read)
        n_tokens = len(raw) // 4
        try:
            if fault and fault.status != 200:
                raise Refusal(fault.status, dialect.error(fault.status, "scripted failure"))
            if headers.get("authorization") != f"Bearer {KEY}" and headers.get("x-api-key") != KEY:
                refuse(dialect, "Incorrect API key provided", status=401, code="invalid_api_key")
            if method == "GET":
                return await self._tell(dialect, writer, target)
            if target.endswith(("/input_tokens", "/count_tokens")):
                dialect.check_counted(body)
                return await _send(writer, 200, "application/json", json.dumps({"input_tokens": n_tokens}).encode())
            dialect.check_request(body)
            if n_tokens > self.limit_tokens:
                raise Refusal(400, dialect.too_long(n_tokens, self.limit_tokens))
        except Refusal as refusal:
            said = b"".join(refusal.sent.chunks)
            if fault and fault.body is not None:
                said = json.dumps(fault.body).encode()
            extra = fault.headers if fault else {}
            return await _send(writer, refusal.sent.status, "application/json", said, extra)
        reply = step if isinstance(step, Reply) else Reply()
        return await self._stream(reader, writer, dialect, events_of(items_of(reply), n_tokens=n_tokens), fault)

    async def _tell(self, dialect: Responses, writer: asyncio.StreamWriter, target: str) -> bool:
        if target not in self.answers:
            refuse(dialect, "Unknown request URL", status=404)
        return await _send(writer, 200, "application/json", json.dumps(self.answers[target]).encode())


async def _send(
    writer: asyncio.StreamWriter, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None
) -> bool:
    extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    return True


def events_of(
    items: Sequence[Item], *, last: str = "completed", n_tokens: int = 100, **response: Any
) -> Iterator[bytes]:
    """The whole stream of an answer. `last` is how it ends; `response` goes into its last event."""
    usage = Usage(n_tokens, 44, n_cache_read=22, n_cache_written=11)
    return responses.events_of(items, usage, last=last, **response)
