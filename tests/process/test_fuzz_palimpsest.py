"""The real server answers ten thousand random messages once each where an answer is due, and lives."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp
from tests.lsp.real_server import COMMAND, home
from tests.process.fuzzing import check_random_messages

from palimpsest.wire.declare import Request
from palimpsest.wire.messages import MESSAGES

METHODS = [message.method for message in MESSAGES if isinstance(message, Request)]
STANDARD = [lsp.TEXT_DOCUMENT_HOVER, lsp.WORKSPACE_EXECUTE_COMMAND, lsp.INITIALIZE, lsp.TEXT_DOCUMENT_DID_OPEN]
NOTIFICATIONS = [
    lsp.TEXT_DOCUMENT_DID_OPEN,
    lsp.TEXT_DOCUMENT_DID_CHANGE,
    lsp.TEXT_DOCUMENT_DID_CLOSE,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
    lsp.CANCEL_REQUEST,
    lsp.SET_TRACE,
    lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL,
    lsp.INITIALIZED,
]


async def test_every_request_is_answered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    await check_random_messages(COMMAND, METHODS + STANDARD, NOTIFICATIONS, n_messages=10_000, seed=2)
