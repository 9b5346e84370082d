"""The base answers ten thousand random messages as it should, and lives."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp
from tests.lsp.demo_server import DEMO, MESSAGES
from tests.process.fuzzing import check_random_messages

from palimpsest.wire.declare import Request

SLOW = {"demo/stuck", "demo/slowThread", "demo/blocking"}
METHODS = [
    *(message.method for message in MESSAGES if isinstance(message, Request) and message.method not in SLOW),
    lsp.TEXT_DOCUMENT_HOVER,
    lsp.TEXT_DOCUMENT_COMPLETION,
    lsp.WORKSPACE_EXECUTE_COMMAND,
    lsp.INITIALIZE,
    lsp.TEXT_DOCUMENT_DID_OPEN,
]
NOTIFICATIONS = [
    "demo/poke",
    lsp.TEXT_DOCUMENT_DID_OPEN,
    lsp.TEXT_DOCUMENT_DID_CHANGE,
    lsp.TEXT_DOCUMENT_DID_CLOSE,
    lsp.NOTEBOOK_DOCUMENT_DID_OPEN,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
    lsp.CANCEL_REQUEST,
    lsp.SET_TRACE,
    lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL,
    lsp.INITIALIZED,
]


@pytest.mark.parametrize("seed", [1, 20261121])
async def test_random_messages_are_answered_once_and_the_server_lives(seed: int) -> None:
    await check_random_messages(DEMO, METHODS, NOTIFICATIONS, n_messages=5_500, seed=seed)
