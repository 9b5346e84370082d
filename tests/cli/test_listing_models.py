"""`palimpsest models` also says which service that the user set up named no models: most often it does not run."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.lsp.real_server import home

from palimpsest.cli.main import main


def test_a_local_service_that_does_not_run_is_named_with_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as closed:  # bound and never listened on: nobody answers there
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        for name, value in home(tmp_path, OLLAMA_HOST=address).items():
            monkeypatch.setenv(name, value)
        assert main(["models"]) == 0
    said = capsys.readouterr().out
    assert f"ollama at {address} does not answer, or has no model yet: start it there" in said
    assert "lmstudio" not in said
