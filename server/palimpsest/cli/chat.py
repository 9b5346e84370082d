"""`palimpsest chat`: talks about a folder in the terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from palimpsest.terminal import chat


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder (default: this one)")
    parser.add_argument("--new", action="store_true", help="begin a new conversation")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # -P: modules that lie in the folder must not be imported in place of ours.
    command = [sys.executable, "-P", "-m", "palimpsest", "serve", "--stdio"]
    return chat.run(arguments.folder, command, begins_new=arguments.new)
