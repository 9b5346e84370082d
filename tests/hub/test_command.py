"""`palimpsest hub`, as an administrator types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.hub.lab import Lab, share

from palimpsest.cli.main import main


async def test_a_member_is_added_comes_by_token_and_is_removed(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    def hub(*words: str) -> str:
        assert main(["hub", "--address", lab.admin, *words]) == 0
        return capsys.readouterr().out

    assert "up to date" in hub("setup")
    added = hub("member", "add", "Kim", "The builders", "--role", "admin")
    assert added == "Kim is in the team The builders as admin.\n"
    token = hub("token", "create", "Kim", "--days", "3").split()[-1]
    kim = lab.hub(token)
    (team,) = await kim.teams()
    await share(kim, team.id, "one")
    listed = [json.loads(line) for line in hub("member", "list", "--json").splitlines()]
    assert {"team": "The builders", "name": "Kim", "role": "admin", "login": None, "n_tokens": 1} in listed
    assert "The builders: Kim, admin, 1 token\n" in hub("member", "list")
    assert len(hub("export", "The builders").splitlines()) == 6
    assert "Every digest follows" in hub("doctor")
    assert hub("token", "revoke", "Kim") == "1 token of Kim ended.\n"
    hub("member", "remove", "Kim", "The builders")
    assert await kim.teams() == []
    password = re.search(r"shown once: (\S{20,})\n", hub("setup", "--shared-login", "crowd"))
    assert password is not None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["member", "remove", "Nobody", "No team"], "There is no member Nobody in this hub."),
        (["token", "create", "Nobody"], "There is no member Nobody in this hub."),
        (["token", "create", "Nobody", "--days", "0"], "at least one day"),
        (["export", "No team"], "There is no team No team in this hub."),
    ],
)
def test_what_is_not_there_is_told(
    lab: Lab, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hub", "--address", lab.admin, *words]) == 1
    assert sentence in capsys.readouterr().err


def test_without_an_address_the_command_says_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HUB_ADMIN", raising=False)
    assert main(["hub", "--folder", str(tmp_path), "doctor"]) == 1
    assert "HUB_ADMIN" in capsys.readouterr().err
    assert main(["hub", "--folder", str(tmp_path), "local", "status"]) == 1
    assert "palimpsest hub local start" in capsys.readouterr().out
    assert main(["hub", "--address", "host=/nowhere", "doctor"]) == 1
    assert "PostgreSQL says" in capsys.readouterr().err
