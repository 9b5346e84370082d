"""The Neovim plugin, in a real Neovim with the real server. The rules stand in `nvim/*.lua`, each as a name."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.editors.neovim import LUA, ROOT, HeldModels, environment, find_neovim, find_old_neovim, running
from tests.editors.screen import Screen
from tests.slash import EXAMPLES, typed

from palimpsest.domain.command_names import CommandName

_NEOVIM, _WHY_NOT = find_neovim()
pytestmark = [pytest.mark.skipif(_NEOVIM is None, reason=_WHY_NOT), pytest.mark.timeout(300)]
NEOVIM = _NEOVIM or ""
PLUGIN = ROOT / "editors/nvim"
IN_NEOVIM = {
    CommandName.SEARCH: "message 0, user",
    CommandName.RETRY: "Still at 18.",
}
"""What the panel shows where the example's answer is another one, or is said elsewhere."""


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


async def test_accepted_edits_are_taken_back(tmp_path: Path, folder: Path, models: HeldModels) -> None:
    async with running(NEOVIM, "edits", tmp_path, folder, models) as session:
        assert "rules hold" in await session.passes()


async def test_a_fact_is_shown_where_it_stands_and_can_be_settled_there(tmp_path: Path, folder: Path) -> None:
    async with running(NEOVIM, "facts", tmp_path, folder, None) as session:
        assert "rules hold" in await session.passes()


async def test_chats_begin_with_code_actions_and_every_slash_command_answers(
    tmp_path: Path, folder: Path, models: HeldModels
) -> None:
    commands = tmp_path / "config/palimpsest/commands"
    commands.mkdir(parents=True)
    (commands / "re-view.md").write_text("Review $ARGUMENTS twice.")
    examples = [{"typed": typed(name), "expected": IN_NEOVIM.get(name, said)} for name, (_, said) in EXAMPLES.items()]
    (folder / "slash.json").write_text(json.dumps(examples))
    async with running(NEOVIM, "code", tmp_path, folder, models) as session:
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
@pytest.mark.parametrize("columns", [120, 60])
async def test_on_a_terminal_the_answer_and_the_bar_are_on_the_screen_and_nothing_has_to_be_dismissed(
    tmp_path: Path, folder: Path, models: HeldModels, columns: int
) -> None:
    variables = environment(tmp_path, models, TERM="xterm-256color")
    async with Screen(f"neovim-{columns}", folder, variables) as screen:
        await screen.start([NEOVIM, "-u", str(LUA / "init.lua"), "-i", "NONE", "notes.txt"], (columns, 30))
        await screen.until("a leaf of lettuce")
        await screen.type(":Palimpsest ask typed by a person")
        await screen.keys("Enter")
        await screen.until("You said: typed by a person", "Answer", "▱", "sends ·")
        await screen.type(":Palimpsest nosuch")
        await screen.keys("Enter")
        shown = await screen.until("Palimpsest: There is no :Palimpsest nosuch")
        assert "ENTER" not in shown
        await screen.type(":messages")
        await screen.keys("Enter")
        await screen.until("unshare.")  # the end of what did not fit the line


@pytest.mark.skipif(find_old_neovim() is None, reason="no Neovim before 0.11 is installed (Debian: neovim)")
def test_an_old_neovim_is_told_what_it_lacks() -> None:
    command = [find_old_neovim() or "", "--headless", "-u", "NONE", "-i", "NONE", "--cmd", f"set rtp^={PLUGIN}"]
    command += ["-c", "runtime plugin/palimpsest.lua", "-c", "Palimpsest ask something", "-c", "qa!"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "Palimpsest needs Neovim 0.11 or newer;" in ended.stderr
