"""`palimpsest facts pin --at` ties a fact to lines that the file has, and to no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lsp.real_server import home

from palimpsest.cli.main import main


@pytest.mark.parametrize("lines", ["0", "3", "2-1", "1-3"])
def test_lines_that_a_file_does_not_have_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lines: str
) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "prices.py").write_text("RATE = 0.19\nTAX = RATE\n", encoding="utf-8")
    about = ["--folder", str(folder)]
    assert main(["facts", "pin", "The rate is 0.19.", "--at", f"prices.py:{lines}", *about]) == 1
    assert capsys.readouterr().err == f"palimpsest: There are no lines {lines} in prices.py: it has 2 lines.\n"
    assert main(["facts", "pin", "The rate is 0.19.", "--at", "prices.py:1-2", *about]) == 0
