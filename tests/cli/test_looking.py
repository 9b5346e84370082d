"""Commands that only look at a folder's conversations leave nothing behind where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lsp.real_server import home

from palimpsest.cli.main import main
from palimpsest.storage.directory import DATABASE_NAME


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["export"], 0, "There are no conversations in this folder."),
        (["export", "3"], 1, "This folder has no conversation '3'."),
        (["replay", "--conversation", "3"], 1, "This folder has no conversation '3'."),
    ],
)
def test_looking_at_a_folder_without_conversations_makes_no_store(
    arguments: list[str],
    code: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "work"
    folder.mkdir()
    assert main([*arguments, "--folder", str(folder)]) == code
    shown = capsys.readouterr()
    assert told in " ".join((shown.out + shown.err).split())
    assert not list(tmp_path.rglob(DATABASE_NAME))
