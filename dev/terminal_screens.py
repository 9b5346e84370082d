"""Photographs `palimpsest chat` in tmux: `python -m dev.terminal_screens FOLDER`.

Writes each scene at 60, 100 and 200 columns, with and without colors, as text, those with colors as pictures, and all
of them on one page, `index.html`, on a dark and on a light terminal. Needs tmux. A scripted server answers.
"""

from __future__ import annotations

import html
import os
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.terminal_theme import TerminalTheme

from dev.screen_pictures import drawn, svg

ROOT: Final = Path(__file__).parents[1]
SERVER: Final = ROOT / "tests/terminal/demo_server.py"
WIDTHS: Final = (60, 100, 200)
ROWS: Final = 36
WAIT_S: Final = 30
_RED, _GREEN, _BLUE, _MAGENTA, _CYAN = (205, 49, 49), (13, 160, 100), (36, 114, 200), (188, 63, 188), (17, 152, 190)
_COLORS: Final = [(0, 0, 0), _RED, _GREEN, (152, 140, 0), _BLUE, _MAGENTA, _CYAN, (160, 160, 160)]
DARK: Final = TerminalTheme((30, 30, 30), (212, 212, 212), _COLORS, _COLORS)
LIGHT: Final = TerminalTheme((255, 255, 255), (51, 51, 51), _COLORS, _COLORS)


@dataclass(frozen=True, slots=True)
class Scene:
    """What is typed, and what is on the screen when it is photographed."""

    name: str
    keys: tuple[str, ...]
    """For `tmux send-keys`: a word of more than one letter may name a key."""
    shown: tuple[str, ...]
    """Waited for before the next scene."""


SCENES: Final = (
    Scene("first", (), ("Ask, or type",)),
    Scene("commands", ("/re",), ("/resume",)),
    Scene("files", ("C-u", "Explain @pri"), ("src/shop",)),
    Scene("working", ("C-u", "slow", "Enter", "and then?", "Enter", "I type on"), ("next:", "I type on")),
    Scene("stopped", ("C-c",), ("was cancelled",)),
    Scene("answer", ("C-c", "tour", "Enter"), ("Only one of them",)),
    Scene("approval", ("change", "Enter"), ("then Enter",)),
    Scene("approved", ("y", "Enter"), ("1 edit made",)),
    Scene("changes", ("/changes", "Enter"), ("of this conversation",)),
    Scene("resume", ("/resume", "Enter"), ("goes on with",)),
    Scene("error", ("overloaded", "Enter"), ("input history",)),
    Scene("paste", ("long", "Enter"), ("The end",)),
)


class Window:
    """A chat in tmux."""

    def __init__(self, folder: Path, columns: int, has_color: bool) -> None:
        self._socket = f"palimpsest-{uuid.uuid4().hex[:8]}"
        self._folder = folder
        chat = (sys.executable, "-P", str(SERVER), "--chat", str(folder), "--conversations", "3")
        shell = f"printf '$ palimpsest chat\\n'; exec {shlex.join(chat)}"
        environment = {
            **{name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR", "COLUMNS")},
            "PYTHONPATH": os.pathsep.join(str(ROOT / each) for each in ("server", "clients", "hub", ".")),
            "XDG_STATE_HOME": str(folder.parent / "state"),
            "HOME": str(folder.parent),
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
            **({} if has_color else {"NO_COLOR": "1"}),
        }
        size = ("-x", str(columns), "-y", str(ROWS))
        self._tmux("-u", "-f", "/dev/null", "new-session", "-d", *size, shell, env=environment)

    def type(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._tmux("send-keys", key)

    def wait_for(self, wanted: Sequence[str]) -> str:
        """The screen, with its escape sequences, once all this is on it."""
        deadline = time.monotonic() + WAIT_S
        while True:
            screen = self._tmux("capture-pane", "-p", "-J")
            if all(each in screen for each in wanted):
                return self._tmux("capture-pane", "-p", "-e")
            if time.monotonic() > deadline:
                raise SystemExit(f"The chat did not show {wanted}:\n{screen}")
            time.sleep(0.05)

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        command = ("tmux", "-L", self._socket, *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env, cwd=self._folder).stdout


def photograph(columns: int, has_color: bool) -> dict[str, str]:
    """Each scene's screen, with its escape sequences, by the name of the scene."""
    screens = {}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory) / "shop"
        folder.mkdir()
        window = Window(folder, columns, has_color)
        try:
            for scene in SCENES:
                window.type(scene.keys)
                window.wait_for(scene.shown)
                time.sleep(0.3)  # for what is drawn after what was waited for
                screens[scene.name] = window.wait_for(scene.shown)
        finally:
            window.close()
    return screens


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    sections = []
    for columns in WIDTHS:
        for has_color in (True, False):
            kind = f"{columns} columns, {'colors' if has_color else 'NO_COLOR'}"
            for name, screen in photograph(columns, has_color).items():
                file = target / f"{name}-{columns}-{'color' if has_color else 'plain'}.txt"
                file.write_text(screen, encoding="utf-8")
                if has_color:
                    file.with_suffix(".svg").write_text(svg(screen, columns, DARK, "Terminal"), encoding="utf-8")
                pair = "".join(_page(screen, columns, theme) for theme in (DARK, LIGHT))
                sections.append(f"<h2>{html.escape(name)}, {kind}</h2><div class=pair>{pair}</div>")
    page = "<!doctype html><meta charset=utf-8><title>palimpsest chat</title><style>body{font:15px sans-serif}"
    page += ".pair{display:flex;flex-wrap:wrap;gap:12px}pre{margin:0;min-width:30em;padding:8px}"
    page += "pre,code{font:13px/1.25 monospace}</style>"
    (target / "index.html").write_text(page + "".join(sections), encoding="utf-8")
    print(target / "index.html")


def _page(screen: str, columns: int, theme: TerminalTheme) -> str:
    style = f"background:{theme.background_color.hex};color:{theme.foreground_color.hex}"
    code_format = f'<pre style="{style}">{{code}}</pre>'
    return drawn(screen, columns).export_html(theme=theme, inline_styles=True, code_format=code_format)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
