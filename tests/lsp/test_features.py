"""The table of handlers names all that an editor may ask for, and the parts of a connection hear of things in order."""

from __future__ import annotations

import errno
import importlib
import inspect
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from tests.lsp.in_process import in_environment, served
from tests.lsp.rawlsp import HEARS_CHANGES, RawClient
from tests.lsp.real_server import home

from palimpsest.app.compose import load_folders
from palimpsest.domain.errors import NO_HANDLES, StoreError
from palimpsest.domain.messages import ConversationId
from palimpsest.lsp import features
from palimpsest.lsp.features.feature import Feature
from palimpsest.lsp.features.parts.attachments import Attachments
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.runtime.methods import Methods
from palimpsest.lsp.server import PARTS, PalimpsestServer, build_server
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.folder.folders import Folders
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.tools.editors import Editors
from palimpsest.wire.declare import Direction, Notification, Request
from palimpsest.wire.messages import MESSAGES


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[PalimpsestServer]:
    with in_environment(**home(tmp_path)) as environ:
        yield build_server(lambda: load_folders(environ), owns_folders=True)


async def introduce(client: RawClient, root: Path) -> None:
    answer = await client.initialize(HEARS_CHANGES, workspaceFolders=[{"uri": root.as_uri(), "name": "folder"}])
    assert "result" in answer, answer


# ------------------------------------------------------------------------------------------------------------ the table


def test_every_message_that_an_editor_may_send_is_in_the_table() -> None:
    declared = {each.method for each in MESSAGES if each.direction is not Direction.SERVER_TO_CLIENT}
    assert declared == {name for name in features.HANDLERS if name.startswith("palimpsest/")}


def test_what_is_no_method_is_a_command() -> None:
    methods = Methods(lambda: MESSAGES)
    unknown = [name for name in features.HANDLERS if methods.find(name) is None]
    assert unknown
    assert all("/" not in name for name in unknown)


@pytest.mark.parametrize("name", features.HANDLERS)
def test_every_entry_of_the_table_is_a_function_of_the_connection_and_what_was_said(name: str) -> None:
    handler = features.find(features.HANDLERS[name])
    method = Methods(lambda: MESSAGES).find(name)
    if method is not None and method.is_request:
        assert inspect.iscoroutinefunction(handler)
    inspect.signature(handler).bind(*range(1 if method is None else 2))


async def test_an_editor_is_told_of_every_entry(server: PalimpsestServer, root: Path) -> None:
    async with served(server) as client:
        pulls = HEARS_CHANGES | {"textDocument": {"diagnostic": {}}}
        answer = await client.initialize(pulls, workspaceFolders=[{"uri": root.as_uri(), "name": "folder"}])
        able = answer["result"]["capabilities"]
        methods = Methods(lambda: MESSAGES)
        commands = {name for name in features.HANDLERS if methods.find(name) is None}
        assert set(able["executeCommandProvider"]["commands"]) == commands
        assert able["completionProvider"]["triggerCharacters"] == ["/", "@"]
        assert able["diagnosticProvider"]["workspaceDiagnostics"] is True
        for provider in ("codeActionProvider", "codeLensProvider", "foldingRangeProvider", "hoverProvider"):
            assert able[provider] is not None


async def test_the_module_of_a_request_is_imported_on_a_thread(
    server: PalimpsestServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported: list[tuple[str, bool]] = []
    loop_thread = threading.get_ident()

    def import_module(name: str) -> ModuleType:
        if name.startswith(features.__name__):
            imported.append((name.rpartition(".")[2], threading.get_ident() == loop_thread))
        return real(name)

    real = importlib.import_module
    monkeypatch.setattr(features, "_found", {})
    monkeypatch.setattr("palimpsest.lsp.workspace.load_features", lambda: None)
    monkeypatch.setattr(importlib, "import_module", import_module)
    async with served(server) as client:
        await introduce(client, root)
        for _ in range(2):
            assert (await client.result("palimpsest/conversation/list", {}))["conversations"] == []
        client.notify("palimpsest/didChangeEditorModels", {"models": []})
        await client.result("palimpsest/conversation/list", {})
    assert imported == [("conversations", False), ("editor_models", True)]


async def test_a_module_that_could_not_be_read_is_read_for_the_next_one(
    server: PalimpsestServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> ModuleType:
        raise OSError(errno.EMFILE, "Too many open files")

    command = {"command": "palimpsest.command.help", "arguments": []}
    async with served(server) as client:
        await introduce(client, root)
        await client.result("palimpsest/conversation/list", {})
        with monkeypatch.context() as patched:
            patched.setattr(features, "_found", {})
            patched.setattr(importlib, "import_module", refuse)
            for method, params in (("palimpsest/model/list", {}), ("workspace/executeCommand", command)):
                refused = await client.request(method, params)
                assert "no file handle left" in refused["error"]["message"]
        assert await client.result("palimpsest/model/list", {})
        assert "/help" in (await client.result("workspace/executeCommand", command))["text"]


async def test_messages_whose_declarations_could_not_be_read_are_read_for_the_next_one(
    server: PalimpsestServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> tuple[Request | Notification, ...]:
        raise StoreError(NO_HANDLES)

    async with served(server) as client:
        await client.request("initialize", {"capabilities": {}, "rootUri": root.as_uri()})
        with monkeypatch.context() as patched:
            patched.setattr(server.protocol.methods, "_load_messages", refuse)
            refused = await client.request("palimpsest/model/list", {})
            assert "no file handle left" in refused["error"]["message"]
        assert await client.result("palimpsest/model/list", {})


# ------------------------------------------------------------------------------------------------------------ the parts


class Recording(Feature):
    """A feature that records which hook is called when."""

    def __init__(self, server: PalimpsestServer, name: str, heard: list[tuple[str, str]]) -> None:
        super().__init__(server)
        self.name, self.heard = name, heard

    async def settled(self) -> None:
        self.heard.append(("settled", self.name))

    def on_folders(self, folders: Folders) -> None:
        self.heard.append(("folders", self.name))

    def on_session(self, session: FolderSession) -> None:
        self.heard.append(("session", self.name))

    def on_conversation_changed(self, session: FolderSession, conversation_id: ConversationId) -> None:
        self.heard.append(("changed", self.name))

    def on_left(self, root: Path) -> None:
        self.heard.append(("left", self.name))

    async def on_stop(self) -> None:
        self.heard.append(("stop", self.name))


async def test_hooks_are_called_in_the_order_of_the_parts_and_at_the_end_in_the_reverse_one(
    server: PalimpsestServer, root: Path
) -> None:
    heard: list[tuple[str, str]] = []
    first, last = (Recording(server, name, heard) for name in ("first", "last"))
    server.features = (first, *server.features, last)

    def orders(hook: str) -> set[tuple[str, str]]:
        names = [name for each, name in heard if each == hook]
        assert names, hook
        return set(zip(names[::2], names[1::2], strict=True))

    async with served(server) as client:
        await introduce(client, root)
        assert not heard, "nobody has asked for anything"
        await client.result("palimpsest/conversation/create", {})
        for hook in ("settled", "folders", "session"):
            assert orders(hook) == {("first", "last")}
        session = await server.session(None)
        session.folder.listeners.tell(ConversationChanged(ConversationId("nobody's")))
        assert orders("changed") == {("first", "last")}
        gone = {"added": [], "removed": [{"uri": root.as_uri(), "name": "folder"}]}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": gone})
        await client.request("palimpsest/conversation/list", {})
        assert orders("left") == {("first", "last")}
        del heard[:]
        session.folder.listeners.tell(ConversationChanged(ConversationId("nobody's")))
        assert not heard, "the folder was left"
    assert heard == [("stop", "last"), ("stop", "first")]


def test_looking_up_a_part_finds_the_same_one_each_time(server: PalimpsestServer) -> None:
    assert tuple(type(each) for each in server.features) == PARTS
    for kind in PARTS:
        assert server.part(kind) is server.part(kind)
    assert tuple(type(each) for each in server.features) == PARTS


class Folder:
    """The part of an open folder that features use."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.listeners = Listeners()
        self.editors = Editors()

    @property
    def session(self) -> FolderSession:
        return cast(FolderSession, SimpleNamespace(folder=self))


def test_an_editor_moves_on_to_a_folder_that_was_opened_anew(server: PalimpsestServer, root: Path) -> None:
    before, after = Folder(root), Folder(root)
    part = server.part(Attachments)
    for _ in range(2):
        part.on_session(before.session)
    assert len(before.editors.attached()) == 1
    part.on_session(after.session)
    assert (len(before.editors.attached()), len(after.editors.attached())) == (0, 1)
    part.on_left(root)
    assert after.editors.attached() == ()


def test_open_chats_hear_of_a_folder_that_was_opened_anew(server: PalimpsestServer, root: Path) -> None:
    before, after = Folder(root), Folder(root)
    part = server.part(OpenChats)
    n_heard = 0

    def hear() -> None:
        nonlocal n_heard
        n_heard += 1

    chat: Any = SimpleNamespace(conversation_id="c", has_asides=False, changed_elsewhere=hear)
    part.on_session(before.session)
    event = ConversationChanged(ConversationId("c"))
    before.listeners.tell(event)
    part.chats["uri"] = chat
    before.listeners.tell(event)
    assert n_heard == 0, "a folder without an open chat is not heard of"
    part._hear(cast(Any, before))
    before.listeners.tell(event)
    for _ in range(2):
        part.on_session(after.session)
    before.listeners.tell(event)
    after.listeners.tell(event)
    assert n_heard == 2
    part.on_left(root)
    after.listeners.tell(event)
    assert n_heard == 2


def test_every_handler_loads_without_the_extra_of_the_hub() -> None:
    program = "import sys; sys.modules['psycopg'] = None; from palimpsest.lsp import features; features.load()"
    subprocess.run([sys.executable, "-P", "-c", program], check=True, timeout=60)
