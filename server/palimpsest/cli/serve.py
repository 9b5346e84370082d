"""`palimpsest serve`: a language server on stdin and stdout, or on a port of the loopback."""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from palimpsest.__about__ import __version__
from palimpsest.printing import complain

if TYPE_CHECKING:
    from palimpsest.services.folder.folders import Folders

_QUOTING: Final = ("httpcore", "httpx", "peewee")
"""Libraries that log what they send, are sent and store: addresses, headers, the texts of messages."""


def configure(parser: argparse.ArgumentParser) -> None:
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="speak on stdin and stdout (the default)")
    transport.add_argument("--tcp", action="store_true", help="listen on the loopback; editors show a token")
    parser.add_argument("--port", type=int, default=0, help="with --tcp: the port (default: a free one)")
    parser.add_argument("--token-file", type=Path, help="with --tcp: the 0600 file that holds the token")
    parser.add_argument("--clientProcessId", type=int, help="accepted for editors that pass it; initialize says more")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="warning", help="of stderr"
    )
    parser.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    log_to_stderr(arguments.log_level)
    from palimpsest.lsp.server import build_server

    if not arguments.tcp:
        from palimpsest.lsp.runtime.stdio import run_stdio

        return run_stdio(build_server(load_sealed_folders, owns_folders=True))
    from palimpsest.lsp.runtime.tcp import TokenFileError, run_tcp

    folders = load_sealed_folders()
    token_file = arguments.token_file or _default_token_file()
    try:
        return run_tcp(
            lambda: build_server(lambda: folders, owns_folders=False),
            token_file=token_file,
            port=arguments.port,
            on_stop=folders.close,
        )
    except TokenFileError as error:
        complain(str(error))
        return 1


def log_to_stderr(level: str) -> None:
    logging.basicConfig(
        stream=sys.stderr, level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for name in _QUOTING:
        logging.getLogger(name).setLevel(logging.WARNING)


def load_sealed_folders() -> Folders:
    """The services of a server process, whose environment other programs cannot read from now on."""
    from palimpsest.app.compose import load_folders
    from palimpsest.app.sealing import seal

    seal()
    folders = load_folders()
    gc.freeze()  # what was loaded stays: the collector need not look at it again, which holds everybody up for 40 ms
    return folders


def _default_token_file() -> Path:
    import platformdirs

    folder = Path(platformdirs.user_state_dir("palimpsest", appauthor=False))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / "token"
