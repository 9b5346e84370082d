"""Work that nobody waits for is done by the model of the editor whose turn left it, in the composed product."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from tests.lsp.in_process import in_environment
from tests.lsp.real_server import home
from tests.waiting import WAIT_S

from palimpsest.app.compose import load_folders
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import user_message
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage
from palimpsest.services.models.editor_models import EditorId, EditorModel
from palimpsest.services.turns.running import RunningTurn


class Answering:
    """An editor that answers every question in the same words, and notes that it was asked."""

    def __init__(self, editor_id: str, asked: asyncio.Queue[EditorId]) -> None:
        self.id = EditorId(editor_id)
        self._asked = asked

    async def complete(self, model: EditorModel, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        self._asked.put_nowait(self.id)
        yield TextDelta("[]")
        yield Finished(StopReason.END, TokenUsage())


async def test_facts_are_read_by_the_model_of_the_editor_that_asked(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    asked: asyncio.Queue[EditorId] = asyncio.Queue()
    with in_environment(
        **home(tmp_path, PALIMPSEST_MODEL="offline", PALIMPSEST_LIBRARIAN_MODEL="editor/shared")
    ) as env:
        folders = await asyncio.to_thread(load_folders, env)
        try:
            for each in ("one", "two"):
                host = Answering(each, asked)
                folders.editor_models.offer(host, [EditorModel("shared", 64_000, 4_000, "", takes_tools=True)])
            session = await folders.get(root)
            conversation_id = (await session.conversations.create("Herons", "offline")).id
            for number, each in enumerate((EditorId("two"), EditorId("one"))):
                content = user_message(f"Which file says where heron {number} stands?")
                turn = await session.turns.start(conversation_id, f"r{number}", content, each)
                assert isinstance(turn, RunningTurn)
                await turn.wait()
                assert await asyncio.wait_for(asked.get(), WAIT_S) == each
        finally:
            await folders.close()
