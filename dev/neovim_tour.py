"""A tour of the Neovim plugin in a real Neovim: `python -m dev.neovim_tour FOLDER [COLUMNS ...]`.

Writes each scene as text and as a picture, and the whole tour as an asciicast, `tour-COLUMNS.cast`. Needs tmux, and a
Neovim as `tests/editors` find it. The answers come from our fake model service.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.terminal_theme import TerminalTheme
from tests.editors.neovim import LUA, HeldModels, environment, find_neovim
from tests.editors.screen import Screen
from tests.lsp.real_server import editor

from dev.screen_pictures import svg
from palimpsest_clients.fake.replies import Call, Reply

WIDTHS: Final = (104, 60)
ROWS: Final = 28
SOURCE: Final = '''"""Prices, in cents."""

RATE = 0.19


def gross(net):
    """The net price with tax."""
    return net * (1 + RATE)
'''
FACT: Final = "The tax rate is 0.19."
_EDIT: Final = {
    "path": "prices.py",
    "edits": [{"old_text": "return net * (1 + RATE)", "new_text": "return round(net * (1 + RATE))"}],
}
ANSWERS: Final = (
    Reply(calls=(Call("call-1", "read_file", '{"path": "prices.py"}'),), text=""),
    Reply(
        "In one place: `RATE`, line 3 of `prices.py`. Only `gross` uses it.\n\n"
        "- It is a share, **not** a percentage.\n"
        "- `gross` does not round, so a price may have parts of a cent.",
    ),
    Reply("I round the result to whole cents.", calls=(Call("call-2", "propose_edit", json.dumps(_EDIT)),)),
    Reply("`gross` now gives whole cents."),
    Reply("Three cases are worth a test: nothing, a negative price, and one that ends in half a cent."),
)
_BACKGROUND, _FOREGROUND = (20, 22, 27), (224, 226, 234)
"""Of Neovim's own colors on a dark terminal."""
THEME: Final = TerminalTheme(_BACKGROUND, _FOREGROUND, [_FOREGROUND] * 8, [_FOREGROUND] * 8)
_KEY_S: Final = 0.03
SETTINGS: Final = """
vim.cmd("runtime! lsp/palimpsest.lua")
vim.lsp.config("palimpsest", { init_options = { palimpsest = { trust = true } } })
vim.o.background, vim.o.termguicolors, vim.o.laststatus, vim.o.ruler = "dark", true, 0, false
vim.opt.shortmess:append("I")
vim.opt.fillchars = { eob = " " }
vim.cmd("syntax on")
"""


@dataclass(frozen=True, slots=True)
class Tour:
    """What a scene works with."""

    screen: Screen
    models: HeldModels
    folder: Path

    async def type(self, text: str) -> None:
        for character in text:
            await self.screen.type(character)
            await asyncio.sleep(_KEY_S)

    async def command(self, text: str) -> None:
        await self.type(f":{text}")
        await self.screen.keys("Enter")

    async def ask(self, question: str) -> None:
        """Types into the chat's input, which has the cursor, and sends."""
        await self.type(f"i{question}")
        await self.screen.keys("Escape", "Enter")


async def _empty(tour: Tour) -> None:
    await tour.screen.until("def gross")
    await tour.command("Palimpsest")
    await tour.screen.until("Ask about this folder", "Model: gpt-4o", "Explain @prices.py")


async def _answering(tour: Tour) -> None:
    tour.models.hold(2)
    await tour.ask("Where is the tax rate kept?")
    await tour.screen.until("Answering")


async def _answer(tour: Tour) -> None:
    tour.models.let_go()
    await tour.screen.until("does not round", "cent.")
    await tour.screen.until("Answering", is_there=False)


async def _tool_call(tour: Tour) -> None:
    await tour.screen.keys("C-w", "k", "g", "g", "4", "j")
    await tour.screen.keys("z", "o")
    await tour.screen.until("result:")


async def _decision(tour: Tour) -> None:
    await tour.screen.keys("z", "c", "G", "C-w", "j")
    await tour.ask("Round the price to whole cents.")
    await tour.screen.until("return round(net * (1 + RATE))", "Decide later")


async def _decided(tour: Tour) -> None:
    await tour.command("Palimpsest decide")
    await tour.screen.until("Decide later")
    await tour.type("y")
    await tour.screen.until("gives whole cents")
    await tour.screen.until("Answering", is_there=False)


async def _stopped(tour: Tour) -> None:
    tour.models.hold(2)
    await tour.ask("Which cases should I test?")
    await tour.screen.until("Three cases")
    await tour.screen.keys("C-c")
    await tour.screen.until("You stopped this answer")
    tour.models.let_go()


async def _stale_fact(tour: Tour) -> None:
    prices = tour.folder / "prices.py"
    await tour.command("Palimpsest close")
    await tour.command("write")
    await tour.screen.until("written")
    prices.write_text(prices.read_text().replace("0.19", "0.2"))
    await tour.command("edit")
    await tour.screen.until("RATE = 0.2", "may be out of date: The tax rate is 0.19.")


async def _code_actions(tour: Tour) -> None:
    await tour.type("3G")
    await tour.screen.keys("g", "r", "a")
    await tour.screen.until("Mark as still true")


async def _facts(tour: Tour) -> None:
    await tour.screen.keys("C-c")
    await tour.command("Palimpsest facts")
    await tour.screen.until("The tax rate is 0.19")


async def _conversations(tour: Tour) -> None:
    await tour.command("cclose")
    await tour.command("Palimpsest pick")
    await tour.screen.until("Today")


async def _models(tour: Tour) -> None:
    await tour.screen.keys("C-c")
    await tour.command("Palimpsest model")
    await tour.screen.until("Model for this conversation")


SCENES: Final[tuple[Callable[[Tour], Awaitable[None]], ...]] = (
    _empty,
    _answering,
    _answer,
    _tool_call,
    _decision,
    _decided,
    _stopped,
    _stale_fact,
    _code_actions,
    _facts,
    _conversations,
    _models,
)


async def take(directory: Path, neovim: str, columns: int, target: Path) -> None:
    """Takes the tour once; writes into `target`."""
    folder = directory / "shop"
    (folder / ".git").mkdir(parents=True)
    prices = folder / "prices.py"
    prices.write_text(SOURCE)
    async with editor(directory, folder) as noting:
        place = {"fileUri": prices.as_uri(), "startLine": 2, "endLine": 2}
        await noting.client.result("palimpsest/facts/pin", {"content": FACT} | place)
    settings = directory / "tour.lua"
    settings.write_text(f'dofile("{LUA / "init.lua"}")\n{SETTINGS}')
    async with HeldModels() as models:
        models.replies.extend(ANSWERS)
        variables = environment(directory, models, TERM="xterm-256color")
        async with Screen(f"neovim-{columns}", folder, variables) as screen:
            cast = target / f"tour-{columns}.cast"
            await screen.start([neovim, "-u", str(settings), "-i", "NONE", "prices.py"], (columns, ROWS), cast)
            tour = Tour(screen, models, folder)
            for number, scene in enumerate(SCENES, 1):
                await scene(tour)
                await asyncio.sleep(0.5)  # for what is drawn after what was waited for
                name = f"{columns}-{number:02}-{scene.__name__.strip('_').replace('_', '-')}"
                (target / f"{name}.txt").write_text(await screen.text(), encoding="utf-8")
                picture = svg(await screen.colored(), columns, THEME, "Neovim")
                (target / f"{name}.svg").write_text(picture, encoding="utf-8")


def main(target: Path, widths: tuple[int, ...]) -> None:
    neovim, why_not = find_neovim()
    if neovim is None:
        raise SystemExit(why_not)
    target.mkdir(parents=True, exist_ok=True)
    for columns in widths:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(take(Path(directory), neovim, columns, target))
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(map(int, sys.argv[2:])) or WIDTHS)
