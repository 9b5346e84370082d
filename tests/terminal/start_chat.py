"""`palimpsest chat` without the command line: FOLDER, what is wished, and the server's command.

What is wished: `newest`, `new`, or for one question `print:QUESTION`, `json:QUESTION` or `resume=WHICH:QUESTION`.
`asking=WHICH:QUESTION` asks and goes on.
Behind `accepting+`, edits are made without a question.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from palimpsest.machine.imports import fast_imports

with fast_imports("terminal"):
    from palimpsest.terminal.chat import Wish, run


def _is_trusted(folder: Path) -> bool:
    return "TRUSTED" in os.environ


def main() -> int:
    if os.isatty(0):
        # Only with a controlling terminal is a Ctrl-C typed there a signal here.
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    folder, wished, *server = sys.argv[1:]
    which, is_one_shot, question = wished.removeprefix("accepting+").partition(":")
    wish = Wish(
        Path(folder),
        begins_new=which == "new",
        resumed=which.partition("=")[2],
        question=question,
        is_one_shot=bool(is_one_shot) and not which.startswith("asking"),
        as_json=which == "json",
        accepts_edits=wished.startswith("accepting+"),
    )
    return run(wish, server, _is_trusted)


if __name__ == "__main__":
    sys.exit(main())
