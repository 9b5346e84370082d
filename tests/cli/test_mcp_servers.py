"""`palimpsest mcp-servers` says what is configured, and starts nothing that the user has not seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.services.mcp.scripted_server import ScriptedServer

from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.cli import mcp_servers
from palimpsest.cli.main import main
from palimpsest.services.mcp.connection import McpFailure


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    settings = tmp_path / "config" / "palimpsest" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[mcp.mine]\nurl = "https://host/mcp"\nheaders = { Authorization = "Bearer ${TOKEN}" }\n')
    root = tmp_path / "folder"
    root.mkdir()
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "run", "args": ["a b"]}}}))
    return root


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    server = ScriptedServer()
    monkeypatch.setattr(mcp_servers, "connect", server.connect)
    return server


def test_the_list_shows_files_of_trusted_folders_only_and_no_value_of_a_variable(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    assert main(["mcp-servers", "list", "--folder", str(root)]) == 0
    said = capsys.readouterr().out
    assert "with the header Authorization: Bearer ${TOKEN}" in said
    assert "theirs" not in said
    trusted_folders().add(root)
    assert main(["mcp-servers", "list", "--folder", str(root)]) == 0
    assert "    run 'a b'" in capsys.readouterr().out


def test_a_server_of_a_file_is_tried_only_when_the_user_has_seen_it(
    root: Path, script: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    trusted_folders().add(root)
    assert main(["mcp-servers", "test", "theirs", "--folder", str(root)]) == 1
    said = capsys.readouterr()
    assert "run 'a b'" in said.out
    assert "Nothing was started" in said.err
    assert not script.configs
    assert main(["mcp-servers", "test", "theirs", "--yes", "--folder", str(root)]) == 0
    assert "theirs__echo  (you are asked)  Echoes." in capsys.readouterr().out


def test_a_failure_is_a_sentence_with_the_servers_own_words(
    root: Path, script: ScriptedServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    script.refusals = [McpFailure("It ended with exit status 1.", detail="no luck")]
    assert main(["mcp-servers", "test", "mine", "--folder", str(root)]) == 1
    assert 'It ended with exit status 1. It said: "no luck".' in capsys.readouterr().err
    assert script.configs[0].headers == {"Authorization": "Bearer s3cret"}
    assert main(["mcp-servers", "test", "none", "--folder", str(root)]) == 1
    assert "Known servers: mine." in capsys.readouterr().err
    monkeypatch.delenv("TOKEN")
    assert main(["mcp-servers", "test", "mine", "--folder", str(root)]) == 1
    assert "TOKEN is not set" in capsys.readouterr().err
