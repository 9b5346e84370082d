"""Records what a terminal shows: `tmux pipe-pane "python -m dev.asciicast FILE.cast COLUMNS ROWS"`.

Copies standard input to an asciicast of version 2 (docs.asciinema.org, read 2026-11): a line of JSON about the
recording, then one line for each piece with the seconds since its beginning.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
import time
from pathlib import Path
from typing import Final

MOST_IDLE_S: Final = 2
"""A player waits no longer than this where nothing happens."""


def main(file: Path, columns: int, rows: int) -> None:
    decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
    about = {"version": 2, "width": columns, "height": rows, "idle_time_limit": MOST_IDLE_S}
    began = time.monotonic()
    with file.open("w", encoding="utf-8") as cast:
        cast.write(json.dumps(about) + "\n")
        while piece := os.read(sys.stdin.fileno(), 1 << 16):
            cast.write(json.dumps([round(time.monotonic() - began, 3), "o", decode(piece)]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
