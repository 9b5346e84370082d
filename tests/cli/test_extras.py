"""A command whose extra is not installed says which one to install; nothing else needs an extra."""

from __future__ import annotations

import sys

import pytest

from palimpsest.cli.main import main


@pytest.mark.parametrize(
    ("name", "package", "words"), [("acp", "acp", []), ("mcp", "mcp", []), ("hub", "psycopg", ["doctor"])]
)
def test_a_command_names_the_extra_that_it_misses(
    name: str, package: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert main([name, *words]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert f"{sys.executable} -m pip install 'palimpsest-ls[{name}]'" in err
    assert err.count("\n") == 1
