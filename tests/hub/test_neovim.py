"""Neovim on another machine: what a colleague shares, who writes, and going on in a fork."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo
from tests.editors.neovim import find_neovim, running
from tests.hub.lab import Lab, TestTeam
from tests.hub.machines import Machine
from tests.services.scripted import says

from palimpsest.domain.messages import user_message
from palimpsest.domain.models.provider import TextDelta
from palimpsest.services.sharing import publication
from palimpsest.services.turns.running import RunningTurn

_NEOVIM, _WHY_NOT = find_neovim()
pytestmark = [pytest.mark.skipif(_NEOVIM is None, reason=_WHY_NOT), pytest.mark.timeout(300)]


async def test_a_colleague_in_neovim_reads_follows_and_goes_on_in_a_fork(
    lab: Lab, machines: list[Machine], team: TestTeam, tmp_path: Path
) -> None:
    ann = machines[0]
    await ann.ask("Where does the heron stand?", "In the reeds.")
    at = ann.bench.conversation_id
    await publication.share(ann.sharing, at, team.id)
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    hub = {
        "PALIMPSEST_HUB_URL": make_conninfo(lab.admin, user=lab.gate.name, password=lab.gate.password),
        "PALIMPSEST_HUB_TOKEN": team.tokens["bob"],
        "PALIMPSEST_HUB_TEAM": team.name,
        "PALIMPSEST_HUB_POLL_S": "1",
    }
    async with running(_NEOVIM or "", "shared", tmp_path, folder, None, **hub) as session:
        passes = asyncio.create_task(session.passes())
        opened = asyncio.create_task(session.orders.told("opened"))
        await asyncio.wait([passes, opened], return_when=asyncio.FIRST_COMPLETED)
        gate = asyncio.Event()
        ann.bench.provider.replies.append([TextDelta("It stands on one "), gate, *says("leg.")])
        turn = await ann.bench.session.turns.start(at, "r", user_message("How?"))
        assert isinstance(turn, RunningTurn)
        forked = asyncio.create_task(session.orders.told("forked"))
        await asyncio.wait([passes, forked], return_when=asyncio.FIRST_COMPLETED)
        gate.set()
        await turn.wait()
        await ann.settle()
        opened.cancel()
        forked.cancel()
        assert "5 rules hold" in await passes
