"""Sharing as a user has it: settings name a hub, slash commands share and open, and folders keep in step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo
from tests.hub.lab import Lab, TestTeam
from tests.lsp.in_process import in_environment
from tests.lsp.real_server import home
from tests.waiting import WAIT_S

from palimpsest.app.compose import load_folders
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.folder.folders import Folders
from palimpsest.services.turns.running import RunningTurn


@dataclass(slots=True)
class Machine:
    """A home folder with one workspace folder."""

    folders: Folders
    root: Path

    async def type(self, text: str, conversation_id: ConversationId | None = None) -> Reply:
        return await run_command(Scope(await self.folders.get(self.root), conversation_id), text)

    async def ask(self, text: str, conversation_id: ConversationId) -> None:
        turns = (await self.folders.get(self.root)).turns
        turn = await turns.start(conversation_id, f"request {text}", user_message(text))
        assert isinstance(turn, RunningTurn)
        await turn.wait()

    async def texts(self, conversation_id: ConversationId) -> list[str]:
        conversations = (await self.folders.get(self.root)).conversations
        return [each.content.text for each in (await conversations.read(conversation_id, None, 100)).messages]


@pytest.fixture
def team(lab: Lab) -> TestTeam:
    return lab.team(ann="writer", bob="writer")


@pytest.fixture
async def machines(lab: Lab, team: TestTeam, tmp_path: Path) -> AsyncIterator[list[Machine]]:
    address = make_conninfo(lab.admin, user=lab.gate.name, password=lab.gate.password)
    async with AsyncExitStack() as stack:
        made = []
        for name in ("ann", "bob"):
            root = tmp_path / name / "folder"
            root.mkdir(parents=True)
            hub = {
                "PALIMPSEST_HUB_URL": address,
                "PALIMPSEST_HUB_TOKEN": team.tokens[name],
                "PALIMPSEST_HUB_TEAM": team.name,
                "PALIMPSEST_HUB_POLL_S": "1",
                "PALIMPSEST_MODEL": "offline",
            }
            with in_environment(**home(tmp_path / name, **hub)) as environ:
                folders = await asyncio.to_thread(load_folders, environ)
                stack.push_async_callback(folders.close)
                await folders.get(root)
            made.append(Machine(folders, root))
        yield made


async def test_share_open_and_go_on_by_slash_commands(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    conversations = (await ann.folders.get(ann.root)).conversations
    at = (await conversations.create("Herons", None)).id
    await ann.ask("Where does the heron stand?", at)
    planned = await ann.type("/share", at)
    assert all(team.full_name(name) in planned.text for name in ("ann", "bob"))
    assert (await bob.type("/shared")).text.startswith("The team")
    shared = await ann.type("/share yes", at)
    at = shared.conversation_id or at
    listed = (await bob.type("/shared")).text
    assert "Herons" in listed
    assert at[:8] in listed
    opened = await bob.type(f"/shared {at[:8]}")
    assert opened.conversation_id == at
    assert await bob.texts(at) == await ann.texts(at)
    (info,) = [record for record, _ in await conversations.list() if record.id == at]
    assert info.shared is not None
    assert (info.shared.team, info.shared.is_detached) == (team.id, False)
    changed = asyncio.Event()
    (await ann.folders.get(ann.root)).folder.listeners.add(lambda _: changed.set())
    await bob.ask("Since when?", at)
    assert "all who have it delete the same" in (await ann.type("/purge", at)).text
    expected = await bob.texts(at)
    async with asyncio.timeout(WAIT_S):
        while await ann.texts(at) != expected:
            await changed.wait()
            changed.clear()
    await ann.type("/unshare", at)
    with pytest.raises(InvalidRequest, match="not shared"):
        await ann.type("/unshare", at)


async def test_what_is_typed_wrong_is_answered_with_what_to_do(machines: list[Machine], tmp_path: Path) -> None:
    ann, _ = machines
    with pytest.raises(InvalidRequest, match="/shared for the list"):
        await ann.type("/shared nothing")
    with in_environment(**home(tmp_path / "alone", PALIMPSEST_MODEL="offline")) as environ:
        folders = await asyncio.to_thread(load_folders, environ)
        try:
            with pytest.raises(InvalidRequest, match=r"hub\.url"):
                await Machine(folders, ann.root).type("/shared")
        finally:
            await folders.close()
