"""A folder to talk about, and the command to do it with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("palimpsest"))
"""As it is installed in the environment that runs the tests."""
PUMP = "The pump starts when the soil moisture falls below 18 percent."


def made_up_folder(directory: Path) -> Path:
    """Its path is resolved."""
    root = directory.resolve() / "made up folder é"
    root.mkdir()
    (root / "README.md").write_text(f"# Greenhouse\n\n{PUMP}\n")
    (root / "notes.txt").write_text("one\ntwo\nthree\n")
    (root / ".env").write_text("SECRET=hunter2\n")
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_up_folder(tmp_path)


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake is on loopback: no proxy of the machine that runs the tests can reach it."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
