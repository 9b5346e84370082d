"""The base protocol's frames: header lines, an empty line, a body of `Content-Length` bytes. No I/O happens here.

A stream whose frames are broken cannot be followed any further: nobody knows where the next message begins. So the
decoder is strict, says at the earliest byte what is wrong, and stays broken. Its rules (LSP 3.17, "Base Protocol"):

- A header line ends in CR LF and nothing else, reads `Name: value`, and is ASCII. A name is a token as in HTTP, so that
  a line of JSON or a stray print is no header. Names are compared without case, unknown headers are skipped, blanks
  around a value do not count.
- `Content-Length` is needed, in decimal digits, at most `MAX_BODY_BYTES`. Said twice with one value it counts once;
  said twice with two values it is an error. Zero is a frame with an empty body.
- `Content-Type` may name a charset, and that must be UTF-8 (or `utf8`, as old editors write it).
- The whole header block is at most `MAX_HEADER_BYTES` long.
"""

from __future__ import annotations

import re

MAX_BODY_BYTES = 256 << 20
MAX_HEADER_BYTES = 8 << 10

_DIGITS = re.compile(rb"[0-9]+")
_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_|~-]+")
_CHARSET = re.compile(rb""";\s*charset\s*=\s*["']?([^"';\s]*)""", re.IGNORECASE)


class FramingError(Exception):
    """The stream cannot be read any further; the message is a sentence that says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.bodies: list[bytes] = []
        """The bodies that were complete before the break, in the call to `feed` that found it."""


class FrameDecoder:
    """Turns chunks of any size into bodies. One decoder serves one stream, from its first byte."""

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self.max_body_bytes = max_body_bytes
        """A header that announces more breaks the stream. It may be changed between calls to `feed`."""
        self._buffer = bytearray()
        self._scanned = 0
        """Bytes of the buffer that are known to hold no line feed."""
        self._header_bytes = 0
        self._length: int | None = None
        self._in_body = False
        self._broken: str | None = None

    @property
    def is_inside_frame(self) -> bool:
        """True when a stream that ended here would have lost the end of a message."""
        return self._in_body or self._header_bytes > 0 or len(self._buffer) > 0

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that `data` completes, oldest first.

        FramingError when the stream is broken, with the bodies completed before the break; every later call raises
        it again, without bodies.
        """
        if self._broken is not None:
            raise FramingError(self._broken)
        self._buffer += data
        bodies: list[bytes] = []
        try:
            while (body := self._next_body()) is not None:
                bodies.append(body)
        except FramingError as error:
            self._broken = str(error)
            error.bodies = bodies
            raise
        return bodies

    def _next_body(self) -> bytes | None:
        while not self._in_body:
            line = self._next_line()
            if line is None:
                return None
            if line:
                self._read_header(line)
            elif self._length is None:
                raise FramingError("A message has no Content-Length header.")
            else:
                self._in_body = True
        length = self._length or 0
        if len(self._buffer) < length:
            return None
        with memoryview(self._buffer) as view:
            body = bytes(view[:length])
        del self._buffer[:length]
        self._in_body, self._length, self._header_bytes, self._scanned = False, None, 0, 0
        return body

    def _next_line(self) -> bytes | None:
        """The next complete header line without its end; None when more bytes are needed."""
        end = self._buffer.find(b"\n", self._scanned)
        size = len(self._buffer) if end < 0 else end + 1
        if self._header_bytes + size > MAX_HEADER_BYTES:
            raise FramingError(f"The headers of a message are longer than {MAX_HEADER_BYTES} bytes.")
        if end < 0:
            self._scanned = size
            return None
        if end == 0 or self._buffer[end - 1] != ord("\r"):
            raise FramingError("A header line does not end in CR LF.")
        line = bytes(self._buffer[: end - 1])
        del self._buffer[:size]
        self._header_bytes += size
        self._scanned = 0
        return line

    def _read_header(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name) or not value.isascii():
            raise FramingError("A line where a message should begin is not a header.")
        if b"\r" in line:
            raise FramingError("A header line does not end in CR LF.")
        key = name.lower()
        if key == b"content-length":
            self._set_length(value.strip())
        elif key == b"content-type":
            charset = _CHARSET.search(value)
            if charset is not None and charset[1].lower() not in (b"utf-8", b"utf8"):
                raise FramingError("A message is in a charset that is not UTF-8.")

    def _set_length(self, value: bytes) -> None:
        if value.startswith(b"-") and _DIGITS.fullmatch(value, 1):
            raise FramingError("The Content-Length of a message is negative.")
        if not _DIGITS.fullmatch(value):
            raise FramingError("The Content-Length of a message is not a number.")
        digits = value.lstrip(b"0")
        # The count of digits first: int() of a very long number is slow, and refused by Python.
        length = int(digits or b"0") if len(digits) <= len(str(MAX_BODY_BYTES)) else MAX_BODY_BYTES + 1
        if length > self.max_body_bytes:
            raise FramingError(f"A message is longer than {self.max_body_bytes >> 20} MiB.")
        if self._length not in (None, length):
            raise FramingError("A message has two Content-Length headers that differ.")
        self._length = length


def encode_frame(body: bytes) -> bytes:
    """The body as one frame."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
