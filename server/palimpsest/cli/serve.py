"""`palimpsest serve`: a language server on stdin and stdout, or on a port of the loopback."""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from palimpsest.__about__ import __version__
from palimpsest.cli.parser import examples, port
from palimpsest.printing import complain

if TYPE_CHECKING:
    from collections.abc import Callable

    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.folders import Folders

_QUOTING: Final = ("httpcore", "httpx", "peewee")
"""Libraries whose logs quote addresses, headers and texts of messages."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run the language server, which keeps the conversations of your folders for editors. Your editor starts this "
        "command and talks to it over the Language Server Protocol; alone in a terminal it waits for an editor."
    )
    parser.epilog = examples("palimpsest serve --stdio     # the command to name in an editor's configuration")
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="talk over stdin and stdout (the default)")
    transport.add_argument(
        "--tcp", action="store_true", help="listen on a port of this machine; an editor must send the token"
    )
    parser.add_argument("--port", type=port, metavar="N", default=0, help="with --tcp: the port (default: a free one)")
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="with --tcp: the file to write the token to, which only you can read",
    )
    parser.add_argument("--clientProcessId", type=int, metavar="PID", help="ignored; some editors pass it")
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="how much to log on stderr (default: warning)",
    )
    parser.add_argument("--version", action="version", version=f"palimpsest {__version__}", help="print the version")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    log_to_stderr(arguments.log_level)
    return _serve_tcp(arguments) if arguments.tcp else _serve_stdio()


def _serve_stdio() -> int:
    from palimpsest.lsp.runtime.greeting import Greeting, protect_stdio

    try:
        source, sink = protect_stdio()
    except OSError:
        complain("There is no stdin or stdout to serve an editor on.")
        return 1
    greeting = Greeting(source, sink)  # answers while the rest is loaded
    build_server = _load_builder()
    from palimpsest.lsp.runtime.stdio import run_stdio

    return run_stdio(build_server(load_sealed_folders, owns_folders=True), source, sink, greeting)


def _load_builder() -> Callable[..., PalimpsestServer]:
    """`build_server`, imported with all that it needs."""
    from palimpsest.machine.imports import fast_imports
    from palimpsest.machine.memory import share_arena

    share_arena()
    with fast_imports("server"):
        from palimpsest.lsp.server import build_server
    return build_server


def _serve_tcp(arguments: argparse.Namespace) -> int:
    build_server = _load_builder()
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
    """The services of a server process. From now on, other programs cannot read the environment of this process."""
    from palimpsest.machine.imports import fast_imports
    from palimpsest.machine.memory import return_free

    with fast_imports("services"):
        from palimpsest.app.compose import load_folders
        from palimpsest.app.sealing import seal
    seal()
    folders = load_folders()
    gc.freeze()  # the garbage collector skips what is loaded, which would take 40 ms each time
    return_free()
    return folders


def _default_token_file() -> Path:
    import platformdirs

    folder = Path(platformdirs.user_state_dir("palimpsest", appauthor=False))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / "token"
