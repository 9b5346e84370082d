"""Chats for tests: through pipes, and at a pseudo-terminal where keys are typed and the screen's text is awaited."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pyte
from tests.waiting import WAIT_S

import palimpsest.terminal.chat
from palimpsest.terminal import texts
from palimpsest.terminal.connection import Connection
from palimpsest.terminal.session import Session

HERE = Path(__file__).parent
TIMEOUT_S = WAIT_S
ROWS, COLUMNS = 40, 100

CTRL_A, CTRL_C, CTRL_D, ENTER, TAB, UP = "\x01", "\x03", "\x04", "\r", "\t", "\x1b[A"


class Chats:
    """Starts chats in one folder, with one state folder; remembers what their servers were sent."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "a folder #1 ü"
        self.folder.mkdir()
        self.state = root / "state"
        self.log = root / "received.jsonl"

    def command(self, *scene: str, which: str = "newest", server: list[str] | None = None) -> list[str]:
        server = server or self.server(*scene)
        return [sys.executable, "-P", str(HERE / "start_chat.py"), str(self.folder), which, *server]

    def server(self, *scene: str) -> list[str]:
        """The command of a scripted server."""
        return [sys.executable, "-P", str(HERE / "scripted_server.py"), str(self.log), *scene]

    @contextlib.asynccontextmanager
    async def connected(self, *scene: str) -> AsyncGenerator[tuple[Connection, Session], None]:
        """A connection without a chat around it."""
        connection = await Connection.start(self.server(*scene))
        try:
            await asyncio.wait_for(connection.initialize(self.folder), TIMEOUT_S)
            yield connection, Session(connection, self.folder.as_uri())
        finally:
            await asyncio.wait_for(connection.close(), TIMEOUT_S)

    def environment(self) -> dict[str, str]:
        source = Path(palimpsest.terminal.chat.__file__).parents[2]
        kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
        return {
            **kept,
            "PYTHONPATH": str(source),
            "XDG_STATE_HOME": str(self.state),
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "TZ": "UTC",
        }

    def pipe(self, text: str | bytes, *scene: str, which: str = "newest") -> subprocess.CompletedProcess[str]:
        """A whole chat whose stdin is `text`."""
        done = subprocess.run(
            self.command(*scene, which=which),
            input=text.encode() if isinstance(text, str) else text,
            capture_output=True,
            env=self.environment(),
            timeout=TIMEOUT_S,
            check=False,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    @contextlib.contextmanager
    def popen(self, *scene: str) -> Iterator[subprocess.Popen[bytes]]:
        """A chat on pipes that is still talked to."""
        pipe = subprocess.PIPE
        command = self.command(*scene)
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment()) as chat:
            try:
                yield chat
            finally:
                chat.kill()

    @contextlib.contextmanager
    def terminal(self, *scene: str, which: str = "newest", env: Mapping[str, str] | None = None) -> Iterator[Terminal]:
        """A chat at a terminal of 40 rows and 100 columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        with subprocess.Popen(
            self.command(*scene, which=which),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**self.environment(), **(env or {})},
            start_new_session=True,
        ) as chat:
            os.close(slave)
            try:
                yield Terminal(chat, master)
            finally:
                chat.kill()
                os.close(master)

    def let_go(self) -> None:
        """End the answer of the scene `held`."""
        Path(f"{self.log}.go").touch()

    def received(self, method: str) -> list[Any]:
        """The params of the messages of one method that the server got, oldest first."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        messages = [json.loads(line) for line in lines]
        return [message.get("params") for message in messages if message.get("method") == method]


class Terminal:
    """A person at the terminal: types, and waits until something is to be seen."""

    def __init__(self, chat: subprocess.Popen[bytes], master: int) -> None:
        self._chat = chat
        self._master = master
        self._raw = ""
        self._pending = b""
        self._screen = pyte.HistoryScreen(COLUMNS, ROWS, history=10_000)
        self._drawing = pyte.Stream(self._screen)
        self.seen = 0
        """How far the output has been matched."""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """A signal from elsewhere than the keyboard."""
        self._chat.send_signal(number)

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal shows what is typed, and gives it line by line, as shells leave it."""
        modes = termios.tcgetattr(self._master)[3]
        return (
            bool(modes & termios.ECHO and modes & termios.ICANON)
            and "\x1b[?2004l" in self._raw.split("\x1b[?2004h")[-1]
        )

    def kill_server(self) -> None:
        """Kills the server of the chat."""
        (server,) = psutil.Process(self._chat.pid).children()
        server.kill()

    def expect(self, text: str) -> str:
        """Wait for text behind what was matched last; what came up to its end, as sent, controls included."""
        deadline = time.monotonic() + TIMEOUT_S
        while (match := _find(self._raw, self.seen, text)) is None:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} was not seen in {self._raw[self.seen :]!r}")
        before, self.seen = self._raw[self.seen : match], match
        return before

    def until(self, *wanted: str) -> list[str]:
        """Wait until all this is on the screen; its lines then."""
        deadline = time.monotonic() + TIMEOUT_S
        while not all(any(each in line for line in self.lines) for each in wanted):
            if not self._read(deadline):
                raise AssertionError("\n".join((f"{wanted} were not seen in", *self.lines)))
        return self.lines

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without blanks at the end of lines and empty lines at its end."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")

    @property
    def transcript(self) -> list[str]:
        """All lines, those that have scrolled away first."""
        width = self._screen.columns
        away = ["".join(line[column].data for column in range(width)).rstrip() for line in self._screen.history.top]
        return [*away, *self.lines]

    def resize(self, rows: int, columns: int) -> None:
        """The window gets another size."""
        self._screen.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def expect_prompt(self) -> str:
        """Wait until the chat waits for a message; what came before, as sent."""
        self.until(texts.PLACEHOLDER)
        before, self.seen = self._raw[self.seen :], len(self._raw)
        return before

    def leave(self, keys: str = CTRL_D) -> int:
        """The exit status after these keys."""
        self.type(keys)
        return self.end()

    def end(self) -> int:
        deadline = time.monotonic() + TIMEOUT_S
        while self._read(deadline):
            pass
        return self._chat.wait(max(0.1, deadline - time.monotonic()))

    @property
    def rest(self) -> str:
        """The output behind the last match, as sent."""
        return self._raw[self.seen :]

    def _read(self, deadline: float) -> bool:
        """False at the end of the output, or when time is up."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return False  # How Linux tells that nobody has the other side open any more.
        self._pending += data
        text = self._pending.decode("utf-8", "ignore")
        self._pending = self._pending[len(text.encode()) :]
        self._raw += text
        self._drawing.feed(text)
        return bool(data)


def _find(raw: str, start: int, text: str) -> int | None:
    """The offset at which `text` ends in the raw output; control sequences between its characters do not count."""
    gap = r"(?:\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>])*"
    match = re.compile(gap.join(map(re.escape, text))).search(raw, start)
    return match.end() if match else None
