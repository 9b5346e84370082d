"""One command writes every generated file and finds those that are old."""

from __future__ import annotations

from pathlib import Path

import pytest
from dev.generate import main, outputs, stale


def test_the_generated_files_of_the_repository_are_up_to_date() -> None:
    assert stale(outputs()) == []


def test_a_file_that_is_old_is_named_and_writing_mends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"], tmp_path) == 1
    assert list(tmp_path.iterdir()) == []
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    for name in outputs():
        (tmp_path / name).write_text("old", "utf-8")
        capsys.readouterr()
        assert main(["--check"], tmp_path) == 1
        assert capsys.readouterr().out == f"{name} is not up to date: run `make generate`.\n"
        (tmp_path / name).unlink()
        assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0


def test_an_argument_that_is_not_known_writes_nothing(tmp_path: Path) -> None:
    assert main(["--chekc"], tmp_path) == 2
    assert list(tmp_path.iterdir()) == []
