"""The scripts by which shells complete the commands of `palimpsest`, which `palimpsest completion SHELL` prints."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import shtab

import palimpsest.data
from dev import ROOT
from palimpsest.cli.main import COMMANDS, build_parser
from palimpsest.data import COMPLETIONS

_FOLDER: Final = Path(palimpsest.data.__file__).parent / "completion"


def outputs() -> dict[str, str]:
    """The text of every file that is generated here, by its path below the repository's root."""
    folder = _FOLDER.relative_to(ROOT).as_posix()
    return {f"{folder}/{name}": script(shell) for shell, name in COMPLETIONS.items()}


def script(shell: str) -> str:
    """The script for one shell."""
    parser = build_parser(COMMANDS)
    for action in _arguments(parser):
        if action.type is Path or action.dest == "folder":
            is_folder = action.dest in ("folder", "store") or action.metavar == "FOLDER"
            action.complete = shtab.DIRECTORY if is_folder else shtab.FILE  # type: ignore[attr-defined]
    lines = shtab.complete(parser, shell).rstrip().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _arguments(command)
        else:
            yield action
