"""A server runs where the user said so and nowhere else, is kept running, and ends with its folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.services.mcp.scripted_server import ScriptedServer, tool, until
from tests.waiting import WAIT_S

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.services.mcp import server as life
from palimpsest.services.mcp.connection import McpFailure
from palimpsest.services.mcp.server import ServerState
from palimpsest.services.mcp.servers import McpServers, McpSetup
from palimpsest.services.tools.toolbox import unheard
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.store import open_store

MINE = ServerConfig("mine", command=("run", "${FOLDER:-here}"))


@dataclass
class Folder:
    root: Path
    servers: McpServers
    trust: FolderTrust
    script: ScriptedServer
    changes: list[list[ServerState]]

    async def take(self, *configs: ServerConfig, **environ: str) -> None:
        await self.servers.take(McpSetup({each.name: each for each in configs}, environ, self.script.connect))

    def write(self, **servers: Any) -> None:
        (self.root / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))

    def state(self, name: str = "mine") -> ServerState:
        return self.servers.status(name).state


@pytest.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Folder]:
    monkeypatch.setattr(life, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(life, "SETTLE_S", 0.0)
    root = tmp_path / "folder"
    root.mkdir()
    store, trust, changes = await open_store(tmp_path / "store"), FolderTrust(True), list[list[ServerState]]()
    servers = McpServers(root, store, trust, lambda: changes.append([each.state for each in servers.statuses()]))
    yield Folder(root, servers, trust, ScriptedServer(), changes)
    await servers.close()
    await store.close()


async def test_a_server_of_the_user_starts_with_its_variables_filled_in(folder: Folder) -> None:
    await folder.take(MINE, FOLDER="there")
    await folder.servers.settled()
    assert folder.state() is ServerState.READY
    assert folder.script.configs[0].command == ("run", "there")
    assert folder.servers.status("mine").config.command == ("run", "${FOLDER:-here}"), "what is shown holds no value"
    assert folder.changes[-1] == [ServerState.READY]


async def test_a_variable_that_is_missing_is_named_and_nothing_is_started(folder: Folder) -> None:
    await folder.take(replace(MINE, headers={}, env={"A": "${NO_SUCH}"}))
    await folder.servers.settled()
    status = folder.servers.status("mine")
    assert (status.state, folder.script.configs) == (ServerState.FAILED, [])
    assert "NO_SUCH" in status.sentence


async def test_nothing_runs_in_a_folder_without_trust_and_all_ends_when_it_is_taken_back(folder: Folder) -> None:
    folder.trust.is_trusted = False
    folder.write(theirs={"command": "evil"})
    await folder.take(MINE)
    assert folder.state() is ServerState.OFF
    assert len(folder.servers.statuses()) == 1, "not even the file is read"
    folder.trust.is_trusted = True
    await folder.servers.refresh()
    await folder.servers.settled()
    assert folder.state() is ServerState.READY
    folder.trust.is_trusted = False
    await folder.servers.refresh()
    await until(lambda: folder.script.n_open == 0)
    assert not folder.servers.running()


async def test_a_server_of_a_file_starts_only_after_an_approval_of_exactly_its_command(folder: Folder) -> None:
    folder.write(theirs={"command": "run", "args": ["a"]})
    await folder.take()
    status = folder.servers.status("theirs")
    assert (status.state, folder.script.configs) == (ServerState.UNAPPROVED, [])
    await folder.servers.answer("theirs", status.config.fingerprint, is_approved=True)
    await folder.servers.settled()
    assert folder.state("theirs") is ServerState.READY
    folder.write(theirs={"command": "run", "args": ["a", "b"]})
    await folder.servers.refresh()
    assert folder.state("theirs") is ServerState.UNAPPROVED
    assert len(folder.script.configs) == 1
    folder.write(theirs={"command": "run", "args": ["a"]})
    await folder.servers.refresh()
    await folder.servers.settled()
    assert folder.state("theirs") is ServerState.READY, "the earlier answer holds"


async def test_an_approval_of_what_has_changed_since_it_was_shown_is_refused(folder: Folder) -> None:
    folder.write(theirs={"command": "good"})
    await folder.take()
    seen = folder.servers.status("theirs").config.fingerprint
    folder.write(theirs={"command": "evil"})
    with pytest.raises(InvalidRequest, match="configured differently"):
        await folder.servers.answer("theirs", seen, is_approved=True)
    assert not folder.script.configs


async def test_a_refused_server_stays_off(folder: Folder) -> None:
    folder.write(theirs={"command": "run"})
    await folder.take()
    await folder.servers.answer("theirs", folder.servers.status("theirs").config.fingerprint, is_approved=False)
    await folder.servers.refresh()
    assert folder.state("theirs") is ServerState.OFF
    assert not folder.script.configs


async def test_a_server_that_dies_is_started_again_and_keeps_its_tools_meanwhile(folder: Folder) -> None:
    await folder.take(MINE)
    await folder.servers.settled()
    offer = folder.servers.status("mine").offer
    folder.script.gate = asyncio.Event()
    folder.script.die()
    await until(lambda: folder.state() is ServerState.STARTING)
    assert folder.servers.status("mine").offer == offer
    assert "exit status 1" in folder.servers.status("mine").sentence
    (server,) = folder.servers.running()
    with pytest.raises(InvalidRequest, match="does not run now"):
        await server.call(offer.tools[0], {}, unheard)
    folder.script.gate.set()
    await until(lambda: folder.state() is ServerState.READY)
    assert folder.script.n_open == 1


async def test_a_server_that_keeps_failing_is_given_up_and_can_be_tried_again(folder: Folder) -> None:
    folder.script.refusals = [McpFailure("It said no.") for _ in range(life.MAX_FAILURES + 1)]
    await folder.take(MINE)
    await until(lambda: folder.state() is ServerState.FAILED)
    status = folder.servers.status("mine")
    assert status.sentence == f"It said no. It was started {life.MAX_FAILURES + 1} times, and is given up."
    assert not status.offer.tools
    await folder.servers.restart("mine")
    await folder.servers.settled()
    assert folder.state() is ServerState.READY


async def test_what_cannot_succeed_is_not_tried_again(folder: Folder) -> None:
    folder.script.refusals = [McpFailure("There is no such program.", is_final=True)]
    await folder.take(MINE)
    await until(lambda: folder.state() is ServerState.FAILED)
    assert len(folder.script.configs) == 1


async def test_a_server_that_does_not_answer_in_time_is_ended(folder: Folder) -> None:
    folder.script.gate = asyncio.Event()
    await folder.take(replace(MINE, start_timeout_s=1))
    await until(lambda: "did not answer within 1 s" in folder.servers.status("mine").sentence)
    assert folder.script.n_open == 0


async def test_changed_lists_are_read_again(folder: Folder) -> None:
    await folder.take(MINE)
    await folder.servers.settled()
    folder.script.tools.append(tool("more"))
    folder.script.announce()
    await until(lambda: len(folder.servers.status("mine").offer.tools) == 2)
    assert folder.state() is ServerState.READY


async def test_a_changed_configuration_ends_the_old_server_and_closing_ends_all(folder: Folder) -> None:
    await folder.take(MINE, replace(MINE, name="other"))
    await folder.servers.settled()
    await folder.take(replace(MINE, timeout_s=7))
    await folder.servers.settled()
    await until(lambda: folder.script.n_open == 1)
    assert [each.config.name for each in folder.servers.statuses()] == ["mine"]
    async with asyncio.timeout(WAIT_S):
        await folder.servers.close()
    assert folder.script.n_open == 0
    await folder.servers.refresh()
    assert folder.script.n_open == 0, "nothing starts in a folder that is closed"


async def test_a_server_that_nobody_configured_is_not_found(folder: Folder) -> None:
    await folder.take(MINE)
    with pytest.raises(NotFound, match="Did you mean mine"):
        folder.servers.status("mina")
    with pytest.raises(InvalidRequest, match="your own settings"):
        await folder.servers.answer("mine", "", is_approved=True)


async def test_a_file_that_leads_out_of_the_folder_is_not_read(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text(json.dumps({"mcpServers": {"evil": {"command": "x"}}}))
    (folder.root / ".mcp.json").symlink_to(tmp_path / "outside.json")
    await folder.take()
    assert not folder.servers.statuses()
    assert folder.servers.problems
