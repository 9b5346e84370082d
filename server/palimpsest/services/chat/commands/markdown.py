"""Markdown that shows text as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_CODE_OR_MARK: Final = re.compile(r"(?P<code>(?<!`)`[^`|]+`(?!`))|[\\`*_{}\[\]<>#|~&]")
"""A code mark with a pipe in it would end the cell of a table."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. The cells are text and are escaped here; the head is Markdown."""
    lines = [head, ["---"] * len(head), *([plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(text: str) -> str:
    """Text on one line, escaped: no word of a message becomes a link, a picture or a table. What stands between single
    code marks stays code, in which nothing else counts."""
    return _CODE_OR_MARK.sub(lambda found: found["code"] or f"\\{found[0]}", " ".join(text.split()))


def code(text: str) -> str:
    """Text in code marks, whatever marks it holds itself."""
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def minute(stamp: str) -> str:
    """A stored time, to the minute: `2026-11-21 10:00 UTC`."""
    return f"{stamp[:10]} {stamp[11:16]} UTC"


def seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.1f} s"
