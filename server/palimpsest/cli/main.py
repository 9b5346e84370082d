"""The program `palimpsest`. Each command imports only its own module: `serve` has to answer at once."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.__about__ import __version__
from palimpsest.domain.errors import PalimpsestError, system_sentence
from palimpsest.printing import complain

_BROKEN_PIPE: Final = 141
"""The exit code that a shell reports for a program that SIGPIPE ended."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of `palimpsest`."""

    configure: str
    """`module:function`, below `palimpsest.cli`. The function takes the command's parser, declares its arguments, and
    sets the default `run`: from the parsed arguments to the process's exit code."""
    help: str
    """A sentence."""


COMMANDS: Final = {
    "chat": Command("chat:configure", "Talk about a folder in the terminal."),
    "serve": Command("serve:configure", "Serve an editor over the Language Server Protocol."),
    "acp": Command("acp:configure", "Serve an editor over the Agent Client Protocol. Needs the extra `acp`."),
    "mcp": Command("mcp:configure", "Let other agents read a folder's conversations. Needs the extra `mcp`."),
    "mcp-servers": Command(
        "mcp_servers:configure", "List the MCP servers whose tools models may call, or try one. Needs the extra `mcp`."
    ),
    "login": Command(
        "login:configure_login", "Store the key of a model service. From a pipe, the first line is the key."
    ),
    "logout": Command("login:configure_logout", "Remove the stored key of a model service."),
    "models": Command("models:configure", "List the models, and what is missing to use those that are unavailable."),
    "trust": Command("trust:configure", "Trust a folder: its settings, instructions and tools then count."),
    "facts": Command("facts:configure", "List, search, pin and remove the facts about a folder."),
    "export": Command("transfer:configure_export", "Write a conversation to a file, or to stdout."),
    "import": Command(
        "transfer:configure_import", "Read an exported conversation or a recorded session into a folder."
    ),
    "doctor": Command("doctor:configure_doctor", "Check that a folder's store is intact and private."),
    "backup": Command("doctor:configure_backup", "Copy a folder's store, also while it is in use."),
    "rescue": Command("doctor:configure_rescue", "Save the messages that a damaged store still holds."),
    "adopt": Command("doctor:configure_adopt", "Bring the conversations of a moved folder to its new place."),
    "hub": Command("hub:configure", "Set up a hub, through which teams share conversations. Needs the extra `hub`."),
    "replay": Command(
        "replay:configure",
        "Run recorded sessions through the context engine, or make a conversation's requests again, and check each.",
    ),
    "fake-provider": Command("fake_provider:configure", "Start a model service that makes its answers up, for tests."),
}
"""In the order of the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the process's exit code. An expected failure is one sentence on stderr."""
    words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        arguments = parser_for(words).parse_args(words)
        code: int = arguments.run(arguments)
        if not sys.stdout.closed:
            sys.stdout.flush()  # here, where a reader who has left is no trouble
    except PalimpsestError as error:
        return _fail(str(error))
    except BrokenPipeError:  # the reader of stdout has left; at exit the interpreter would complain about the rest
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        return _fail(system_sentence(error))
    return code


def parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """A parser that knows the arguments of the command in `words`, and the names of all others."""
    parser = argparse.ArgumentParser(
        prog="palimpsest", description="Talk with language models about a folder, in the terminal or in an editor."
    )
    parser.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    called = next((word for word in words if not word.startswith("-")), None)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.help, description=command.help)
        if name == called:
            module, _, function = command.configure.partition(":")
            getattr(importlib.import_module(f"palimpsest.cli.{module}"), function)(subparser)
    return parser


def _fail(sentence: str) -> int:
    complain(sentence)
    return 1
