"""docs/commands.md, the slash commands, and docs/cli.md, the commands of the program `palimpsest`.

They come from the table in `palimpsest.services.chat.commands.table`, the terminal's own commands, and the parsers in
`palimpsest.cli`.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from dev import GENERATED
from palimpsest.cli.main import COMMANDS as PROGRAMS
from palimpsest.cli.main import build_parser
from palimpsest.services.chat.commands.table import COMMANDS as SLASH
from palimpsest.terminal.commands import OWN

_SLASH: Final = f"""\
# Commands in a chat

<!-- {GENERATED} -->

A message that is a slash and a word is a command, in the terminal and in every editor: `/summarize 0-12`. An argument
in brackets is optional. To send a message that begins with a slash, type a blank before the slash. Messages, summaries
and facts have numbers, which `/context`, `/facts` and, in the terminal, `/read` show. The commands of
the program `palimpsest` are on [a page of their own](cli.md).
"""
_PURGE: Final = """\
A purge deletes messages from every file of the store, with everything that was derived from them. It cannot reach what
was sent to a model's service, the input history of the terminal, or pins: a pin that you withdraw is no longer sent,
but its text stays in the store.
"""
_TERMINAL: Final = "The terminal has these commands of its own:\n"
_PROGRAM: Final = f"""\
# The program `palimpsest`

<!-- {GENERATED} -->

`palimpsest COMMAND --help` prints the same as this page, and `man palimpsest` does where the manual page is installed.
An argument in brackets is optional. A command that fails prints a sentence to stderr, and its exit code is not 0. The
commands of a chat, such as `/model`, are on [a page of their own](commands.md).
"""


def outputs() -> dict[str, str]:
    """The text of every file that is generated here, by its path below the repository's root."""
    return {"docs/commands.md": slash_page(), "docs/cli.md": program_page()}


def slash_page() -> str:
    """The page of the slash commands, as Markdown."""
    slash = _table(("Command", "What it does"), [(f"`{each.usage}`", each.help) for each in SLASH])
    new = [each for each in OWN if each.name not in {command.name for command in SLASH}]
    own = _table(("Command", "What it does"), [(f"`{each.usage}`", each.help) for each in new])
    return "\n".join([_SLASH, slash, _PURGE, _TERMINAL, own])


def program_page() -> str:
    """The page of the program, as Markdown."""
    listed = [(f"[`{name}`](#palimpsest-{name})", command.help) for name, command in PROGRAMS.items()]
    return "\n".join([_PROGRAM, _table(("Command", "What it does"), listed), *map(_program, PROGRAMS)])


def _program(name: str) -> str:
    """The section about one command of the program."""
    command = commands_of(build_parser([name]))[name]
    parts = [f"## `palimpsest {name}`", command.description or ""]
    if arguments := list(_arguments(command)):
        parts.append(_table(("Argument", "Meaning"), arguments).rstrip())
    if command.epilog:
        parts.append(textwrap.indent(command.epilog.partition("\n\n")[2], "  "))
    return "\n\n".join(parts) + "\n"


def _arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The arguments of a command, its actions, and their options, each with its meaning."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                yield from _action(choice.dest, action.choices[choice.dest], choice.help or "")
        elif is_told(action):
            yield f"`{names_of(action)}`", action.help or ""


def _action(name: str, parser: argparse.ArgumentParser, meaning: str) -> Iterator[tuple[str, str]]:
    """An action and its options, or the actions that it consists of."""
    inner = list(_arguments(parser))
    if any(isinstance(each, argparse._SubParsersAction) for each in parser._actions):
        yield from ((f"`{name} {argument[1:]}", help) for argument, help in inner)
        return
    yield f"`{' '.join([name, *(_bare(argument) for argument, _ in inner)])}`", meaning
    options = [each for each in inner if each[0].startswith("`-")]
    yield from ((f"`{name}` {argument}", help) for argument, help in options)


def is_told(action: argparse.Action) -> bool:
    """Whether an argument is worth a line: it belongs to the command alone, and is not hidden."""
    common = isinstance(action, argparse._HelpAction | argparse._VersionAction)
    return not common and action.help != argparse.SUPPRESS


def usage_of(action: argparse.Action) -> str:
    """An argument as it is typed, such as `--port N` or `[FOLDER]`."""
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices is not None else action.dest.upper()
    )
    if not action.option_strings:
        assert isinstance(value, str)
        return {"?": f"[{value}]", "+": f"{value} …"}.get(str(action.nargs), value)
    return action.option_strings[-1] if action.nargs == 0 else f"{action.option_strings[-1]} {value}"


def names_of(action: argparse.Action) -> str:
    """As `usage_of`, behind the option's shorter names: `-p, --print`."""
    return ", ".join((*action.option_strings[:-1], usage_of(action)))


def _bare(argument: str) -> str:
    """How an argument stands in the usage of an action: options in brackets."""
    text = argument.strip("`")
    return f"[{text}]" if text.startswith("-") else text


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
