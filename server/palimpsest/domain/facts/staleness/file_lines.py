"""A version of a file as it is stored: one hash for each line."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from zlib import crc32

_BLANK = 0


def split_lines(text: str) -> list[str]:
    """Lines end at \\n, \\r\\n or \\r and nowhere else; a text that ends with a line end has an empty last line.
    A byte order mark is not part of the first."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def line_hash(line: str) -> int:
    """0 for a blank line. The amount of white space does not count."""
    return FileLines.of_lines([line]).hashes[0]


@dataclass(frozen=True, slots=True)
class FileLines:
    """The hashes of one version, shared by all its facts."""

    hashes: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        return cls.of_lines(split_lines(text))

    @classmethod
    def of_lines(cls, lines: Sequence[str]) -> Self:
        squeezed = (" ".join(line.split()) for line in lines)
        return cls(tuple([crc32(each.encode("utf-8", "surrogatepass")) or 1 if each else _BLANK for each in squeezed]))

    def to_bytes(self) -> bytes:
        """Four bytes a line, the lowest first."""
        return struct.pack(f"<{len(self.hashes)}I", *self.hashes)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Raises ValueError for a length that is no multiple of four."""
        if len(data) % 4:
            raise ValueError("The stored lines of a file must have four bytes each.")
        return cls(struct.unpack(f"<{len(data) // 4}I", data))
