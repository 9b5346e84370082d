"""The command `palimpsest`. Each subcommand loads what it needs and no more: `serve` has to answer at once."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from palimpsest.__about__ import __version__
from palimpsest.domain.errors import PalimpsestError, system_sentence
from palimpsest.printing import complain, say

if TYPE_CHECKING:
    from palimpsest.services.folder.folders import Folders

_BROKEN_PIPE: Final = 141
"""What a shell calls a program that SIGPIPE ended."""
_QUOTING: Final = ("httpcore", "httpx", "peewee")
"""Libraries that log what they send, are sent and store: addresses, headers, the texts of messages (invariant 11)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one subcommand; the process's exit code. What can be expected to go wrong is one sentence on stderr."""
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
    except PalimpsestError as error:
        return _fail(str(error))
    except BrokenPipeError:  # whoever read stdout has enough; at exit the interpreter would complain about the rest
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        return _fail(system_sentence(error))
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="palimpsest", description="A language server that owns the conversation with a language model."
    )
    parser.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="serve an editor over the Language Server Protocol")
    transport = serve.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="speak on stdin and stdout (the default)")
    transport.add_argument("--tcp", action="store_true", help="listen on the loopback; editors show a token")
    serve.add_argument("--port", type=int, default=0, help="with --tcp: the port (default: a free one)")
    serve.add_argument("--token-file", type=Path, help="with --tcp: the 0600 file that holds the token")
    serve.add_argument("--clientProcessId", type=int, help="accepted for editors that pass it; initialize says more")
    serve.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="warning", help="of stderr"
    )
    serve.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    serve.set_defaults(run=_serve)

    acp = commands.add_parser("acp", help="serve an editor over the Agent Client Protocol (needs the extra acp)")
    acp.set_defaults(run=_acp)

    mcp = commands.add_parser("mcp", help="let other agents read a folder's conversations (needs the extra mcp)")
    mcp.add_argument("--folder", type=Path, default=Path(), help="the folder (default: this one)")
    mcp.set_defaults(run=_mcp)

    chat = commands.add_parser("chat", help="talk about a folder in the terminal")
    chat.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder (default: this one)")
    chat.add_argument("--new", action="store_true", help="begin a new conversation")
    chat.set_defaults(run=_chat)

    replay = commands.add_parser("replay", help="feed recorded sessions through the context engine and check it")
    replay.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="an exported conversation or a recorded session: JSON lines, plain or .xz",
    )
    replay.add_argument("--model", default="offline", help="whose limits and tokenizer to use (default: offline)")
    replay.add_argument("--window", type=int, help="the context window in tokens, instead of the model's")
    replay.add_argument("--reserve", type=int, help="tokens reserved for an answer, instead of the model's")
    replay.add_argument("--json", action="store_true", help="one JSON object a session instead of a table")
    replay.set_defaults(run=_replay)

    export = commands.add_parser("export", help="write a conversation to a file, or to stdout")
    export.add_argument(
        "conversation",
        nargs="?",
        metavar="CONVERSATION",
        help="its number in the list, its id or title, or how these begin (without one: the list)",
    )
    export.add_argument("--folder", type=Path, default=Path(), help="its folder (default: this one)")
    export.add_argument("--output", type=Path, metavar="FILE", help="where to; only you can read it (default: stdout)")
    export.add_argument("--overwrite", action="store_true", help="replace the file when it exists")
    export.set_defaults(run=_export)

    import_ = commands.add_parser("import", help="read an exported conversation or a recorded session into a folder")
    import_.add_argument("file", type=Path, metavar="FILE", help="JSON lines, plain or .xz")
    import_.add_argument("--folder", type=Path, default=Path(), help="the folder (default: this one)")
    import_.set_defaults(run=_import)

    doctor = commands.add_parser("doctor", help="look whether a folder's conversations are sound and private")
    doctor.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder (default: this one)")
    doctor.add_argument("--repair", action="store_true", help="mend what can be mended without losing anything")
    doctor.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    doctor.set_defaults(run=_doctor)

    backup = commands.add_parser("backup", help="copy a folder's conversations while they are in use")
    backup.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder (default: this one)")
    backup.add_argument("--output", type=Path, metavar="FILE", help="the copy (default: beside the store)")
    backup.set_defaults(run=_backup)

    models = commands.add_parser("models", help="list the models, and what to do about those that cannot be used")
    models.add_argument("--json", action="store_true", help="a JSON array instead of a table")
    models.set_defaults(run=_models)

    login = commands.add_parser("login", help="store the key of a model's service (from a pipe: its first line)")
    # No `choices`: argparse would quote what it refuses, and that may be a key.
    login.add_argument("provider", metavar="PROVIDER", help="anthropic, openai or gemini")
    login.set_defaults(run=_login)

    logout = commands.add_parser("logout", help="remove a stored key")
    logout.add_argument("provider", metavar="PROVIDER", help="anthropic, openai or gemini")
    logout.set_defaults(run=_logout)

    rescue = commands.add_parser("rescue", help="save what a damaged store still holds")
    rescue.add_argument("file", type=Path, metavar="FILE", help="the damaged database; it is not changed")
    rescue.add_argument("--output", type=Path, metavar="FOLDER", required=True, help="the folder to make and write to")
    rescue.set_defaults(run=_rescue)

    adopt = commands.add_parser("adopt", help="bring the conversations of a folder that was moved")
    adopt.add_argument("store", type=Path, metavar="OLD_STORE", help="the store of the folder before; it stays")
    adopt.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder now (default: this one)")
    adopt.set_defaults(run=_adopt)

    trust = commands.add_parser("trust", help="say which folders' own settings, instructions and tools count")
    trust.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder (default: this one)")
    instead = trust.add_mutually_exclusive_group()
    instead.add_argument("--revoke", action="store_true", help="do not trust it any more")
    instead.add_argument("--list", action="store_true", help="show the folders that are trusted")
    trust.set_defaults(run=_trust)

    _add_facts(commands.add_parser("facts", help="what the librarian keeps of a folder"))

    fake = commands.add_parser("fake-provider", help="a made-up model service, to try an editor plugin with")
    fake.add_argument("--port", type=int, default=0, help="where to listen (default: a free port)")
    wires = ("anthropic", "openai", "chat", "gemini", "ollama", "all")
    fake.add_argument("--format", choices=wires, default="all", help="the wire format (default: all of them)")
    fake.add_argument("--script", type=Path, metavar="FILE", help="answers and failures, one JSON object a line")
    fake.set_defaults(run=_fake_provider)
    return parser


def _add_facts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=Path(), help="the folder (default: this one)")
    actions = parser.add_subparsers(title="actions", dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the facts that hold, the newest first")
    listing.add_argument("--stale", action="store_true", help="only those whose files have changed")
    listing.add_argument("--path", metavar="FILE", help="only those that rest on this file, as seen from the folder")
    searching = actions.add_parser("search", help="the facts that match, the best first")
    searching.add_argument("words", nargs="+", metavar="WORD")
    pinning = actions.add_parser("pin", help="keep a statement of yours")
    pinning.add_argument("words", nargs="+", metavar="WORD", help="the statement")
    pinning.add_argument("--at", metavar="PATH[:FIRST-LAST]", help="what it rests on")
    for name, what in (
        ("verify", "they hold as the files are now"),
        ("forget", "forget them; they can be restored for 30 days"),
        ("restore", "take a forgetting back"),
    ):
        action = actions.add_parser(name, help=what)
        action.add_argument("ids", nargs="+", type=int, metavar="NUMBER")
    actions.add_parser("export", help="all facts, also those that hold no longer, one JSON object a line")
    clearing = actions.add_parser("clear", help="remove all facts for ever")
    clearing.add_argument("--yes", action="store_true", help="really")
    parser.set_defaults(run=_facts)


def _facts(arguments: argparse.Namespace) -> int:
    from palimpsest.keeping_facts import run

    return run(arguments, os.environ)


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(
        stream=sys.stderr, level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for name in _QUOTING:
        logging.getLogger(name).setLevel(logging.WARNING)


def _serve(arguments: argparse.Namespace) -> int:
    _log_to_stderr(arguments.log_level)
    from palimpsest.lsp.server import build_server

    if not arguments.tcp:
        from palimpsest.lsp.runtime.stdio import run_stdio

        return run_stdio(build_server(_load_folders, owns_folders=True))
    from palimpsest.lsp.runtime.tcp import TokenFileError, run_tcp

    folders = _load_folders()
    token_file = arguments.token_file or _default_token_file()
    try:
        return run_tcp(
            lambda: build_server(lambda: folders, owns_folders=False),
            token_file=token_file,
            port=arguments.port,
            on_stop=folders.close,
        )
    except TokenFileError as error:
        return _fail(str(error))


def _acp(arguments: argparse.Namespace) -> int:
    if not _has_extra("acp"):
        return 2
    _log_to_stderr("warning")
    from palimpsest.acp_agent.command import run
    from palimpsest.lsp.runtime.stdio import protect_stdio

    return run(_load_folders, protect_stdio)


def _mcp(arguments: argparse.Namespace) -> int:
    if not _has_extra("mcp"):
        return 2
    _log_to_stderr("warning")
    from palimpsest.mcp_server.command import run

    return run(_load_folders_to_read, arguments.folder)


def _load_folders_to_read() -> Folders:
    """Without what asks models by itself."""
    from palimpsest.app import load_folders
    from palimpsest.sealing import seal

    seal()
    return load_folders({**os.environ, "PALIMPSEST_LIBRARIAN_ENABLED": "false"})


def _has_extra(name: str) -> bool:
    """Whether the package of an extra is installed, which has the extra's name; says so when not."""
    if importlib.util.find_spec(name) is not None:
        return True
    _fail(f"`palimpsest {name}` needs the extra {name!r}. Install it: pip install 'palimpsest-ls[{name}]'")
    return False


def _load_folders() -> Folders:
    from palimpsest.app import load_folders
    from palimpsest.sealing import seal

    seal()
    folders = load_folders()
    gc.freeze()  # what was loaded stays: the collector need not look at it again, which holds everybody up for 40 ms
    return folders


def _default_token_file() -> Path:
    import platformdirs

    folder = Path(platformdirs.user_state_dir("palimpsest", appauthor=False))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / "token"


def _chat(arguments: argparse.Namespace) -> int:
    from palimpsest.terminal.chat import run

    # -P: modules that lie in the folder must not be imported in place of ours.
    command = [sys.executable, "-P", "-m", "palimpsest", "serve", "--stdio"]
    return run(arguments.folder, command, begins_new=arguments.new)


def _replay(arguments: argparse.Namespace) -> int:
    from palimpsest.replaying import print_reports, replay_files

    reports = replay_files(arguments.files, arguments.model, arguments.window, arguments.reserve, os.environ)
    return print_reports(reports, as_json=arguments.json)


def _trust(arguments: argparse.Namespace) -> int:
    from palimpsest.trust import trusted_folders

    trusted, root = trusted_folders(), arguments.folder.resolve()
    if arguments.list:
        lines = [str(each) for each in trusted.roots()]
    elif arguments.revoke:
        was_trusted = trusted.remove(root)
        lines = [f"{root} is not trusted any more." if was_trusted else f"{root} was not trusted."]
    elif not root.is_dir():
        return _fail(f"{root} is not a folder.")
    else:
        trusted.add(root)
        lines = [f"{root} is trusted. That counts when it is opened next."]
    say(*lines)
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from palimpsest.transferring import export_conversation

    return export_conversation(
        arguments.conversation, arguments.folder, arguments.output, os.environ, overwrites=arguments.overwrite
    )


def _import(arguments: argparse.Namespace) -> int:
    from palimpsest.transferring import import_conversation

    return import_conversation(arguments.file, arguments.folder, os.environ)


def _doctor(arguments: argparse.Namespace) -> int:
    from palimpsest.doctoring import doctor

    return doctor(arguments.folder, os.environ, repairs=arguments.repair, as_json=arguments.json)


def _backup(arguments: argparse.Namespace) -> int:
    from palimpsest.doctoring import back_up

    return back_up(arguments.folder, arguments.output, os.environ)


def _models(arguments: argparse.Namespace) -> int:
    from palimpsest.listing_models import list_models

    return list_models(os.environ, as_json=arguments.json)


def _login(arguments: argparse.Namespace) -> int:
    from palimpsest.logging_in import log_in

    return log_in(arguments.provider, os.environ)


def _logout(arguments: argparse.Namespace) -> int:
    from palimpsest.logging_in import log_out

    return log_out(arguments.provider, os.environ)


def _rescue(arguments: argparse.Namespace) -> int:
    from palimpsest.doctoring import rescue

    return rescue(arguments.file, arguments.output)


def _fake_provider(arguments: argparse.Namespace) -> int:
    from palimpsest_clients.fake.command import run

    return run(arguments.port, arguments.format, arguments.script)


def _adopt(arguments: argparse.Namespace) -> int:
    from palimpsest.doctoring import adopt_store

    return adopt_store(arguments.store, arguments.folder, os.environ)


def _fail(sentence: str) -> int:
    complain(sentence)
    return 1
