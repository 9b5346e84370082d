"""The base protocol's frames: header lines, an empty line, a body of `Content-Length` bytes. No I/O happens here.

After a broken frame the beginning of the next message is unknown. So the decoder is strict, reports an error at the
earliest byte, and stays broken. Its rules (LSP 3.17, "Base Protocol"):

- A header line ends in CR LF, has the form `Name: value`, and is ASCII. A name is a token as in HTTP, so that a line of
  JSON or a stray print is no header. Case is ignored in names, unknown headers are skipped, and blanks around a value
  do not count.
- `Content-Length` is required, in decimal digits, at most `MAX_BODY_BYTES`. It may be repeated with the same value;
  two different values are an error. Zero is a frame with an empty body.
- `Content-Type` may name a charset, which must be UTF-8 (or `utf8`, the spelling of old editors).
- The whole header block has at most `MAX_HEADER_BYTES` bytes.
"""

from __future__ import annotations

import re

MAX_BODY_BYTES = 256 << 20
MAX_HEADER_BYTES = 8 << 10

_DIGITS = re.compile(rb"[0-9]+")
_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_|~-]+")
_CHARSET = re.compile(rb""";\s*charset\s*=\s*["']?([^"';\s]*)""", re.IGNORECASE)


class FramingError(Exception):
    """The stream cannot be read any further; the message is a sentence with the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.bodies: list[bytes] = []
        """The bodies that the same call to `feed` completed before the break."""


class FrameDecoder:
    """Splits chunks of any size into bodies. One decoder serves one stream, from its first byte."""

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self.max_body_bytes = max_body_bytes
        """The largest `Content-Length` that does not break the stream. It may be changed between calls to `feed`."""
        self._buffer = bytearray()
        self._scanned = 0
        """The number of buffered bytes that are known to contain no line feed."""
        self._header_bytes = 0
        self._length: int | None = None
        self._in_body = False
        self._broken: str | None = None

    @property
    def is_inside_frame(self) -> bool:
        """Whether the stream would lose part of a message if it ended here."""
        return self._in_body or self._header_bytes > 0 or len(self._buffer) > 0

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that `data` completes, oldest first.

        Raises FramingError when the stream is broken, with the bodies completed before the break; every later call
        raises it again, without bodies.
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
        # The number of digits is checked first: int() of a very long number is slow, and Python refuses it.
        length = int(digits or b"0") if len(digits) <= len(str(MAX_BODY_BYTES)) else MAX_BODY_BYTES + 1
        if length > self.max_body_bytes:
            raise FramingError(f"A message is longer than {self.max_body_bytes >> 20} MiB.")
        if self._length not in (None, length):
            raise FramingError("A message has two Content-Length headers that differ.")
        self._length = length


def encode_frame(body: bytes) -> bytes:
    """A frame with this body."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
