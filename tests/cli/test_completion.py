"""Shells complete every command and action of `palimpsest`, and the options of each."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from dev.generate_commands import commands_of, is_told

from palimpsest.cli.main import COMMANDS, build_parser, main
from palimpsest.data import COMPLETIONS, load_completion

# The completion of each line of stdin, on a line of stdout.
BASH = """
while IFS= read -r line; do
    read -ra COMP_WORDS <<<"$line"
    case $line in *' ') COMP_WORDS+=('') ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _shtab_palimpsest
    echo "${COMPREPLY[*]}"
done
"""
FISH = r"""
while read --delimiter \n --local line
    set offered (complete -C $line | cut -f1)
    echo $offered
end
"""


def cases(parser: argparse.ArgumentParser, typed: str = "palimpsest") -> Iterator[tuple[str, set[str]]]:
    """Lines as they are typed so far, each with the words that have to be offered."""
    yield f"{typed} --", {option for action in parser._actions if is_told(action) for option in long_options(action)}
    if commands := commands_of(parser):
        yield f"{typed} ", set(commands)
    for name, command in commands.items():
        yield f"{typed} {name[:-1]}", {name}
        yield from cases(command, f"{typed} {name}")


def long_options(action: argparse.Action) -> list[str]:
    return [option for option in action.option_strings if option.startswith("--")]


def missing(program: list[str], reader: str, shell: str) -> list[str]:
    """What the shell does not offer, with the lines that were typed."""
    wanted = list(cases(build_parser(COMMANDS)))
    typed = "".join(f"{line}\n" for line, _ in wanted)
    script = load_completion(shell) + reader
    done = subprocess.run(
        [*program, "-c", script], input=typed, capture_output=True, text=True, timeout=120, check=True
    )
    offered = done.stdout.split("\n")[: len(wanted)]
    assert len(wanted) > 50
    return [
        f"{line}: {words - set(said.split())}"
        for (line, words), said in zip(wanted, offered, strict=True)
        if words - set(said.split())
    ]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_offers_every_command_action_and_option() -> None:
    assert missing(["bash", "--norc"], BASH, "bash") == []


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_offers_every_command_action_and_option() -> None:
    assert missing(["fish", "--no-config"], FISH, "fish") == []


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_can_read_its_script() -> None:
    subprocess.run(["zsh", "-n", "-c", load_completion("zsh")], check=True, timeout=30)


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_a_shell_reads_what_the_command_prints(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == load_completion(shell)


BASH_VALUES = """
palimpsest() { [[ $* == "export --folder $HOME/a folder" ]] && printf '  1  0a1b2c3d  Tax rates (2 messages)\\n'; }
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_offers_services_and_conversations() -> None:
    reader = """
        COMP_WORDS=(palimpsest login op) COMP_CWORD=2; _shtab_palimpsest; echo "${COMPREPLY[*]}"
        COMP_WORDS=(palimpsest export --folder '~/a folder' 0) COMP_CWORD=4; _shtab_palimpsest; echo "${COMPREPLY[*]}"
    """
    script = load_completion("bash") + BASH_VALUES + reader
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split("\n")[:2] == ["openai openrouter", "0a1b2c3d"]
