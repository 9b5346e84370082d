"""The screen of a terminal, with its escape sequences, from stdin; writes it as a page, with the colors of Neovim."""

from __future__ import annotations

import io
import sys

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

FOREGROUND = (224, 226, 234)
THEME = TerminalTheme((20, 22, 27), FOREGROUND, [FOREGROUND] * 8, [FOREGROUND] * 8)
PAGE = (
    "<!DOCTYPE html><meta charset='utf-8'><style>{stylesheet} body {{ color: {foreground};"
    " background: {background}; margin: 8px; }} pre {{ font: 14px monospace; }}</style><pre>{code}</pre>"
)

console = Console(
    width=int(sys.argv[1]), file=io.StringIO(), record=True, color_system="truecolor", force_terminal=True
)
console.print(Text.from_ansi(sys.stdin.read()), no_wrap=True, crop=True)
sys.stdout.write(console.export_html(theme=THEME, code_format=PAGE))
