"""The command `palimpsest`. Each of its commands loads what it needs and no more: `serve` has to answer at once."""

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
"""What a shell calls a program that SIGPIPE ended."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of `palimpsest`."""

    configure: str
    """`module:function`, below `palimpsest.cli`. The function takes the command's parser, declares its arguments, and
    sets the default `run`: from the parsed arguments to the process's exit code."""
    help: str


COMMANDS: Final = {
    "serve": Command("serve:configure", "serve an editor over the Language Server Protocol"),
    "acp": Command("acp:configure", "serve an editor over the Agent Client Protocol (needs the extra acp)"),
    "mcp": Command("mcp:configure", "let other agents read a folder's conversations (needs the extra mcp)"),
    "chat": Command("chat:configure", "talk about a folder in the terminal"),
    "replay": Command("replay:configure", "feed recorded sessions through the context engine and check it"),
    "export": Command("transfer:configure_export", "write a conversation to a file, or to stdout"),
    "import": Command("transfer:configure_import", "read an exported conversation or a recorded session into a folder"),
    "doctor": Command("doctor:configure_doctor", "look whether a folder's conversations are sound and private"),
    "backup": Command("doctor:configure_backup", "copy a folder's conversations while they are in use"),
    "models": Command("models:configure", "list the models, and what to do about those that cannot be used"),
    "login": Command("login:configure_login", "store the key of a model's service (from a pipe: its first line)"),
    "logout": Command("login:configure_logout", "remove a stored key"),
    "rescue": Command("doctor:configure_rescue", "save what a damaged store still holds"),
    "adopt": Command("doctor:configure_adopt", "bring the conversations of a folder that was moved"),
    "trust": Command("trust:configure", "say which folders' own settings, instructions and tools count"),
    "facts": Command("facts:configure", "what the librarian keeps of a folder"),
    "fake-provider": Command("fake_provider:configure", "a made-up model service, to try an editor plugin with"),
}
"""In the order of the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the process's exit code. What can be expected to go wrong is one sentence on stderr."""
    words = sys.argv[1:] if argv is None else argv
    try:
        arguments = _parser(words).parse_args(words)
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


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Knows the arguments of the command that is called, and of the others their names."""
    parser = argparse.ArgumentParser(
        prog="palimpsest", description="A language server that owns the conversation with a language model."
    )
    parser.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    called = next((word for word in words if not word.startswith("-")), None)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.help)
        if name == called:
            module, _, function = command.configure.partition(":")
            getattr(importlib.import_module(f"palimpsest.cli.{module}"), function)(subparser)
    return parser


def _fail(sentence: str) -> int:
    complain(sentence)
    return 1
