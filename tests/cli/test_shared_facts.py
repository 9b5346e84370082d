"""`palimpsest facts` names the authors of colleagues' facts, and asks before a team forgets one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.lsp.real_server import home

from palimpsest.cli.main import main
from palimpsest.storage.directory import DATABASE_NAME


def test_a_shared_fact_has_its_author_and_is_forgotten_with_a_confirmation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "work"
    folder.mkdir()
    facts = ["facts", "--folder", str(folder)]
    for words in ("The heron nests.", "The stork flies."):
        assert main([*facts, "pin", words]) == 0
    with closing(sqlite3.connect(next(tmp_path.rglob(DATABASE_NAME)))) as connection, connection:
        connection.execute("INSERT INTO fact_author (fact, member, name) VALUES (1, 'm', 'ann')")
        connection.execute("INSERT INTO shared_fact VALUES ('k', 'open', 1, 'm', NULL, 1)")
    capsys.readouterr()
    assert main([*facts, "list"]) == 0
    assert "The heron nests. (noted by ann)" in " ".join(capsys.readouterr().out.split())
    assert main([*facts, "export"]) == 0
    exported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["content"]: (each["author"], each["shared"]) for each in exported} == {
        "The heron nests.": ("ann", True),
        "The stork flies.": (None, False),
    }
    assert main([*facts, "forget", "2", "1"]) != 0
    assert "Your team would forget for good: 1. Repeat the command with --yes" in capsys.readouterr().err
    assert main([*facts, "forget", "--yes", "2", "1"]) == 0
    assert "Forgot 2 facts." in capsys.readouterr().out
