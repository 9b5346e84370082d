"""`palimpsest chat` without the command line: FOLDER, `new` or `newest`, and the server's command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from palimpsest.terminal.chat import Wish, run


def main() -> int:
    if os.isatty(0):
        # Only with a controlling terminal is a Ctrl-C typed there a signal here.
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    folder, which, *server = sys.argv[1:]
    return run(Wish(Path(folder), begins_new=which == "new"), server, lambda folder: False)


if __name__ == "__main__":
    sys.exit(main())
