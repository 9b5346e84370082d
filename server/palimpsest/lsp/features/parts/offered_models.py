"""The models that the editor of one connection offers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Final, cast

from palimpsest.lsp.features.feature import Feature
from palimpsest.machine import machine

if TYPE_CHECKING:
    from palimpsest.domain.context.prepared import PreparedContext
    from palimpsest.domain.models.provider import StreamEvent
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.folders import Folders
    from palimpsest.services.models.editor_models import EditorId, EditorModel, EditorModels
    from palimpsest.wire.areas.editor_models import EditorModelDeltaParams, EditorModelInfo

    Pieces = asyncio.Queue[EditorModelDeltaParams | None]
    """The pieces of a call's answer that are still to be taken; None when the editor has answered the request."""

_SILENCE_S: Final = 300.0


class OfferedModels(Feature):
    """The models of one connection's editor; implements `services.editor_models.ModelHost`."""

    silence_s: float = _SILENCE_S
    """The seconds that a call waits for the next piece. Before the first piece, the editor may ask its user whether
    Palimpsest may use the model."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self.id: Final = cast("EditorId", machine.new_id())
        """The services' name for this editor in the work that it requests."""
        self._models: list[EditorModelInfo] = []
        self._told = self._models
        """The models that the services have been told."""
        self._services: EditorModels | None = None
        """The services that know the models; None before there were any."""
        self._calls: dict[str, Pieces] = {}

    def change(self, models: list[EditorModelInfo]) -> None:
        """Takes the editor's current models. They count from the next use of the services on."""
        self._models = models

    def on_folders(self, folders: Folders) -> None:
        """Tells the services when the models have changed."""
        if self._models is self._told:
            return
        from palimpsest.lsp.features.editor_model_calls import to_models

        self._told, self._services = self._models, folders.editor_models
        self._services.offer(self, to_models(self._told))

    def hear(self, delta: EditorModelDeltaParams) -> None:
        if (pieces := self._calls.get(delta.request_id)) is not None:
            pieces.put_nowait(delta)

    @contextlib.contextmanager
    def hearing(self, request_id: str) -> Iterator[Pieces]:
        """The pieces of the call's answer, which arrive while the block runs."""
        pieces = self._calls[request_id] = asyncio.Queue()
        try:
            yield pieces
        finally:
            del self._calls[request_id]

    async def on_stop(self) -> None:
        """Withdraws the models. A change that was not passed on is dropped."""
        self._models = self._told
        if self._services is not None:
            self._services.withdraw(self)

    def complete(self, model: EditorModel, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        from palimpsest.lsp.features.editor_model_calls import complete

        return complete(self._server, model, context)
