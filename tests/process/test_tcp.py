"""TCP: one server object for each editor, nobody without the token, and no editor can end another's connection."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.lsp.demo_server import DEMO
from tests.lsp.rawlsp import RawClient, connected, encode, started
from tests.waiting import WAIT_S

from palimpsest.lsp.runtime.tcp import TokenFileError, load_token


class Listening:
    """A running server: where it listens, and its process."""

    def __init__(self, process: RawClient, port: int, token: str) -> None:
        self.process = process
        self.port = port
        self.options = {"token": token}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Listening]:
    token_file = tmp_path / "token"
    async with started([*DEMO, str(token_file)]) as process:
        yield Listening(process, await listening_port(process), token_file.read_text().strip())


async def listening_port(process: RawClient) -> int:
    """The port, from the line the server says on stderr once it listens."""
    line = await process.error_line()
    found = re.fullmatch(r"palimpsest: listening on 127\.0\.0\.1:(\d+)", line)
    assert found is not None, line
    return int(found[1])


async def test_two_editors_are_served_apart(server: Listening) -> None:
    async with connected(server.port) as one, connected(server.port) as two:
        assert "result" in await one.initialize(initializationOptions=server.options)
        assert "result" in await two.initialize(initializationOptions=server.options)
        one.handlers["demo/editorPick"] = lambda _: {"name": "one"}
        two.handlers["demo/editorPick"] = lambda _: {"name": "two"}
        both = await asyncio.gather(*(client.result("demo/pick", {}) for client in (one, two, one, two)))
        assert [picked["name"] for picked in both] == ["one", "two", "one", "two"]


@pytest.mark.parametrize("way", ["exit", "close", "garbage"])
async def test_an_editor_that_leaves_ends_only_its_own_connection(server: Listening, way: str) -> None:
    async with connected(server.port) as stays:
        await stays.initialize(initializationOptions=server.options)
        async with connected(server.port) as leaves:
            await leaves.initialize(initializationOptions=server.options)
            params = {"conversationId": "a", "text": "one", "hold": True, "partialResultToken": 1}
            held = leaves.start_request("demo/chat", params)
            await leaves.notification("$/progress")
            match way:
                case "exit":
                    await leaves.request("shutdown")
                    leaves.notify("exit")
                case "close":
                    leaves.writer.write_eof()
                case "garbage":
                    leaves.send_bytes(b"garbage\r\n\r\n")
            await asyncio.wait_for(leaves.reading, WAIT_S)
            assert (await held.answer())["error"]["code"] == -32800
            assert [p["message"] for p in leaves.received("window/logMessage")] == ["saved 1 words", "on_stop ran"]
        assert (await stays.result("demo/echo", {"value": 1})) == {"value": 1}
        async with connected(server.port) as late:
            assert "result" in await late.initialize(initializationOptions=server.options)


async def test_nobody_is_served_without_the_token(server: Listening) -> None:
    given: list[Any] = [{}, None, [], "x", {"token": ""}, {"token": None}, {"token": 5}, {"token": "wr\u00f6ng"}]
    for options in given:
        async with connected(server.port) as stranger:
            answer = await stranger.initialize(initializationOptions=options)
            assert (answer["error"]["code"], answer["error"]["data"]["kind"]) == (-32600, "auth")
            await asyncio.wait_for(stranger.reading, WAIT_S)
            assert stranger.inbox[0] == answer


async def test_without_initialize_nothing_is_answered_but_errors(server: Listening) -> None:
    async with connected(server.port) as stranger:
        assert (await stranger.request("demo/echo", {}))["error"]["code"] == -32002


async def test_a_stranger_is_hung_up_on_after_a_while(tmp_path: Path) -> None:
    code = (
        "import runpy, sys; from palimpsest.lsp.runtime import tcp; tcp.HANDSHAKE_S = 0.3;"
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    token_file = tmp_path / "token"
    async with started([sys.executable, "-c", code, DEMO[1], str(token_file)]) as process:
        port = await listening_port(process)
        async with connected(port) as stranger, connected(port) as friend:
            await friend.initialize(initializationOptions={"token": token_file.read_text().strip()})
            await asyncio.wait_for(stranger.reading, WAIT_S)
            assert await friend.result("demo/echo", {}) == {}


@pytest.mark.skipif(os.name != "posix", reason="signals are a matter of POSIX")
async def test_a_signal_ends_every_connection_in_order_and_then_the_process(server: Listening) -> None:
    async with connected(server.port) as one, connected(server.port) as two:
        for client in (one, two):
            await client.initialize(initializationOptions=server.options)
            params = {"conversationId": "a", "text": "one", "hold": True, "partialResultToken": 1}
            client.start_request("demo/chat", params)
            await client.notification("$/progress")
        assert server.process.process is not None
        server.process.process.send_signal(signal.SIGTERM)
        assert await server.process.exit_code() == 0
        for client in (one, two):
            await asyncio.wait_for(client.reading, WAIT_S)
            assert [p["message"] for p in client.received("window/logMessage")] == ["saved 1 words", "on_stop ran"]
    assert server.process.stderr.decode().splitlines()[1:] == ["on_stop ran", "on_stop ran", "shared closed"]


async def test_no_editor_is_watched_for_the_process_of_many(server: Listening) -> None:
    async with connected(server.port) as client:
        await client.initialize(initializationOptions=server.options, processId=os.getpid())
        assert await client.result("demo/threads", {}) == []


# ----------------------------------------------------------------------------------------------------------- token file


def test_a_token_file_is_made_for_its_owner_alone_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = load_token(path)
    assert len(token) >= 32
    assert load_token(path) == token
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    assert load_token(tmp_path / "other") != token


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o602])
def test_a_token_file_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "token"
    token = load_token(path)
    path.chmod(mode)
    with pytest.raises(TokenFileError, match=rf"{re.escape(str(path))} has mode {mode:04o}") as caught:
        load_token(path)
    assert token not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="owners are a matter of POSIX")
def test_a_token_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "token"
    load_token(path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(TokenFileError, match="belongs to another user"):
        load_token(path)


@pytest.mark.parametrize("content", ["", "\n", "short"])
def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(TokenFileError, match="shorter than 16"):
        load_token(path)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are a matter of POSIX")
def test_only_an_ordinary_file_is_read(tmp_path: Path) -> None:
    load_token(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir()
    with pytest.raises(TokenFileError, match="cannot be read"):
        load_token(tmp_path / "link")
    for name in ("pipe", "folder"):
        with pytest.raises(TokenFileError, match="not a regular file"):
            load_token(tmp_path / name)
    with pytest.raises(TokenFileError, match="cannot be created"):
        load_token(tmp_path / "missing" / "token")


async def test_a_bad_token_file_keeps_the_server_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("x" * 40)
    path.chmod(0o644)
    async with started([*DEMO, str(path)]) as process:
        assert await process.exit_code() != 0
        assert b"has mode 0644" in process.stderr
        assert b"listening" not in process.stderr


async def test_a_message_before_the_token_is_not_run(server: Listening) -> None:
    async with connected(server.port) as stranger:
        stranger.send_bytes(encode({"jsonrpc": "2.0", "method": "demo/poke", "params": {}}))
        await stranger.request("demo/echo", {})
        assert stranger.received("demo/poked") == []
