"""A model service on loopback that speaks both wire formats and enforces their rules. Standard library only.

It answers from a script, one entry a request: `Reply` (a proper answer), `Fault` (a refusal, or an answer that goes
wrong in the middle) or `Raw` (exact bytes). An empty script answers `Reply()`. What it was asked stands in `requests`.
The rules (pairing of calls and results, alternation, no blank text, no sampling parameters) are those that the
services enforced in 2026-11, with their wordings.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, Self

KEY = "sk-fake-0123456789"
SUFFIX = {"anthropic": "", "chat": "/v1"}
"""What the base address of each format ends with."""

Format = Literal["anthropic", "chat"]


@dataclass(frozen=True)
class Call:
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    text: str = "Line one\u2028line \u0085 two, é🎉"
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    stop: str | None = None


@dataclass(frozen=True)
class Fault:
    """What goes wrong. A status other than 200 is the whole answer; the others let `after` events of a reply pass."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """None: what the service itself sends with that status. A string is sent as text/html."""
    then: Literal["drop", "stall", "error"] = "drop"
    after: int = 0


@dataclass(frozen=True)
class Raw:
    body: bytes
    content_type: str = "text/event-stream"


@dataclass(frozen=True)
class Request:
    target: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    connection: int
    """Which connection it came on, counted from 1."""


class _Refusal(Exception):
    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


class FakeProvider:
    def __init__(self, *, limit_tokens: int = 200_000, chunk_bytes: int | None = None) -> None:
        self.limit_tokens = limit_tokens
        self.chunk_bytes = chunk_bytes
        """Cuts the bytes of a stream into chunks of this size, through the middle of characters too."""
        self.script: list[Reply | Fault | Raw] = []
        self.requests: list[Request] = []
        self.stalled = asyncio.Event()
        """Set when an answer stalls."""
        self.disconnected = asyncio.Event()
        """Set when a client goes away from a stalled answer."""
        self._connections: set[asyncio.Task[None]] = set()
        self._n_connections = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._n_connections += 1
        number = self._n_connections
        try:
            while await self._answer(reader, writer, number):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._connections.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        """Whether the connection stays open for another request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        if head[0].startswith("GET"):  # a list of models, of which this service has none
            return await _send(writer, 404, "application/json", b'{"error": {}}', {})
        target = head[0].split(" ")[1]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.requests.append(Request(target, headers, body, number))
        wire: Format = "anthropic" if target.endswith("/messages") else "chat"
        step = self.script.pop(0) if self.script else Reply()
        if isinstance(step, Raw):
            return await _send(writer, 200, step.content_type, step.body, {})
        fault = step if isinstance(step, Fault) else None
        try:
            if fault and fault.status != 200:
                raise _Refusal(fault.status, "scripted failure")
            _check_key(wire, headers)
            n_tokens = _count(body)
            (_check_anthropic if wire == "anthropic" else _check_chat)(headers, body)
            self._check_size(wire, n_tokens)
        except _Refusal as refusal:
            said = fault.body if fault and fault.body is not None else _error(wire, refusal)
            data, kind = (said, "text/html") if isinstance(said, str) else (json.dumps(said), "application/json")
            return await _send(writer, refusal.status, kind, data.encode(), fault.headers if fault else {})
        reply = step if isinstance(step, Reply) else Reply()
        events = _anthropic_events if wire == "anthropic" else _chat_events
        return await self._stream(reader, writer, wire, events(body, n_tokens, reply), fault)

    async def _stream(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        wire: Format,
        events: Iterator[bytes],
        fault: Fault | None,
    ) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for n, event in enumerate(events):
            if fault and n == fault.after:
                if fault.then == "error":
                    await self._write(writer, _stream_error(wire))
                    break
                if fault.then == "stall":
                    self.stalled.set()
                    await reader.read(1)
                    self.disconnected.set()
                return False
            await self._write(writer, event)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        size = self.chunk_bytes or len(data)
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()

    def _check_size(self, wire: Format, n: int) -> None:
        if n > self.limit_tokens and wire == "anthropic":
            raise _Refusal(400, f"prompt is too long: {n} tokens > {self.limit_tokens} maximum")
        if n > self.limit_tokens:
            said = f"Input tokens exceed the configured limit of {self.limit_tokens} tokens."
            said += f" Your messages resulted in {n} tokens. Please reduce the length of the messages."
            raise _Refusal(400, said, "context_length_exceeded")


async def _send(
    writer: asyncio.StreamWriter, status: int, content_type: str, body: bytes, headers: Mapping[str, str]
) -> bool:
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    return True


def _count(value: Any) -> int:
    return max(1, len(json.dumps(value, ensure_ascii=False)) // 4)


def _check_key(wire: Format, headers: Mapping[str, str]) -> None:
    key = headers.get("x-api-key") if wire == "anthropic" else headers.get("authorization", "").removeprefix("Bearer ")
    if key != KEY:
        raise _Refusal(401, f"Incorrect API key provided: {key}", "invalid_api_key")


def _error(wire: Format, refusal: _Refusal) -> dict[str, Any]:
    types = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        504: "timeout_error",
        529: "overloaded_error",
    }
    if wire == "anthropic":
        name = types.get(refusal.status, "api_error" if refusal.status >= 500 else types[400])
        error = {"type": name, "message": refusal.message}
        return {"type": "error", "error": error, "request_id": "req_fake"}
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.code}}


def _stream_error(wire: Format) -> bytes:
    if wire == "anthropic":
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return sse(error, event="error")
    return sse({"error": {"message": "boom", "type": "server_error", "param": None, "code": None}})


def sse(data: Any, event: str = "") -> bytes:
    """One event of a stream. JSON keeps U+2028 and U+0085 as they are, as the services do."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def _pieces(text: str) -> list[str]:
    step = max(1, -(-len(text) // 3))
    return [text[start : start + step] for start in range(0, len(text), step)]


# --- Anthropic Messages ---------------------------------------------------------------------------------------------


def _check_anthropic(headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
    if headers.get("anthropic-version", "") < "2026-10-21":
        _refuse("anthropic-version: header is required")
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            _refuse(f"{name}: Extra inputs are not permitted")
    if "max_tokens" not in body:
        _refuse("max_tokens: Field required")
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        _refuse('messages: first message must use the "user" role')
    open_ids: list[str] = []
    previous = ""
    for message in messages:
        blocks = message["content"]
        if message["role"] == previous:
            _refuse("messages: roles must alternate")
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            _refuse("messages: text content blocks must contain non-whitespace text")
        if blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            _refuse("messages: the final block in an assistant message cannot be `thinking`")
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(open_ids):
            _refuse("messages: `tool_use` ids without `tool_result` blocks immediately after, or the reverse")
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            _refuse("messages: `tool_result` blocks must come first")
        open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if any(not all(char.isalnum() or char in "_-" for char in call_id) for call_id in open_ids):
            _refuse("messages: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        previous = message["role"]
    if open_ids:
        _refuse("messages: `tool_use` ids without `tool_result` blocks immediately after")


def _refuse(message: str) -> NoReturn:
    raise _Refusal(400, message)


def _anthropic_events(body: Mapping[str, Any], n: int, reply: Reply) -> Iterator[bytes]:
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.thinking:
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(reply.thinking)]
        signature = {"type": "signature_delta", "signature": "c2ln=="}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signature]))
    if reply.text:
        texts = [{"type": "text_delta", "text": piece} for piece in _pieces(reply.text)]
        blocks.append(({"type": "text", "text": ""}, texts))
    for call in reply.calls:
        inputs = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_pieces(call.arguments)]]
        blocks.append(({"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}, inputs))

    def event(kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, **fields}, event=kind)

    usage = {
        "input_tokens": n,
        "cache_creation_input_tokens": 11,
        "cache_read_input_tokens": 22,
        "cache_creation": {"ephemeral_5m_input_tokens": 11, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 1,
        "service_tier": "standard",
    }
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    yield event("message_start", message={**start, "stop_reason": None, "usage": usage})
    for index, (block, deltas) in enumerate(blocks):
        yield event("content_block_start", index=index, content_block=block)
        yield event("ping")
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    stop = reply.stop or ("tool_use" if reply.calls else "end_turn")
    totals = {"output_tokens": 33, "cache_read_input_tokens": None}
    yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=totals)
    yield event("message_stop")


# --- Chat Completions -----------------------------------------------------------------------------------------------


def _check_chat(_: Mapping[str, str], body: Mapping[str, Any]) -> None:
    need: list[str] = []
    previous = ""
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in need:
                _refuse("messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
            need.remove(message["tool_call_id"])
        elif need:
            _refuse("An assistant message with 'tool_calls' must be followed by tool messages")
        elif role == previous:
            _refuse("Conversation roles must alternate user/assistant/user/assistant/...")
        for call in message.get("tool_calls", ()):
            json.loads(call["function"]["arguments"])
            need.append(call["id"])
        previous = role
    if need:
        _refuse("An assistant message with 'tool_calls' must be followed by tool messages")


def _chat_events(body: Mapping[str, Any], n: int, reply: Reply) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse({**head, "choices": [choice], "usage": None})

    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply.thinking):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(reply.text):
        yield chunk({"content": piece})
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        start = {"index": index, "id": call.call_id, "type": "function", "function": function}
        yield chunk({"tool_calls": [start]})
    for round_idx in range(3):  # the arguments of parallel calls arrive interleaved
        for index, call in enumerate(reply.calls):
            for piece in _pieces(call.arguments)[round_idx : round_idx + 1]:
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, reply.stop or ("tool_calls" if reply.calls else "stop"))
    if (body.get("stream_options") or {}).get("include_usage"):
        details = {"cached_tokens": 22, "cache_write_tokens": 11}
        usage = {"prompt_tokens": n + 33, "completion_tokens": 33, "prompt_tokens_details": details}
        yield sse({**head, "choices": [], "usage": usage})
    yield sse("[DONE]")
