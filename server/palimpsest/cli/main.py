"""The program `palimpsest`. Each command imports only its own module: `serve` has to answer at once."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.__about__ import __version__
from palimpsest.cli.parser import WRONG_ARGUMENTS, Parser, examples
from palimpsest.domain.errors import PalimpsestError, system_sentence
from palimpsest.printing import complain

_BROKEN_PIPE: Final = 141
"""The exit code that a shell reports for a program that SIGPIPE ended."""


_ABOUT: Final = (
    "Talk with language models about the files of a folder, in the terminal or in your editor. Every conversation is "
    "kept on this machine, in one database for each folder."
)
_BEGIN: Final = examples(
    "palimpsest chat                  # talk about the folder that you are in; needs no key",
    "palimpsest login anthropic       # save your key, so that a model answers",
    "palimpsest COMMAND --help        # what a command does and takes",
)


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
    "login": Command("login:configure_login", "Save your key of a model service, such as anthropic or openai."),
    "logout": Command("login:configure_logout", "Remove a saved key."),
    "models": Command("models:configure", "List the models that you can use, and what the others still need."),
    "trust": Command(
        "trust:configure", "Allow the settings, instructions and tools that come with a folder to take effect."
    ),
    "facts": Command("facts:configure", "List, search, add and remove what Palimpsest has noted about a folder."),
    "export": Command("transfer:configure_export", "Write a conversation to a file, or print it."),
    "import": Command("transfer:configure_import", "Add a conversation from a file to a folder."),
    "doctor": Command("doctor:configure_doctor", "Check that the conversations of a folder are undamaged and private."),
    "backup": Command("doctor:configure_backup", "Copy the database of a folder's conversations."),
    "rescue": Command("doctor:configure_rescue", "Save the messages that a damaged database still holds."),
    "adopt": Command("doctor:configure_adopt", "Bring over the conversations of a folder that you moved or renamed."),
    "serve": Command("serve:configure", "Run the language server. Your editor starts it for you."),
    "acp": Command("acp:configure", "Run the agent for an editor that speaks the Agent Client Protocol, such as Zed."),
    "mcp": Command("mcp:configure", "Let another AI program read the conversations of a folder, over MCP."),
    "mcp-servers": Command(
        "mcp_servers:configure", "List the MCP servers, whose tools models may use in a folder, or try one."
    ),
    "hub": Command("hub:configure", "Set up and manage a hub, the database through which a team shares conversations."),
    "replay": Command("replay:configure", "Show what a model was sent, and check that it can be made again exactly."),
    "fake-provider": Command("fake_provider:configure", "Run a model service with made-up answers, to try things out."),
    "completion": Command("completion:configure", "Print a script that completes commands in your shell."),
}
"""In the order of the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the process's exit code. An expected failure is one sentence on stderr."""
    words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    called = next((word for word in words if not word.startswith("-")), None)
    if called is not None and called not in COMMANDS:
        return _unknown(called)
    try:
        arguments, unknown = build_parser([called]).parse_known_args(words)
        if unknown:
            arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
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


def build_parser(names: Collection[str | None]) -> Parser:
    """A parser that knows the names of all commands, and the arguments of these. It imports only their modules."""
    parser = Parser(prog="palimpsest", description=_ABOUT, epilog=_BEGIN)
    parser.add_argument("--version", action="version", version=f"palimpsest {__version__}", help="print the version")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.help, description=command.help)
        subparser.set_defaults(parser=subparser)
        if name in names:
            module, _, function = command.configure.partition(":")
            getattr(importlib.import_module(f"palimpsest.cli.{module}"), function)(subparser)
    return parser


def _unknown(written: str) -> int:
    from palimpsest.wording import nearest

    near = " or ".join(f"`palimpsest {name}`" for name in nearest(written, COMMANDS))
    hint = f"Did you mean {near}?" if near else "`palimpsest --help` lists the commands."
    complain(f"There is no command {written!r}. {hint}")
    return WRONG_ARGUMENTS


def _fail(sentence: str) -> int:
    complain(sentence)
    return 1
