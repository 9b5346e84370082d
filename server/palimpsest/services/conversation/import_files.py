"""Reading a file that somebody imports: an exported conversation or a recorded session, compressed where `.xz` says so.

A small file may hold a gigabyte, and one line of it more than a reader of JSON should be given. So it is read piece by
piece, and refused at the first byte that is too much.
"""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Final

from palimpsest.domain.errors import InvalidRequest

MAX_FILE_BYTES: Final = 1 << 30
"""What is read of a file, decompressed."""
MAX_LINE_BYTES: Final = 128 << 20
"""A line holds one message; the longest result of a tool that is kept is shorter, whatever is in it."""
_PIECE_BYTES: Final = 1 << 20


def read_import(path: Path) -> bytes:
    """The file's content, decompressed. Raises InvalidRequest when it cannot be read or holds too much."""
    try:
        if not path.is_file():
            raise InvalidRequest(f"There is no file {path}. Name an exported conversation or a recorded session.")
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
            data, line_start = bytearray(), 0
            while piece := file.read(_PIECE_BYTES):
                line_end = piece.rfind(b"\n")
                if line_end >= 0:
                    line_start = len(data) + line_end + 1
                data += piece
                if len(data) > MAX_FILE_BYTES:
                    raise InvalidRequest(
                        f"{path} holds more than {MAX_FILE_BYTES >> 20} MiB, which is no conversation."
                    )
                if len(data) - line_start > MAX_LINE_BYTES:
                    raise InvalidRequest(
                        f"{path} has a line of more than {MAX_LINE_BYTES >> 20} MiB, which is no message. "
                        "Nothing was imported."
                    )
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise InvalidRequest(f"{path} cannot be read ({type(error).__name__}). Nothing was imported.") from error
    return bytes(data)
