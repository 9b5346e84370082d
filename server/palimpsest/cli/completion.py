"""`palimpsest completion`: the scripts by which shells complete its commands, which `make generate` writes."""

from __future__ import annotations

import argparse

from palimpsest.cli.parser import examples
from palimpsest.data import COMPLETIONS, load_completion
from palimpsest.printing import say


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print a script with which your shell completes the commands and options of palimpsest when you press Tab. "
        "Save it where the shell looks for such scripts (make the folder where there is none; bash needs the package "
        "bash-completion), and start a new shell."
    )
    parser.epilog = examples(
        "palimpsest completion bash > ~/.local/share/bash-completion/completions/palimpsest",
        "palimpsest completion zsh > ~/.zfunc/_palimpsest      # a folder in your fpath",
        "palimpsest completion fish > ~/.config/fish/completions/palimpsest.fish",
    )
    parser.add_argument("shell", choices=tuple(COMPLETIONS), help="your shell")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    say(load_completion(arguments.shell).rstrip("\n"))
    return 0
