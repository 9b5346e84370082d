"""A pytest-lsp client that knows our messages: it sends and receives their classes, and checks capabilities."""

from __future__ import annotations

import json
from typing import Any

from lsprotocol import types as lsp
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

from palimpsest.lsp.runtime.methods import make_converter
from palimpsest.lsp.runtime.phase import Phase
from palimpsest.lsp.runtime.protocol import Protocol
from palimpsest.wire.declare import Notification, Request


class ClientProtocol(LanguageClientProtocol, Protocol):  # type: ignore[misc]  # each names its own kind of server
    """The editor's end. pytest-lsp reads frames in its own way and hands over JSON values."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)  # type: ignore[no-untyped-call]
        self.phase = Phase.RUNNING  # an editor takes messages from the start

    def structure_message(self, data: Any) -> Any:
        return data

    def handle_message(self, message: Any) -> None:
        self.receive(json.dumps(message).encode())

    def _handle_notification(self, method_name: str, params: Any) -> Any:
        if (waiting := self._notification_futures.pop(method_name, None)) is not None:
            waiting.set_result(params)
        return Protocol._handle_notification(self, method_name, params)


class TypedClient(LanguageClient):
    """Keeps the partial results it gets, oldest first."""

    def __init__(self, messages: tuple[Request | Notification, ...]) -> None:
        protocol_cls = type("BoundClientProtocol", (ClientProtocol,), {"load_messages": staticmethod(lambda: messages)})
        super().__init__(protocol_cls=protocol_cls, converter_factory=make_converter)
        self.partials: list[lsp.ProgressParams] = []
        features = dict(DEFAULT_CLIENT_FEATURES)
        on_work_done = features[lsp.PROGRESS]

        def on_progress(client: TypedClient, params: lsp.ProgressParams) -> Any:
            # pytest-lsp's own handler takes every progress for a work-done one, and fails on others
            if isinstance(params.value, dict) and params.value.get("kind") in ("begin", "report", "end"):
                return on_work_done(client, params)
            client.partials.append(params)
            return None

        features[lsp.PROGRESS] = on_progress
        register_lsp_features(self, features)
