"""`palimpsest chat`: the terminal client."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from palimpsest.terminal import chat


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(), help="the workspace folder (default: the current folder)"
    )
    parser.add_argument(
        "--new", action="store_true", help="start a new conversation instead of continuing the newest one"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # -P: modules in the folder must not replace ours.
    command = [sys.executable, "-P", "-m", "palimpsest", "serve", "--stdio"]
    return chat.run(arguments.folder, command, begins_new=arguments.new)
