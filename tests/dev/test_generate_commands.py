"""The pages of commands name every command, and an action with its arguments as they are typed."""

from __future__ import annotations

from dev.generate_commands import program_page, slash_page

from palimpsest.cli.main import COMMANDS
from palimpsest.domain.command_names import CommandName


def test_every_command_is_on_the_page_once() -> None:
    lines = slash_page().splitlines()
    for name in CommandName:
        assert sum(line.startswith((f"| `/{name}`", f"| `/{name} ")) for line in lines) == 1
    sections = program_page().splitlines()
    for program in COMMANDS:
        assert sections.count(f"## `palimpsest {program}`") == 1


def test_actions_and_options_are_shown_as_they_are_typed() -> None:
    text = program_page()
    assert "| `list [--stale] [--path FILE]` |" in text
    assert "| `list` `--path FILE` |" in text
    assert "| `forget NUMBER … [--yes]` |" in text
    assert "| `[FOLDER]` |" in text
    assert "| `/adopt [yes\\|no]` |" in slash_page()
