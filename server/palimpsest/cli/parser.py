"""The parsers of `palimpsest` and of its commands: how their help looks, and what they say of wrong arguments."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final, NoReturn

from palimpsest.printing import complain

WRONG_ARGUMENTS: Final = 2
"""The exit code for arguments that mean nothing."""
_PLAIN: Final = {"invalid int value:": "this is not a whole number:", "expected one argument": "its value is missing"}
"""What argparse says, and what we say."""
_LAST_PORT: Final = 65_535


class Parser(argparse.ArgumentParser):
    """Says in sentences what is wrong with the arguments, and how to go on."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _Help, **options})
        self._positionals.title = "arguments"
        self._is_mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Takes options between arguments as well, which argparse does only when it is asked."""
        if self._is_mixing or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def error(self, message: str) -> NoReturn:
        for theirs, plain in _PLAIN.items():
            message = message.replace(theirs, plain)
        complain(f"{message[:1].upper()}{message[1:].rstrip('.')}. `{self.prog} --help` shows how it is used.")
        raise SystemExit(WRONG_ARGUMENTS)


class _Help(argparse.HelpFormatter):
    """Fills paragraphs, and leaves those that begin with a blank as they are: they are examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(
            each.replace("\n ", f"\n{indent} ")
            if each.startswith(" ")
            else super(_Help, self)._fill_text(each, width, indent)
            for each in paragraphs
        )


def port(written: str) -> int:
    """The type of an argument that is a port; 0 stands for a free one."""
    if not written.isdecimal() or int(written) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"a port is a number up to {_LAST_PORT:,}, and not {written!r}")
    return int(written)


def takes_folder(parser: argparse.ArgumentParser, *, name: str = "folder") -> None:
    """Declare the folder that a command is about: its argument, or with `--folder` an option."""
    how: dict[str, Any] = {} if name.startswith("-") else {"nargs": "?"}
    parser.add_argument(
        name, type=Path, metavar="FOLDER", default=Path(), help="the folder (default: the one that you are in)", **how
    )


def add_action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help: str
) -> argparse.ArgumentParser:
    """One action of a command; `help` is a part of a sentence, or a whole one."""
    return actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:].rstrip('.')}.")


def examples(*lines: str) -> str:
    """The text below a command's arguments: lines as they are typed, each with what it does behind `#`."""
    return "Examples:\n\n" + "\n".join(f"  {line}" for line in lines)
