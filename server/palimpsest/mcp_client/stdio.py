"""A server that is a program: its process, and messages over its stdin and stdout, one a line.

The package has a transport of its own. This one differs in what it promises: a line has a longest length (`lines`), the
messages are guarded (`guard`), stderr is bounded and kept for the sentence of a failure, and the program ends with this
server, however that ends: it runs under `workers.warden`, whose control pipe closes with us, and which on Linux ends
everything that the program started. On Windows there is no warden; a program is to end when its stdin does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from palimpsest import workers
from palimpsest.domain.approvals import visible
from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.mcp_client.ending import Ending
from palimpsest.mcp_client.guard import Flood, Guard
from palimpsest.mcp_client.lines import MAX_LINE_BYTES, Lines, LongLine
from palimpsest.services.mcp.connection import McpFailure
from palimpsest.services.tools.run_command import BoundedOutput

_WARDEN: Final = Path(workers.__file__).with_name("warden.py")
_HAS_WARDEN: Final = os.name == "posix"
_LEAVING_S: Final = 2.0
"""How long a server may take to end when its stdin has, and again when it is asked to."""
_KILLED_S: Final = 5.0
_NOT_STARTED: Final = 127
"""The exit status of the warden when the program cannot be started."""
_ERRORS: Final = 2
"""The place of the task that reads stderr; it goes on until the end."""
_ENDLESS_BYTES: Final = 256 * 1024 * 1024
_CHUNK_BYTES: Final = 64 * 1024
_STDERR_BYTES: Final = 4 * 1024
_LAST_WORDS: Final = 300
"""The most characters of stderr that a sentence quotes."""
_TOO_LONG: Final = -32050
"""The code of an error that stands for an answer. The package has codes of its own near -32000."""


@contextlib.asynccontextmanager
async def stdio(config: ServerConfig, guard: Guard, ending: Ending) -> AsyncIterator[Any]:
    """The streams of the package for a program that is started. `config` is filled in, its
    variables are the whole environment. Leaving the block ends the
    program. Raises McpFailure."""
    process, control = await _start(config)
    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)
    errors = BoundedOutput(_STDERR_BYTES)
    reading_errors = asyncio.create_task(_read_errors(process, errors), name=f"mcp {config.name} err")

    async def read() -> None:
        try:
            await _read(process, guard, ending, to_session)
            # What the program wrote last may come after its output has ended.
            await asyncio.wait({reading_errors, asyncio.ensure_future(process.wait())}, timeout=_LEAVING_S)
            is_missing = process.returncode == _NOT_STARTED
            ending.end(_how_it_ended(process.returncode, config), _last_words(errors), is_final=is_missing)
        finally:
            to_session.close()  # now the package says that the connection has ended

    tasks = [
        asyncio.create_task(read(), name=f"mcp {config.name} out"),
        asyncio.create_task(_write(process, guard, from_session), name=f"mcp {config.name} in"),
        reading_errors,
    ]
    try:
        yield from_server, to_server
    finally:
        leaving = asyncio.create_task(_end(process, control, tasks), name=f"mcp {config.name} end")
        try:
            await asyncio.shield(leaving)
        finally:
            for stream in (to_session, from_server, to_server, from_session):
                stream.close()


async def _start(config: ServerConfig) -> tuple[asyncio.subprocess.Process, int | None]:
    """The process, and the descriptor whose end ends it."""
    command: Sequence[str] = config.command
    more: dict[str, Any] = {}
    control, other = None, None
    if _HAS_WARDEN:
        other, control = os.pipe()
        command = (sys.executable, "-I", "-S", str(_WARDEN), "--control", str(other), *command)
        more = {"pass_fds": (other,), "start_new_session": True}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=config.cwd,
            env=config.env,
            **more,
        )
    except BaseException as error:
        if control is not None:
            os.close(control)
        if not isinstance(error, OSError):
            raise
        where = "" if config.cwd is None else f" in {visible(config.cwd)[:200]}"
        raise McpFailure(
            f"The program {visible(config.command[0])[:200]!r} cannot be started{where}: {error.strerror}.",
            is_final=True,
        ) from None
    finally:
        if other is not None:
            os.close(other)
    return process, control


async def _read(process: asyncio.subprocess.Process, guard: Guard, ending: Ending, to_session: Any) -> None:
    """Hands on what the server writes, until it ends or is to be ended."""
    assert process.stdout is not None
    lines = Lines()
    try:
        while data := await process.stdout.read(_CHUNK_BYTES):
            for line in lines.feed(data):
                if (message := _message(line, guard)) is not None:
                    await to_session.send(SessionMessage(message))
            if lines.n_lost > _ENDLESS_BYTES:
                raise Flood("It sent a message that does not end, and was ended.")
    except Flood as flood:
        ending.end(str(flood))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        ending.end("The connection was closed.")


def _message(line: bytes | LongLine, guard: Guard) -> Any:
    """The message of a line; None for one that is none, or that is not wanted. Raises Flood."""
    if isinstance(line, LongLine):
        if line.answers is None:
            raise Flood(f"It sent a message of {line.n_bytes:,} bytes; the most is {MAX_LINE_BYTES:,}. It was ended.")
        sentence = f"The answer has {line.n_bytes:,} bytes, and at most {MAX_LINE_BYTES:,} are read. Ask for less."
        return JSONRPCError(jsonrpc="2.0", id=line.answers, error=ErrorData(code=_TOO_LONG, message=sentence))
    if not line.strip():
        guard.note_noise()
        return None
    try:
        read = json.loads(line, parse_constant=str)
        # The package's own reader takes many times as long for a large answer, on the event loop.
        is_answer = isinstance(read, dict) and "result" in read
        form = JSONRPCResponse.model_validate if is_answer else jsonrpc_message_adapter.validate_python
        message = form(read, by_name=False)
    except (ValueError, RecursionError):
        guard.note_noise()  # some print to stdout what belongs on stderr
        return None
    return message if guard.admits(message) else None


async def _write(process: asyncio.subprocess.Process, guard: Guard, from_session: Any) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, anyio.ClosedResourceError):
        async for each in from_session:
            process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()
            guard.note_sent(each.message)
    from_session.close()  # the package learns at its next message that nobody reads any more


async def _read_errors(process: asyncio.subprocess.Process, errors: BoundedOutput) -> None:
    assert process.stderr is not None
    while data := await process.stderr.read(_CHUNK_BYTES):
        errors.feed(data)


async def _end(process: asyncio.subprocess.Process, control: int | None, tasks: Sequence[asyncio.Task[None]]) -> None:
    """Close its stdin, then ask it to end, then end it with everything it started."""
    assert process.stdin is not None
    handing_on, errors = [task for n, task in enumerate(tasks) if n != _ERRORS], tasks[_ERRORS]
    for task in handing_on:
        task.cancel()
    await asyncio.wait(handing_on)
    draining = asyncio.create_task(_drain(process))  # a server that writes cannot see that its stdin has ended
    try:
        process.stdin.close()
        if not await _has_ended(process, _LEAVING_S):
            with contextlib.suppress(OSError):
                if control is None:
                    process.terminate()
                else:
                    os.write(control, b"t")
            await _has_ended(process, _LEAVING_S)
    finally:
        if control is not None:
            os.close(control)
        await _has_ended(process, _KILLED_S)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        for task in (draining, errors):
            task.cancel()
        await asyncio.wait((draining, errors))
        process._transport.close()  # type: ignore[attr-defined]  # who inherited its pipes may hold them open


async def _drain(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    while await process.stdout.read(_CHUNK_BYTES):
        pass


async def _has_ended(process: asyncio.subprocess.Process, wait_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            await process.wait()
    return process.returncode is not None


def _how_it_ended(status: int | None, config: ServerConfig) -> str:
    if status is None:
        return "It closed its output."
    if status == _NOT_STARTED:
        return f"The program {visible(config.command[0])[:200]!r} cannot be started (exit status {_NOT_STARTED})."
    return f"It was ended by signal {-status}." if status < 0 else f"It ended with exit status {status}."


def _last_words(errors: BoundedOutput) -> str:
    """The last line of stderr that says something."""
    lines = [line.strip() for line in errors.text().splitlines() if line.strip()]
    return visible(lines[-1])[-_LAST_WORDS:] if lines else ""
