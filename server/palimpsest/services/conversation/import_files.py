"""The reader of imported files: an exported conversation or a recorded session, compressed when its name ends in `.xz`.

A small compressed file may contain a gigabyte, and one line may be too long for a JSON parser. So the file is read
piece by piece and refused at the first byte too many.
"""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Final

from palimpsest.domain.errors import InvalidRequest

MAX_FILE_BYTES: Final = 1 << 30
"""The largest file, decompressed."""
MAX_LINE_BYTES: Final = 128 << 20
"""The longest line. A line has one message, and the longest stored result of a tool is shorter."""
_PIECE_BYTES: Final = 1 << 20


def read_import(path: Path) -> bytes:
    """The content of the file, decompressed. Raises InvalidRequest when it is unreadable or too large."""
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
                        f"{path} holds more than {MAX_FILE_BYTES >> 20} MiB, which is not a conversation."
                    )
                if len(data) - line_start > MAX_LINE_BYTES:
                    raise InvalidRequest(
                        f"{path} has a line of more than {MAX_LINE_BYTES >> 20} MiB, which is not a message. "
                        "Nothing was imported."
                    )
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise InvalidRequest(f"{path} cannot be read ({type(error).__name__}). Nothing was imported.") from error
    return bytes(data)
