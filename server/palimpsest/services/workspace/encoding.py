"""The text of a file's bytes, and its lines as editors count them."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_PROBE_BYTES: Final = 8 * 1024
_CONTROL: Final = re.compile(rb"[\0-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f]")
"""Characters that no text has: control characters other than backspace, white space and escape."""


@dataclass(frozen=True, slots=True)
class FileText:
    text: str
    encoding: str
    """`UTF-8`, `UTF-16` or `Latin-1`. The last is a guess, because every byte is valid in it."""


def decode(data: bytes) -> FileText | None:
    """The text in `data`, without a byte order mark; None when it is binary."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return FileText(data.decode("utf-16"), "UTF-16")
        except UnicodeDecodeError:
            return None
    head = data[:_PROBE_BYTES]
    if b"\0" in head:
        return None
    try:
        return FileText(data.decode("utf-8-sig"), "UTF-8")
    except UnicodeDecodeError:
        return None if _CONTROL.search(head) else FileText(data.decode("latin-1"), "Latin-1")


def split_lines(text: str) -> list[str]:
    """The lines of `text` without their ends, which are `\\n`, `\\r\\n` and `\\r` and nothing else, as in LSP.

    An empty line after the last end does not count.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines
