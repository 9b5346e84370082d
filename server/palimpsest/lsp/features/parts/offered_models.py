"""The models that the editor of one connection offers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Final, cast

from palimpsest.lsp.features.feature import Feature
from palimpsest.machine import machine
from palimpsest.wire.areas.editor_models import EditorModelDeltaParams, EditorModelInfo

if TYPE_CHECKING:
    from palimpsest.domain.context.prepared import PreparedContext
    from palimpsest.domain.models.provider import StreamEvent
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.folders import Folders
    from palimpsest.services.models.editor_models import EditorId, EditorModel, EditorModels

_SILENCE_S: Final = 300.0

Pieces = asyncio.Queue[EditorModelDeltaParams | None]
"""What came of a call and was not taken yet; None: there is an answer."""


class OfferedModels(Feature):
    """The models of one connection's editor: a `services.editor_models.ModelHost`."""

    silence_s: float = _SILENCE_S
    """How long a call waits for the next piece. The first may take a person's answer to the editor's question whether
    Palimpsest may ask the model at all."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self.id: Final = cast("EditorId", machine.new_id())
        """By it the services know whose work they do."""
        self._models: list[EditorModelInfo] = []
        self._told = self._models
        """What the services know of."""
        self._services: EditorModels | None = None
        """Where they are offered; None before there was anything to offer."""
        self._calls: dict[str, Pieces] = {}

    def change(self, models: list[EditorModelInfo]) -> None:
        """What it offers from now on. It counts when the services have been told."""
        self._models = models

    def on_folders(self, folders: Folders) -> None:
        """Tells the services, if there is news for them."""
        if self._models is self._told or folders.editor_models is None:
            return
        # There are folders, so services are loaded.
        from palimpsest.lsp.features.editor_model_calls import to_models

        self._told, self._services = self._models, folders.editor_models
        self._services.offer(self, to_models(self._told))

    def hear(self, delta: EditorModelDeltaParams) -> None:
        if (pieces := self._calls.get(delta.request_id)) is not None:
            pieces.put_nowait(delta)

    @contextlib.contextmanager
    def hearing(self, request_id: str) -> Iterator[Pieces]:
        """What comes of the call, as long as the block runs."""
        pieces = self._calls[request_id] = asyncio.Queue()
        try:
            yield pieces
        finally:
            del self._calls[request_id]

    async def on_stop(self) -> None:
        """The editor is not there any more: what it said last is not told to anybody."""
        self._models = self._told
        if self._services is not None:
            self._services.withdraw(self)

    def complete(self, model: EditorModel, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        # Called by services, so these are loaded.
        from palimpsest.lsp.features.editor_model_calls import complete

        return complete(self._server, model, context)
