"""A server begins once, ends in order and always ends: exit codes, signals, lost editors, broken streams."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.lsp.demo_server import DEMO
from tests.lsp.rawlsp import RawClient, encode, environment, started

from palimpsest.lsp.runtime.process import Process
from palimpsest.lsp.runtime.stdio import PipeWriter

GRACE_S = 4.0
"""What the demo server allows itself."""


@pytest.fixture
async def fresh() -> AsyncIterator[RawClient]:
    """The demo server, not initialized."""
    async with started(DEMO) as client:
        yield client


def logged(client: RawClient) -> list[str]:
    return [params["message"] for params in client.received("window/logMessage")]


async def held_chat(client: RawClient) -> Any:
    """A chat that has streamed one word and waits."""
    params = {"conversationId": "a", "text": "one two", "hold": True, "partialResultToken": "held"}
    request = client.start_request("demo/chat", params)
    await client.notification("$/progress")
    return request


# ----------------------------------------------------------------------------------------------------------- exit codes


async def test_an_input_that_ends_at_once_ends_the_server(fresh: RawClient) -> None:
    fresh.writer.close()
    assert await fresh.exit_code() == 1
    assert b"on_stop ran" in fresh.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals are a matter of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_lets_everyone_clean_up(fresh: RawClient, number: signal.Signals) -> None:
    await fresh.initialize()
    await held_chat(fresh)
    assert fresh.process is not None
    fresh.process.send_signal(number)
    assert await fresh.exit_code() == 0
    assert logged(fresh) == ["saved 1 words", "on_stop ran"]


# ------------------------------------------------------------------------------------------------------- broken streams


# ------------------------------------------------------------------------------------------------------- nothing hangs


@pytest.mark.parametrize("how", ["hang", "block", "fail"])
async def test_a_bad_on_stop_does_not_keep_the_process(how: str) -> None:
    async with started(DEMO, DEMO_STOP=how) as client:
        await client.initialize()
        await client.request("shutdown")
        client.notify("exit")
        assert await client.exit_code(GRACE_S * 2) == 0
        assert b"/home/me" not in client.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals are a matter of POSIX")
async def test_a_handler_that_blocks_the_loop_does_not_keep_the_process(fresh: RawClient) -> None:
    await fresh.initialize()
    fresh.start_request("demo/stuck", {})
    assert (await fresh.notification("window/logMessage"))["message"] == "stuck"
    assert fresh.process is not None
    fresh.process.send_signal(signal.SIGTERM)
    assert await fresh.exit_code(GRACE_S * 3) == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are a matter of POSIX")
def test_an_editor_that_does_not_read_does_not_keep_the_process() -> None:
    pipe = subprocess.PIPE
    # Not through asyncio: its `wait` also waits for the pipes, one of which nobody empties here.
    with subprocess.Popen(DEMO, stdin=pipe, stdout=pipe, stderr=pipe, env=environment()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None

        def send(message: dict[str, Any]) -> None:
            assert process.stdin is not None
            process.stdin.write(encode({"jsonrpc": "2.0"} | message))
            process.stdin.flush()

        send({"id": 0, "method": "initialize", "params": {"capabilities": {}}})
        assert process.stdout.readline().startswith(b"Content-Length")  # and from here on nobody reads
        for message_id in range(1, 6):
            send({"id": message_id, "method": "demo/blocking", "params": {}})
        send({"method": "demo/poke", "params": {"value": "raise"}})
        assert process.stderr.readline() == b"ValueError\n"  # the loop still runs
        process.send_signal(signal.SIGTERM)
        assert process.wait(GRACE_S * 3) == 0


async def test_an_editor_that_closes_our_output_ends_the_server(fresh: RawClient) -> None:
    await fresh.initialize()
    assert fresh.process is not None
    transport: Any = fresh.process._transport  # type: ignore[attr-defined]  # asyncio closes one pipe alone nowhere else
    transport.get_pipe_transport(1).close()
    await asyncio.sleep(0)  # it is closed in the loop's next round, and only then may the server answer
    fresh.notify("demo/poke", {})
    code = await asyncio.wait_for(fresh.process.wait(), GRACE_S * 3)
    assert code == 1


@pytest.mark.skipif(os.name != "posix", reason="the parent is looked up as on POSIX")
async def test_a_server_whose_editor_died_ends_though_its_input_is_open(fresh: RawClient) -> None:
    editor = await asyncio.create_subprocess_exec(
        "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    assert editor.stdin is not None
    await fresh.initialize(processId=editor.pid)
    await held_chat(fresh)
    editor.stdin.close()
    await editor.wait()
    assert await fresh.exit_code() == 1
    assert logged(fresh) == ["saved 1 words", "on_stop ran"]


@pytest.mark.skipif(os.name != "posix", reason="the parent is looked up as on POSIX")
@pytest.mark.parametrize("pid", [2**22 + 1, 0, -1, 2**40])
async def test_a_process_id_from_elsewhere_is_not_watched(pid: int) -> None:
    """It may be the id of a process on the other side of a container's wall: its absence says nothing."""
    stops: list[int] = []
    Process(grace_s=3600).watch_parent(pid, stops.append)
    assert "parent-watch" not in {thread.name for thread in threading.enumerate()}


# ------------------------------------------------------------------------------------------------------- the two pipes


async def test_stray_output_goes_to_stderr_and_children_get_no_protocol() -> None:
    code = (
        "import runpy, subprocess, sys, os\n"
        "sys.argv = [sys.argv[1]]\n"
        "from palimpsest.lsp.runtime import stdio, base\n"
        "def noisy(self, pid):\n"
        "    print('stray print')\n"
        "    os.write(1, b'stray write\\n')\n"
        "    subprocess.run(['sh', '-c', 'echo stray child; cat'], check=True, timeout=5)\n"
        "base.BaseServer.watch_parent = noisy\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    async with started([sys.executable, "-c", code, DEMO[1]]) as client:
        await client.initialize(processId=os.getpid())
        assert (await client.request("demo/echo", {}))["result"] == {}
        client.notify("exit")
        assert await client.exit_code() == 1
        for stray in (b"stray print", b"stray write", b"stray child"):
            assert stray in client.stderr


async def test_a_writer_gives_up_an_editor_that_does_not_read() -> None:
    source, sink = os.pipe()
    lost = threading.Event()
    writer = PipeWriter(sink, lost.set, max_unsent_bytes=1_000_000)
    writer.write(b"x" * 2_000_000)  # one large frame is nobody's fault
    assert not lost.is_set()
    writer.write(b"y")
    assert await asyncio.to_thread(lost.wait, 10)
    writer.write(b"z")
    os.close(source)
    await writer.finish(10)
    os.close(sink)


async def test_a_writer_keeps_the_order_and_finishes_what_it_took() -> None:
    source, sink = os.pipe()
    writer = PipeWriter(sink, lambda: None)
    frames = [bytes([at % 256]) * 5_000 for at in range(200)]
    for frame in frames:
        writer.write(frame)
    finishing = asyncio.create_task(writer.finish(10))
    with os.fdopen(source, "rb") as reader:
        assert await asyncio.to_thread(reader.read, 1_000_000) == b"".join(frames)
    await finishing
    os.close(sink)


@pytest.mark.parametrize("seed", [1, 2])
async def test_frames_written_at_once_and_frames_that_wait_keep_their_order(seed: int) -> None:
    chance = random.Random(seed)
    frames = [chance.randbytes(chance.choice([1, 80, 600, 4_096, 4_097, 9_000])) for _ in range(3_000)]
    source, sink = os.pipe()
    writer = PipeWriter(sink, lambda: None)

    def read(count: int) -> bytes:
        found = b""
        while len(found) < count and (chunk := os.read(source, count - len(found))):
            found += chunk
        return found

    written = 0
    seen = b""
    for frame in frames:
        writer.write(frame)
        written += len(frame)
        if chance.random() < 0.02:  # the reader falls behind, and now and then it catches up
            seen += await asyncio.to_thread(read, chance.randrange(written - len(seen) + 1))
    finishing = asyncio.create_task(writer.finish(10))
    seen += await asyncio.to_thread(read, written - len(seen))
    await finishing
    os.close(source)
    os.close(sink)
    assert seen == b"".join(frames)


async def test_an_editor_that_is_gone_is_told_of_once() -> None:
    source, sink = os.pipe()
    lost: list[str] = []
    writer = PipeWriter(sink, lambda: lost.append("lost"))
    os.close(source)
    for _ in range(50):
        writer.write(b"frame")
    await writer.finish(10)
    os.close(sink)
    assert lost == ["lost"]


def test_without_an_input_the_server_says_so() -> None:
    command = f'"{sys.executable}" -P -m palimpsest serve <&-'
    ended = subprocess.run(["sh", "-c", command], env=environment(), capture_output=True, timeout=60)
    assert ended.returncode == 1
    assert b"no stdin" in ended.stderr


_START = """
import asyncio, importlib, json, sys
import palimpsest.lsp.runtime.stdio, palimpsest.lsp.runtime.tcp
from palimpsest.lsp.features import HANDLERS
from palimpsest.lsp.runtime.transport import serve
from palimpsest.lsp.server import build_server

def loaded():
    heavy = {'psutil', 'httpx', 'peewee', 'tiktoken', 'hypothesis', 'rich', 'prompt_toolkit', 'websockets'}
    own = ('palimpsest.services.', 'palimpsest.storage', 'palimpsest_clients')
    return {name for name in sys.modules if name in heavy or name.startswith(own)}

def declared():
    areas = {name for name in sys.modules if name.startswith(('palimpsest.wire.areas.', 'palimpsest.wire.messages'))}
    return areas - {'palimpsest.wire.areas.trust', 'palimpsest.wire.areas.lifecycle'}  # `initialize` needs these

def named(names):
    return {'palimpsest.lsp.features.' + HANDLERS[name].partition(':')[0] for name in names}

class Writer:
    def write(self, data):
        message = json.loads(data.partition(b'\\r\\n\\r\\n')[2])
        assert message['result']['capabilities'], message
        found.append(loaded() | declared() | named(HANDLERS) & set(sys.modules))
        server.request_stop(0)

    async def finish(self, timeout_s):
        pass

async def read():
    body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {'capabilities': {}}}).encode()
    return b'Content-Length: %d\\r\\n\\r\\n' % len(body) + body if not found else await asyncio.Event().wait()

found = []
server = build_server(None, owns_folders=True)
asyncio.run(serve(server, read, Writer()))
# What these import, they import between two messages.
methods = [known for name in HANDLERS if (known := server.protocol.methods.find(name)) is not None]
for module in named(method.name for method in methods if not method.is_request):
    importlib.import_module(module)
found.append(loaded())
assert len(found) == 2
sys.exit('; '.join(', '.join(sorted(each)) for each in found if each) or 0)
"""


def test_until_initialize_is_answered_nothing_is_loaded_but_pygls_and_the_parts() -> None:
    """No declaration of our messages, no module of the table of handlers, no service and no large library.

    What hears notifications stays as small.
    """
    ended = subprocess.run([sys.executable, "-c", _START], env=environment(), capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")
