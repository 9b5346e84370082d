"""A program on a terminal of its own: keys are typed, and its screen is read. It needs tmux."""

from __future__ import annotations

import asyncio
import shlex
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from tests.editors.shop import ROOT, WAIT_S, artefact

_POLL_S: Final = 0.1


class Screen:
    """One program, from `start` to the end of the `async with` block."""

    def __init__(self, name: str, folder: Path, variables: dict[str, str]) -> None:
        self._name, self._folder, self._variables = name, folder, variables
        self._socket = f"palimpsest-{uuid.uuid4().hex[:8]}"
        self._n_kept = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tmux("kill-server")

    async def start(self, command: Sequence[str], size: tuple[int, int] = (150, 32), cast: Path | None = None) -> None:
        """Starts the program. `size`: columns and rows. `cast`: where everything is recorded that it shows."""
        columns, rows = map(str, size)
        waiting = f"read _; exec {shlex.join(command)}"
        await self._tmux("new-session", "-d", "-x", columns, "-y", rows, f"sh -c {shlex.quote(waiting)}")
        await self._tmux("set-option", "-s", "escape-time", "0")
        if cast is not None:
            recorder = [sys.executable, "-P", str(ROOT / "dev/asciicast.py"), str(cast), columns, rows]
            await self._tmux("pipe-pane", shlex.join(recorder))
        await self.keys("Enter")

    async def _tmux(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "-L", self._socket, "-f", "/dev/null", *arguments),
            cwd=self._folder,
            env=self._variables,
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await asyncio.wait_for(process.communicate(), WAIT_S)
        assert process.returncode == 0, arguments
        return said.decode()

    async def text(self) -> str:
        return await self._tmux("capture-pane", "-p")

    async def colored(self) -> str:
        """The screen with its escape sequences."""
        return await self._tmux("capture-pane", "-p", "-e")

    async def keys(self, *keys: str) -> None:
        """Presses keys by their names in tmux."""
        await self._tmux("send-keys", *keys)

    async def type(self, text: str) -> None:
        await self._tmux("send-keys", "-l", text)

    async def until(self, *wanted: str, is_there: bool = True, timeout_s: float = WAIT_S) -> str:
        """The screen, once it shows all of the texts, or none of them."""
        shown = ""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    shown = await self.text()
                    if all((each in shown) is is_there for each in wanted):
                        return shown
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise AssertionError(f"waited for {wanted} ({is_there})\n{shown}") from None

    async def keep(self, what: str) -> None:
        """Keeps the screen as an artefact."""
        self._n_kept += 1
        if (place := artefact(f"{self._name}-{self._n_kept}-{what}.txt")) is not None:
            place.write_text(await self.text())
