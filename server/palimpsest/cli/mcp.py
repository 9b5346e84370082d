"""`palimpsest mcp`: a server of the Model Context Protocol on stdin and stdout."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from palimpsest.cli.extras import has_extra
from palimpsest.cli.parser import takes_folder
from palimpsest.cli.serve import log_to_stderr

if TYPE_CHECKING:
    from palimpsest.services.folder.folders import Folders


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Let another AI program read the conversations and facts of a folder, over the Model Context Protocol (MCP). "
        "That program starts this command and talks to it; it can read, and change nothing. It needs the extra "
        "`mcp`; where that is missing, the command that adds it is printed."
    )
    takes_folder(parser, name="--folder")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if not has_extra("mcp"):
        return 2
    log_to_stderr("warning")
    from palimpsest.mcp_server.command import run as run_server

    return run_server(_load_folders_to_read, arguments.folder)


def _load_folders_to_read() -> Folders:
    """The services with the librarian off: it would ask models."""
    from palimpsest.app.compose import load_folders
    from palimpsest.app.sealing import seal

    seal()
    return load_folders({**os.environ, "PALIMPSEST_LIBRARIAN_ENABLED": "false"})
