"""The scripts by which shells complete the commands of `palimpsest`, which `palimpsest completion SHELL` prints."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import shtab

import palimpsest.data
from dev import ROOT
from dev.generate_commands import commands_of
from palimpsest.cli.main import COMMANDS, build_parser
from palimpsest.data import COMPLETIONS
from palimpsest.domain.models.providers import BY_NAME

_BASH: Final = r"""
_palimpsest_conversations() {
  local folder=. before= word known
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    known="${word/#\~/$HOME}"
    [[ $before == --folder || ( ${COMP_WORDS[1]} == chat && -d $known ) ]] && folder=$known
    before=$word
  done
  compgen -W "$(palimpsest export --folder "$folder" 2>/dev/null | sed -nE 's/^ *[0-9]+  ([0-9a-z]+)  .*/\1/p')" -- "$1"
}
"""
_ZSH: Final = r"""
_palimpsest_conversations() {
  local folder=. before= word known
  local -a found
  for word in "${(@)words[1,CURRENT-1]}"; do
    known="${word/#\~/$HOME}"
    [[ $before == --folder || -d $known ]] && folder=$known
    before=$word
  done
  found=(${(f)"$(palimpsest export --folder "$folder" 2>/dev/null | sed -nE 's/^ *[0-9]+  ([0-9a-z]+)  /\1:/p')"})
  _describe -V conversation found
}
"""
_FISH: Final = r"""
function __palimpsest_conversations
    set -l folder .
    set -l before
    for word in (commandline -opc)[2..]
        set -l known (string replace -r '^~' $HOME -- $word)
        if test "$before" = --folder; or test -d "$known"
            set folder $known
        end
        set before $word
    end
    palimpsest export --folder "$folder" 2>/dev/null | string replace -rf '^ *\d+  ([0-9a-z]+)  ' '$1\t'
end
"""
_CONVERSATIONS: Final = {
    "bash": "_palimpsest_conversations",
    "zsh": "_palimpsest_conversations",
    "fish": "(__palimpsest_conversations)",
    "preamble": {"bash": _BASH.strip(), "zsh": _ZSH.strip(), "fish": _FISH.strip()},
}
"""How a shell asks for the ids of the folder's conversations, with their titles where it shows such."""
_FOLDER: Final = Path(palimpsest.data.__file__).parent / "completion"


def outputs() -> dict[str, str]:
    """The text of every file that is generated here, by its path below the repository's root."""
    folder = _FOLDER.relative_to(ROOT).as_posix()
    return {f"{folder}/{name}": script(shell) for shell, name in COMPLETIONS.items()}


def script(shell: str) -> str:
    """The script for one shell."""
    parser = build_parser(COMMANDS)
    for name, command in commands_of(parser).items():
        command.description = COMMANDS[name].help  # a menu has room for a sentence, and not for a paragraph
    for action in _arguments(parser):
        if action.type is Path or action.dest == "folder":
            is_folder = action.dest in ("folder", "store") or action.metavar == "FOLDER"
            action.complete = shtab.DIRECTORY if is_folder else shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "SERVICE":
            action.choices = [name for name, entry in BY_NAME.items() if entry.key_variables]
        elif action.metavar == "CONVERSATION":
            action.complete = _CONVERSATIONS  # type: ignore[attr-defined]
    lines = shtab.complete(parser, shell).rstrip().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _arguments(command)
        else:
            yield action
