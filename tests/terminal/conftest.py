from __future__ import annotations

from pathlib import Path

import pytest
from tests.terminal.chats import Chats


@pytest.fixture
def chats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chats:
    chats = Chats(tmp_path)
    # A server that the test itself starts inherits its environment.
    monkeypatch.setenv("PYTHONPATH", chats.environment()["PYTHONPATH"])
    return chats
