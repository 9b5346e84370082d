"""Pictures of what stands on a terminal's screen, given with its escape sequences."""

from __future__ import annotations

import io
import re
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

_FONTS: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""Rich would have fonts fetched from elsewhere."""


def svg(screen: str, columns: int, theme: TerminalTheme, title: str) -> str:
    """An SVG of a screen, in a frame with a title of one word."""
    return _FONTS.sub("", drawn(screen, columns).export_svg(title=title, theme=theme, unique_id=title.lower()))


def drawn(screen: str, columns: int) -> Console:
    """A console that recorded the screen, for an export."""
    console = Console(width=columns, file=io.StringIO(), record=True, color_system="truecolor", force_terminal=True)
    console.print(Text.from_ansi(screen), no_wrap=True, crop=True)
    return console
