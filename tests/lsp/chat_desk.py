"""A server on one folder, and editors that chat in documents."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import FakeProvider
from tests.lsp.chat_editor import ChatEditor, Encoding, capabilities
from tests.lsp.in_process import in_environment, served
from tests.lsp.rawlsp import RawClient
from tests.lsp.real_server import home, on_fake

from palimpsest.app.compose import load_folders
from palimpsest.lsp.server import build_server
from palimpsest.services.folder.folders import Folders

ENCODINGS: tuple[Encoding, ...] = ("utf-16", "utf-8")


class Desk:
    """One server on one folder, and editors on it."""

    def __init__(self, root: Path, folders: Folders, fake: FakeProvider) -> None:
        self.root, self.fake, self.folders = root, fake, folders
        self._stack = contextlib.AsyncExitStack()

    async def connect(self, known: dict[str, Any]) -> RawClient:
        server = build_server(lambda: self.folders, owns_folders=False)
        client = await self._stack.enter_async_context(served(server))
        client.handlers["window/showDocument"] = lambda _: {"success": True}
        answer = await client.initialize(known, workspaceFolders=[{"uri": self.root.as_uri(), "name": "folder"}])
        assert "result" in answer, answer
        return client

    async def chat(self, encoding: Encoding = "utf-16", **arguments: Any) -> ChatEditor:
        """An editor with a document of a conversation open."""
        client = await self.connect(capabilities(encoding))
        params = {"command": "palimpsest.chat.open", "arguments": [arguments]}
        opened = await client.result("workspace/executeCommand", params)
        editor = ChatEditor(client, Path(opened["path"]), encoding)
        editor.open()
        await editor.until("\n# ")
        return editor

    async def close(self) -> None:
        await self._stack.aclose()
        await self.folders.close()


@pytest.fixture
async def desk(tmp_path: Path, fake: FakeProvider) -> AsyncIterator[Desk]:
    root = tmp_path / "a folder é"
    root.mkdir()
    with in_environment(**home(tmp_path, **on_fake(fake.url), PATH="/usr/bin:/bin")) as environ:
        desk = Desk(root, load_folders(environ), fake)
        yield desk
        await desk.close()


async def said(editor: ChatEditor, conversation_id: str) -> list[str]:
    read = await editor.client.result("palimpsest/conversation/read", {"conversationId": conversation_id})
    return [each["text"] for each in read["messages"]]
