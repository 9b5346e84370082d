"""A release is compared with a list: what is left over or missing is named, and tried where nothing is set."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from dev.release.contents import differences, listed
from dev.release.places import CheckFailed, empty_place

from dev import ROOT


@pytest.mark.parametrize(
    ("names", "problems"),
    [
        (["a/x.py", "m/0001_z.sql"], []),
        (["a/x.py", "a/tests/test_x.py", "m/0001_z.sql"], ["a/tests/test_x.py is there and not in git"]),
        (["a/x.py", "m/0001_z.sql", "a/x.pyc"], ["a/x.pyc does not belong there"]),
        (["a/x.py", "m/0001_z.sql", "m/notes.sql"], ["m/notes.sql does not belong there"]),
        (["a/x.py", "m/0001_z.sql", "m/old/0002_z.sql"], ["m/old/0002_z.sql does not belong there"]),
        (["a/x.py"], ["m/[0-9][0-9][0-9][0-9]_*.sql is missing"]),
        (["m/0001_z.sql"], ["a/**.py is missing", "a/x.py is in git and missing there"]),
    ],
)
def test_what_is_left_over_or_missing_is_named(names: list[str], problems: list[str]) -> None:
    assert differences(names, ["a/**.py", "m/[0-9][0-9][0-9][0-9]_*.sql"], tracked=["a/x.py"]) == problems


def test_each_alternative_in_braces_has_to_be_there() -> None:
    assert "extension/media/icon.png" in listed("vsix")
    assert "extension/media/icon.svg" in listed("vsix")


def test_the_neovim_plugin_holds_what_is_listed() -> None:
    command = ["git", "ls-files", "doc", "lsp", "lua", "plugin"]
    tracked = subprocess.run(
        command, cwd=ROOT / "editors/nvim", capture_output=True, text=True, check=True
    ).stdout.split()
    assert differences([*tracked, "LICENSE", "README.md"], listed("neovim")) == []


def test_an_empty_place_knows_the_package_index_and_none_of_the_callers_keys_or_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "PALIMPSEST_MODEL", "PYTHONPATH", "VIRTUAL_ENV", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, "of the caller")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "leftover").touch()
    place = empty_place(tmp_path / "home", caches=tmp_path)
    assert list(place.home.iterdir()) == []
    assert "of the caller" not in place.environ.values()
    assert place.environ["PIP_INDEX_URL"] == "https://index.example/simple"
    assert place.run("/bin/sh", "-c", "echo $HOME").strip() == str(place.home)


def test_a_command_that_fails_ends_the_check_with_what_it_said(tmp_path: Path) -> None:
    place = empty_place(tmp_path / "home", caches=tmp_path)
    with pytest.raises(CheckFailed, match=r"ended with 3:\n    no such thing"):
        place.run("/bin/sh", "-c", "echo no such thing >&2; exit 3")
