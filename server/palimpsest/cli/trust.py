"""`palimpsest trust`: the folders whose own settings, instructions and tools count."""

from __future__ import annotations

import argparse

from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.cli.parser import examples, takes_folder
from palimpsest.domain.errors import InvalidRequest
from palimpsest.printing import say


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Trust a folder: the settings, instructions for models, and tools that come with its files then take effect. "
        "They are ignored in any other folder, because whoever wrote the files could use them against you. In an "
        "editor that asks you the same, answer there."
    )
    parser.epilog = examples("palimpsest trust ~/src/shop", "palimpsest trust --list")
    takes_folder(parser)
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
