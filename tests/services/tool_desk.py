"""A folder session as the server composes it, with every tool it has, on a scripted provider and a scripted editor."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.services.scripted import Action, Bench, ScriptedProvider
from tests.services.scripted_editor import SCOPE, ScriptedEditor

from palimpsest.app import compose
from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.domain.upgrade import untold
from palimpsest.services.events import FolderEvent
from palimpsest.services.folder.folders import EditorsWord
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope


class TurnsEditor(ScriptedEditor):
    """One that is asked by real turns, each with a scope of its own."""

    output: ToolOutput | None = None
    """What its tools give back."""

    async def approve(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        return await super().approve(SCOPE, request)

    async def run_tool(self, scope: TurnScope, name: str, arguments: Any) -> ToolOutput:
        done = await super().run_tool(scope, name, arguments)
        return self.output or done


@dataclass
class ToolDesk(Bench):
    """A bench whose turns have the tools of the real server, in the folder `session.folder.root`."""

    editor: TurnsEditor

    def results(self) -> list[tuple[str, bool]]:
        """The results in the last request, oldest first: text, and whether the call failed."""
        messages = self.provider.seen[-1].messages
        return [(part.text, part.is_error) for message in messages for part in message.results]


@contextlib.asynccontextmanager
async def open_desk(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    tokenizers: Tokenizers,
    replies: Sequence[list[Action]] = (),
    *,
    is_trusted: bool = True,
    settings: dict[str, Any] | None = None,
) -> AsyncIterator[ToolDesk]:
    """The folder `directory / "folder"`, which may hold files already; everything else lies beside it."""
    monkeypatch.setenv("HOME", str(directory / "home"))
    for name in ("DATA", "CACHE", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(directory / name.lower()))
    provider = ScriptedProvider(list(replies))
    monkeypatch.setattr(compose, "Tokenizers", lambda _: tokenizers)
    monkeypatch.setattr(compose, "OfflineProvider", lambda *_: provider)
    root = directory / "folder"
    root.mkdir(exist_ok=True)
    folders = compose.load_folders({"PATH": "/usr/bin:/bin", "PALIMPSEST_TOOLS_RUN_COMMAND": "1"})
    try:
        session = await folders.open_session(root, EditorsWord(is_trusted, settings or {}), untold)
        events: list[FolderEvent] = []
        session.folder.listeners.add(events.append)
        editor = TurnsEditor()
        session.folder.editors.attach(editor)
        record = await session.conversations.create("desk", None)
        frame_now = session.contexts.frame_now
        try:
            yield ToolDesk(session, provider, record.id, events, await frame_now(), frame_now, editor)
        finally:
            await session.folder.close()
    finally:
        await folders.close()
