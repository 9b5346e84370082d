"""Whatever a name, a fact or an error holds, no command lets it drive the terminal, and JSON keeps it exactly."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lsp.real_server import home

from palimpsest.cli.main import main
from palimpsest.printing import complain, say, say_json

SERVER = Path(__file__).resolve().parents[2] / "server" / "palimpsest"
NASTY = "a\x1b]0;owned\x07\x9b31m\u202etxt\x00\x7f\udcff\u2028b"
SHOWN = r"a\x1b]0;owned\x07\x9b31m\u202etxt\x00\x7f\udcff\u2028b"
MAY_WRITE = {
    "printing.py",  # the way itself
    "cli/login.py",  # the end of a line that was typed without echo
}


def test_lines_are_shown_and_obeyed_by_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say(NASTY, "tab\tand é and 漢")
    complain(NASTY)
    printed = capsys.readouterr()
    assert printed.out == f"{SHOWN}\ntab\tand é and 漢\n"
    assert printed.err == f"palimpsest: {SHOWN}\n"


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_exact_and_harmless(capsys: pytest.CaptureFixture[str], indent: int | None) -> None:
    say_json({NASTY: [NASTY]}, indent)
    printed = capsys.readouterr().out
    assert json.loads(printed) == {NASTY: [NASTY]}
    assert all(character.isprintable() or character == "\n" for character in printed)


def test_trusted_folders_are_listed_without_what_their_names_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "w\x1b]0;owned\x07"
    folder.mkdir()
    assert main(["trust", str(folder)]) == 0
    assert main(["trust", "--list", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert r"w\x1b]0;owned\x07" in printed


def test_facts_are_listed_without_what_they_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert main(["facts", "--folder", str(tmp_path), "pin", "hello \x1b]0;owned\x07 world of widgets"]) == 0
    assert main(["facts", "--folder", str(tmp_path), "list"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b]" not in printed
    assert r"\x1b]0;owned" in printed


def test_nothing_else_writes_to_a_terminal() -> None:
    """Commands print by `printing`; the terminal client draws, through the same function."""
    found = set()
    for path in SERVER.rglob("*.py"):
        name = path.relative_to(SERVER).as_posix()
        if name.startswith("terminal/") or name in MAY_WRITE:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("write", "writelines"):
                inner = node.value
                if isinstance(inner, ast.Attribute) and inner.attr in ("stdout", "stderr"):
                    found.add(name)
    assert found == set()


def test_a_command_whose_reader_has_left_ends_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        command = [sys.executable, "-P", "-m", "palimpsest", "models", "--json"]
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")
