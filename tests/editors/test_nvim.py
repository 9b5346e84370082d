"""The Neovim plugin, in a real Neovim with the real server. The rules stand in `nvim/*.lua`, each as a name."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.editors.neovim import LUA, HeldModels, environment, find_neovim, running

_NEOVIM, _WHY_NOT = find_neovim()
pytestmark = [pytest.mark.skipif(_NEOVIM is None, reason=_WHY_NOT), pytest.mark.timeout(300)]
NEOVIM = _NEOVIM or ""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "a folder é"
    root.mkdir()
    (root / ".git").mkdir()
    (root / "notes.txt").write_text("The greenhouse holds\na leaf of lettuce\nand 40 heads of lettuce.\n")
    return root


@pytest.fixture
async def models() -> AsyncIterator[HeldModels]:
    async with HeldModels() as fake:
        yield fake


async def test_a_conversation_is_held_in_the_panel(tmp_path: Path, folder: Path, models: HeldModels) -> None:
    async with running(NEOVIM, "chat", tmp_path, folder, models) as session:
        assert "rules hold" in await session.passes()


@pytest.mark.slow
async def test_a_server_that_dies_is_started_again_and_the_half_answer_offered(
    tmp_path: Path, folder: Path, models: HeldModels
) -> None:
    async with running(NEOVIM, "crash", tmp_path, folder, models) as session:
        assert "rules hold" in await session.passes()


async def test_a_tool_does_what_the_user_has_seen_and_said_yes_to(
    tmp_path: Path, folder: Path, models: HeldModels
) -> None:
    async with running(NEOVIM, "approvals", tmp_path, folder, models) as session:
        assert "rules hold" in await session.passes()


async def test_a_fact_is_shown_where_it_stands_and_can_be_settled_there(tmp_path: Path, folder: Path) -> None:
    async with running(NEOVIM, "facts", tmp_path, folder, None) as session:
        assert "rules hold" in await session.passes()


async def test_without_a_model_answers_are_quotes_and_checkhealth_says_what_is_missing(
    tmp_path: Path, folder: Path
) -> None:
    async with running(NEOVIM, "offline", tmp_path, folder, None) as session:
        assert "rules hold" in await session.passes()


@pytest.mark.slow
async def test_a_second_neovim_follows_what_the_first_one_asks(
    tmp_path: Path, folder: Path, models: HeldModels
) -> None:
    async with running(NEOVIM, "lead", tmp_path, folder, models) as first:
        first_passes = asyncio.create_task(first.passes())
        await first.orders.told("begun")
        async with running(NEOVIM, "follow", tmp_path, folder, models) as second:
            second_passes = asyncio.create_task(second.passes())
            for word in ("ready", "seen"):
                await second.orders.told(word)
                (folder / word).touch()
            assert "rules hold" in await second_passes
        (folder / "done").touch()
        assert "rules hold" in await first_passes


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux is installed")
async def test_on_a_terminal_the_answer_and_the_bar_are_on_the_screen(
    tmp_path: Path, folder: Path, models: HeldModels
) -> None:
    socket = f"palimpsest-{uuid.uuid4().hex[:8]}"
    variables = environment(tmp_path, models, TERM="xterm-256color")

    async def tmux(*arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "-L", socket, "-f", "/dev/null", *arguments),
            cwd=folder,
            env=variables,
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 0, arguments
        return said.decode()

    async def until_shown(*wanted: str) -> None:
        screen, deadline = "", time.monotonic() + 100
        while not all(each in screen for each in wanted):
            assert time.monotonic() < deadline, screen
            screen = await tmux("capture-pane", "-p")

    command = shlex.join([NEOVIM, "-u", str(LUA / "init.lua"), "-i", "NONE", "notes.txt"])
    await tmux("new-session", "-d", "-x", "120", "-y", "30", command)
    try:
        await until_shown("a leaf of lettuce")
        await tmux("send-keys", ":Palimpsest ask typed by a person", "Enter")
        await until_shown("You said: typed by a person", "a leaf of lettuce", "▱", "Your message")
    finally:
        await tmux("kill-server")
