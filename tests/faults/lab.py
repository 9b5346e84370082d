"""Where faults are tried: a provider in another process, servers in processes of their own, folders thrown away."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.faults.script import README, Script
from tests.faults.serve import Fault
from tests.lsp.rawlsp import REPOSITORY, RawClient, Request, environment
from tests.lsp.real_server import Editor, home, on_fake

TURN_S = 60.0
"""For one turn, recovery or ending on a machine that has much else to do."""


@dataclass
class Place:
    """A folder and the home of the servers that open it."""

    home: Path
    folder: Path

    @property
    def database(self) -> Path:
        """Raises ValueError while there is none."""
        (found,) = (self.home / "data" / "palimpsest" / "folders").glob("*/store.db")
        return found


@dataclass
class Server:
    """A running server with the editor that started it."""

    pid: int
    editor: Editor
    _ended: asyncio.Task[int]

    def send(self, script: Script, request_id: str, conversation_id: str | None) -> Request:
        where = {} if conversation_id is None else {"conversationId": conversation_id}
        params = {"requestId": request_id, "text": script.user_text, "partialResultToken": request_id} | where
        return self.editor.client.start_request("palimpsest/chat", params)

    def kill(self) -> None:
        if not self._ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    async def ended(self) -> int:
        """The exit code, negative for a signal; all that it sent has been read then."""
        code = await asyncio.wait_for(asyncio.shield(self._ended), TURN_S)
        await asyncio.wait_for(self.editor.client.reading, TURN_S)
        return code

    async def leave(self) -> int:
        """Ends the session like an editor."""
        await self.editor.client.request("shutdown", timeout_s=TURN_S)
        self.editor.client.notify("exit")
        return await self.ended()


@dataclass
class Lab:
    """Everything the trials share; `place` gives each a folder of its own."""

    directory: Path
    provider_url: str
    _product: Path
    _forks: str
    _n_places: int = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, pause_ms: float = 3, product: Path = REPOSITORY / "server") -> AsyncIterator[Self]:
        """`product`: the folder of the package that is tried."""
        directory = Path(tempfile.mkdtemp(prefix="faults-"))
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
            url = await _helper(stack, product, "tests.faults.provider", str(pause_ms))
            forks = str(directory / "forks")
            vocabularies = directory / "cache" / "palimpsest" / "vocabularies"
            await _helper(stack, product, "tests.faults.warm", forks, str(vocabularies))
            yield cls(directory, url, product, forks)

    def place(self, root: Path | None = None) -> Place:
        """A folder nobody has opened yet; what servers keep of it lies below `root` or the lab's own directory."""
        self._n_places += 1
        made = Place((root or self.directory) / f"{self._n_places}", self.directory / f"folder {self._n_places}")
        made.home.mkdir()
        made.folder.mkdir()
        (made.folder / "README.md").write_text(README)
        return made

    def discard(self, place: Place) -> None:
        shutil.rmtree(place.home, ignore_errors=True)
        shutil.rmtree(place.folder, ignore_errors=True)

    @contextlib.asynccontextmanager
    async def server(
        self,
        place: Place,
        fault: Fault = Fault(),  # noqa: B008  # frozen
        **more: str,
    ) -> AsyncIterator[Server]:
        """A server that is initialized, unless the fault killed it before, with more variables. Killed with the
        block."""
        variables = home(place.home, **on_fake(self.provider_url) | more) | fault.environment()
        variables |= {"XDG_CACHE_HOME": str(self.directory / "cache"), "PYTHONPATH": _path(self._product)}
        server = await self._fork(environment(**variables), self.directory / "stderr")
        try:
            folders = [{"uri": place.folder.as_uri(), "name": place.folder.name}]
            with contextlib.suppress(EOFError):
                await server.editor.client.initialize(workspaceFolders=folders)
            yield server
        finally:
            server.kill()
            await server.ended()
            await server.editor.client.close()

    async def _fork(self, variables: dict[str, str], errors: Path) -> Server:
        reader, writer = await asyncio.open_unix_connection(self._forks)
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        log = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        text = json.dumps(variables).encode()
        raw = writer.get_extra_info("socket")
        descriptors = struct.pack("3i", theirs_in, theirs_out, log)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        with socket.socket(fileno=os.dup(raw.fileno())) as own:
            own.sendmsg([len(text).to_bytes(8, "big")], ancillary)
        for descriptor in (theirs_in, theirs_out, log):
            os.close(descriptor)
        writer.write(text)
        pid = int(await asyncio.wait_for(reader.readline(), TURN_S))
        loop = asyncio.get_running_loop()
        output = asyncio.StreamReader(limit=1 << 26)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), os.fdopen(ours_out, "rb"))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop=loop), os.fdopen(ours_in, "wb")
        )
        client = RawClient(output, _Input(transport, protocol, output, loop))

        async def ended() -> int:
            line = await reader.readline()
            writer.close()
            return int(line)

        return Server(pid, Editor(client), asyncio.create_task(ended()))


class _Input(asyncio.StreamWriter):
    """The server's stdin. A pipe's writer has nothing to wait for when it closes."""

    async def wait_closed(self) -> None:
        return


async def _helper(stack: contextlib.AsyncExitStack, product: Path, module: str, *arguments: str) -> str:
    """A process of ours that ends when its stdin does; the line it prints when it is ready."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment(PYTHONPATH=_path(product)),
    )

    async def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), TURN_S)

    stack.push_async_callback(end)
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), TURN_S)).decode().strip()


def _path(product: Path) -> str:
    return os.pathsep.join(map(str, (product, REPOSITORY / "clients", REPOSITORY)))
