"""`didChangeEditorModels` and `editorModel/delta`: the models that an editor offers."""

from __future__ import annotations

import contextlib

from palimpsest.domain.errors import PalimpsestError
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.wire.areas.editor_models import EditorModelDeltaParams, EditorModelsChangedParams


async def did_change_editor_models(ls: PalimpsestServer, params: EditorModelsChangedParams) -> None:
    ls.part(OfferedModels).change(params.models)
    with contextlib.suppress(PalimpsestError):  # every request fails with it too, and reports it
        await ls.folders()


def hear_delta(ls: PalimpsestServer, params: EditorModelDeltaParams) -> None:
    ls.part(OfferedModels).hear(params)
