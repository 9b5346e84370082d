"""The lines that a server writes, within bounds.

The package keeps a line until it ends, however long it becomes. Here a line that is too long is counted and forgotten,
but for its head and its tail: one of them says which request it answers, so that only this request fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""The longest message of a server, and the longest answer over HTTP."""
_KEPT_BYTES: Final = 512
_ID: Final = rb'"id"\s*:\s*(?:(-?\d{1,15})|"([^"\\]{1,100})")'
_VERSION: Final = rb'"jsonrpc"\s*:\s*"2\.0"'
_AT_HEAD: Final = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID + rb"\s*,")
_AT_TAIL: Final = re.compile(rb",\s*" + _ID + rb"(?:\s*,\s*" + _VERSION + rb")?\s*\}\s*\Z")


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that was not kept."""

    n_bytes: int
    answers: int | str | None
    """The id of the request that it answers; None where it does not say so at one of its ends."""


class Lines:
    """Cuts bytes into lines."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self.n_lost = 0
        """The bytes of a line that is too long; of such a line `_line` is the head and the tail."""

    def feed(self, data: bytes) -> Iterator[bytes | LongLine]:
        """The lines that end in `data`, without their ends."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._take(data[start:end])
            yield self._ended()
            start = end + 1
        self._take(data[start:])

    def _take(self, data: bytes) -> None:
        self._line += data
        if len(self._line) > self._max_bytes or (self.n_lost and len(self._line) > 2 * _KEPT_BYTES):
            n_middle = len(self._line) - 2 * _KEPT_BYTES
            self.n_lost += max(0, n_middle)
            del self._line[_KEPT_BYTES : _KEPT_BYTES + max(0, n_middle)]

    def _ended(self) -> bytes | LongLine:
        line, n_lost = bytes(self._line), self.n_lost
        self._line.clear()
        self.n_lost = 0
        if not n_lost:
            return line.rstrip(b"\r")
        found = _AT_HEAD.match(line[:_KEPT_BYTES]) or _AT_TAIL.search(line[-_KEPT_BYTES:])
        id = None if found is None else int(found[1]) if found[1] else found[2].decode("utf-8", "replace")
        return LongLine(len(line) + n_lost, id)
