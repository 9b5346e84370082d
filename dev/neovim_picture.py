"""Photographs a conversation in a real Neovim for the README: `python -m dev.neovim_picture FILE.svg`.

Needs tmux, and a Neovim as `tests/editors` find it. The answers come from our fake model service.
"""

from __future__ import annotations

import asyncio
import io
import re
import shlex
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from tests.editors.neovim import LUA, HeldModels, environment, find_neovim

from palimpsest_clients.fake.replies import Call, Reply

COLUMNS, ROWS = 104, 25
SOURCE: Final = '''"""Prices, in cents."""

RATE = 0.19


def gross(net):
    """The net price with tax."""
    return round(net * (1 + RATE))
'''
QUESTION: Final = "Where is the tax rate kept?"
ANSWERS: Final = (
    Reply("", calls=(Call("call-1", "read_file", '{"path": "prices.py"}'),)),
    Reply(
        "In one place: `RATE`, line 3 of `prices.py`. Only `gross` uses it.\n\n"
        "The price is rounded **once**, after the tax, so sums of many items stay right."
    ),
)
_BACKGROUND, _FOREGROUND = (20, 22, 27), (224, 226, 234)
"""Of Neovim's own colors on a dark terminal."""
THEME: Final = TerminalTheme(_BACKGROUND, _FOREGROUND, [_FOREGROUND] * 8, [_FOREGROUND] * 8)
_FONTS: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""Rich would have fonts fetched from elsewhere."""
WAIT_S: Final = 60


async def photograph(directory: Path, neovim: str) -> str:
    """The screen with the answer, with its escape sequences."""
    folder = directory / "shop"
    folder.mkdir()
    (folder / ".git").mkdir()
    (folder / "prices.py").write_text(SOURCE)
    socket = f"palimpsest-{uuid.uuid4().hex[:8]}"
    async with HeldModels() as models:
        models.replies.extend(ANSWERS)
        variables = environment(directory, models, TERM="xterm-256color", PALIMPSEST_MODEL="openai/made-up")

        async def tmux(*arguments: str) -> str:
            process = await asyncio.create_subprocess_exec(
                *("tmux", "-L", socket, "-f", "/dev/null", *arguments),
                cwd=folder,
                env=variables,
                stdout=asyncio.subprocess.PIPE,
            )
            said, _ = await process.communicate()
            if process.returncode:
                raise SystemExit(f"tmux {arguments[0]} failed")
            return said.decode()

        async def until_shown(*wanted: str) -> None:
            screen, deadline = "", time.monotonic() + WAIT_S
            while not all(each in screen for each in wanted):
                if time.monotonic() > deadline:
                    raise SystemExit(f"Neovim did not show {wanted}:\n{screen}")
                await asyncio.sleep(0.1)
                screen = await tmux("capture-pane", "-p")

        settings = "set background=dark termguicolors laststatus=0 noruler noshowcmd shortmess+=I fillchars=eob:\\ "
        command = (neovim, "-u", str(LUA / "init.lua"), "-i", "NONE", "-c", settings, "-c", "syntax on", "prices.py")
        await tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), shlex.join(command))
        try:
            await until_shown("def gross")
            await tmux("send-keys", f":Palimpsest ask {QUESTION}", "Enter")
            await until_shown(QUESTION, "#1 ", "stay right", "▱▱▱▱▱", "Your message")
            return await tmux("capture-pane", "-p", "-e")
        finally:
            await tmux("kill-server")


def main(file: Path) -> None:
    neovim, why_not = find_neovim()
    if neovim is None:
        raise SystemExit(why_not)
    with tempfile.TemporaryDirectory() as directory:
        screen = asyncio.run(photograph(Path(directory), neovim))
    console = Console(width=COLUMNS, file=io.StringIO(), record=True, color_system="truecolor", force_terminal=True)
    console.print(Text.from_ansi(screen), no_wrap=True, crop=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    picture = console.export_svg(title="Neovim", theme=THEME, unique_id="neovim")
    file.write_text(_FONTS.sub("", picture), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
