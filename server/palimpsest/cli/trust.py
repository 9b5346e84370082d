"""`palimpsest trust`: the folders whose own settings, instructions and tools count."""

from __future__ import annotations

import argparse
from pathlib import Path

from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.domain.errors import InvalidRequest
from palimpsest.printing import say


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(), help="the workspace folder (default: the current folder)"
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--revoke", action="store_true", help="stop trusting the folder")
    instead.add_argument("--list", action="store_true", help="list the trusted folders")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    trusted, root = trusted_folders(), arguments.folder.resolve()
    if arguments.list:
        lines = [str(each) for each in trusted.roots()]
    elif arguments.revoke:
        was_trusted = trusted.remove(root)
        lines = [f"{root} is no longer trusted." if was_trusted else f"{root} was not trusted."]
    elif not root.is_dir():
        raise InvalidRequest(f"{root} is not a folder.")
    else:
        trusted.add(root)
        lines = [f"{root} is trusted from the next time it is opened."]
    say(*lines)
    return 0
