"""Who knows nothing of Palimpsest can read the help of every command, and is told how to go on after a mistake."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev.generate_commands import commands_of
from tests.documented import OURS

from palimpsest.cli.main import COMMANDS, build_parser, main


def parsers() -> Iterator[argparse.ArgumentParser]:
    """The program's parser, and those of every command and action."""
    waiting: list[argparse.ArgumentParser] = [build_parser(COMMANDS)]
    for parser in waiting:
        yield parser
        waiting += commands_of(parser).values()


@pytest.mark.parametrize("parser", [pytest.param(each, id=each.prog) for each in parsers()])
def test_a_help_says_in_known_words_what_the_command_and_each_argument_does(parser: argparse.ArgumentParser) -> None:
    assert (parser.description or "").endswith(".")
    arguments = [each for each in parser._actions if not isinstance(each, argparse._SubParsersAction)]
    assert [action.dest for action in arguments if not action.help] == []
    assert re.findall(rf"\b(?:{OURS})s?\b", parser.format_help()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_argument_gets_a_sentence_that_names_the_commands_help(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--no-such-option"])
    assert left.value.code == 2
    assert re.fullmatch(
        rf"palimpsest: [A-Z].*\. `palimpsest {command} --help` shows how it is used\.\n", capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve", "--tcp", "--port", "80000"], "Argument --port: a port is a number up to 65,535, and not '80000'."),
        (["backup", "--output"], "Argument --output: its value is missing."),
        (["facts", "verify", "two"], "Argument NUMBER: this is not a whole number: 'two'."),
        (["login"], "The following arguments are required: SERVICE."),
    ],
)
def test_a_value_that_cannot_be_is_named_before_anything_starts(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert capsys.readouterr().err.startswith(f"palimpsest: {said} ")


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("docter", "Did you mean `palimpsest doctor`?"),
        ("What does it do?", "`palimpsest --help` lists the commands."),
    ],
)
def test_an_unknown_command_gets_the_nearest_one_or_the_list(
    written: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([written]) == 2
    assert capsys.readouterr().err == f"palimpsest: There is no command {written!r}. {hint}\n"


def test_a_key_that_is_typed_as_an_argument_is_refused_and_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["login", "openai", "sk-0123456789abcdef"]) == 1
    said = capsys.readouterr()
    assert "history" in said.err
    assert "sk-0123456789abcdef" not in said.out + said.err


@pytest.mark.parametrize(
    "words",
    [["~/shop", "Where is it?", "--json"], ["~/shop", "--json", "Where is it?"], ["--json", "~/shop", "Where is it?"]],
)
def test_options_may_stand_between_arguments(words: list[str]) -> None:
    found = build_parser(["chat"]).parse_args(["chat", *words])

    assert (found.folder, found.question, found.json) == ("~/shop", "Where is it?", True)


@pytest.mark.parametrize("words", [["--folder", "x", "pin", "a", "b"], ["pin", "a", "--folder", "x", "b"]])
def test_the_folder_of_facts_may_stand_before_the_action_and_behind_it(words: list[str]) -> None:
    found = build_parser(["facts"]).parse_args(["facts", *words])
    assert (found.folder, found.words) == (Path("x"), ["a", "b"])
    assert build_parser(["facts"]).parse_args(["facts", "list"]).folder == Path()
