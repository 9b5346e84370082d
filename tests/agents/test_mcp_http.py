"""A server at an address: the official server over streamable HTTP is used whole, headers go to its origin and nowhere
else, and an answer without bounds is refused."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

pytest.importorskip("mcp", reason="`make test-agents` sets up what this needs")

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from tests.agents.mcp_desk import connected, ignore

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.mcp.content import Text
from palimpsest.services.mcp.connection import McpFailure

Head = dict[str, str]


@contextlib.asynccontextmanager
async def official(heads: list[Head]) -> AsyncIterator[str]:
    """The URL of a server that the official package serves; `heads`: the headers of each request."""
    server = MCPServer("official", log_level="CRITICAL")

    async def add(a: int, b: int, context: Context) -> str:
        """Adds."""
        await context.report_progress(1, 2, "half")
        return str(a + b)

    def memo() -> str:
        return "remember"

    def review(code: str) -> str:
        return f"Review {code}"

    server.tool()(add)
    server.resource("memo://one")(memo)
    server.prompt()(review)
    app = server.streamable_http_app()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            heads.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await app(scope, receive, send)

    running = uvicorn.Server(uvicorn.Config(noting, port=0, log_level="critical", ws="none"))
    serving = asyncio.create_task(running.serve())
    while not running.started:  # noqa: ASYNC110  # it tells nobody
        await asyncio.sleep(0)
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        running.should_exit = running.force_exit = True
        await serving


@contextlib.asynccontextmanager
async def scripted(answer: Callable[[dict[str, Any]], bytes], heads: list[Head]) -> AsyncIterator[str]:
    """The URL of a server that answers each JSON-RPC message with the bytes of an HTTP response."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                pairs = (line.split(": ", 1) for line in lines[1:] if ": " in line)
                head = {name.lower(): value for name, value in pairs}
                heads.append(head)
                body = await reader.readexactly(int(head.get("content-length", "0")))
                if lines[0].startswith("POST"):
                    writer.write(answer(json.loads(body)))
                else:
                    writer.write(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()


def response(result: Any, id: Any, **head: str) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
    return http(body, **head)


def http(body: bytes, status: str = "200 OK", **head: str) -> bytes:
    head = {"content-type": "application/json", "content-length": str(len(body)), **head}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in head.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def handshake(message: dict[str, Any]) -> bytes | None:
    """The answers that begin a session; None for what comes later."""
    match message.get("method"):
        case "server/discover":
            return http(b"{}", "404 Not Found")
        case "initialize":
            has = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            return response({**has, "serverInfo": {"name": "s", "version": "1"}}, message["id"])
        case "notifications/initialized" | "notifications/cancelled":
            return http(b"", "202 Accepted")
    return None


def at(url: str) -> ServerConfig:
    return ServerConfig("one", url=url, headers={"Authorization": "Bearer s3cret"})


async def test_the_official_server_is_used_whole_and_gets_the_headers() -> None:
    heads: list[Head] = []
    lines: list[str] = []
    async with official(heads) as url, connected(at(url)) as one:
        offer = await one.offer()
        assert [each.schema.name for each in offer.tools] == ["one__add"]
        assert [each.uri for each in offer.resources] == ["memo://one"]
        assert offer.prompts[0].arguments[0].is_required
        answer = await one.call("add", {"a": 2, "b": 3}, lines.append)
        assert answer.blocks == (Text("5"),)
        assert await one.read("memo://one") == (Text("remember", "memo://one"),)
        (said,) = await one.prompt("review", {"code": "x"})
        assert said.blocks == (Text("Review x"),)
        wrong = await one.call("add", {"a": "no"}, ignore)
        assert wrong.is_error
    assert lines == ["1 of 2 half"]
    assert {head["authorization"] for head in heads} == {"Bearer s3cret"}


async def test_a_redirect_to_elsewhere_carries_nothing_there() -> None:
    here: list[Head] = []
    elsewhere: list[Head] = []
    async with scripted(lambda message: handshake(message) or b"", elsewhere) as other:
        moved = http(b"", "307 Temporary Redirect", location=other)
        async with scripted(lambda _: moved, here) as url:
            with pytest.raises(McpFailure, match="not followed"):
                async with connected(at(url)):
                    pass
    assert here
    assert not elsewhere


@pytest.mark.parametrize("kind", ["json", "events", "compressed"])
async def test_an_answer_without_bounds_is_refused(kind: str) -> None:
    text = "x" * 20_000_000

    def answer(message: dict[str, Any]) -> bytes:
        if (begun := handshake(message)) is not None:
            return begun
        if message["method"] != "tools/call":
            return response({"tools": []}, message["id"])
        result = {"content": [{"type": "text", "text": text}]}
        if kind == "json":
            return response(result, message["id"])
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        if kind == "compressed":
            return http(gzip.compress(body), content_encoding="gzip")
        return http(b"event: message\ndata: " + body + b"\n\n", content_type="text/event-stream")

    async def ask(url: str) -> None:
        async with connected(at(url)) as one:
            await one.call("big", {}, ignore)

    async with scripted(answer, []) as url:
        with pytest.raises(McpFailure):
            await ask(url)


async def test_an_address_that_cannot_be_reached_is_a_sentence() -> None:
    with pytest.raises(McpFailure, match="cannot be reached"):
        async with connected(at("http://127.0.0.1:9/mcp")):
            pass


async def test_a_session_that_the_server_forgot_is_over() -> None:
    def answer(message: dict[str, Any]) -> bytes:
        begun = handshake(message)
        if message.get("method") == "initialize" and begun is not None:
            return begun.replace(b"content-type", b"mcp-session-id: abc\r\ncontent-type", 1)
        return begun or http(b"", "404 Not Found")

    async with scripted(answer, []) as url, connected(at(url)) as one:
        with pytest.raises(McpFailure) as failed:
            await one.call("any", {}, ignore)
        assert failed.value.is_over
        with pytest.raises(McpFailure, match="ended the session"):
            await one.changed()
