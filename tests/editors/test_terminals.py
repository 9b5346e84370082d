"""Editors on a terminal that know nothing but LSP, set up by their recipes in editors/README.md: a stale fact is shown
and settled, a chat document begun and answered."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from tests.clients.fake_provider import FakeProvider
from tests.editors.neovim import find_neovim, find_old_neovim
from tests.editors.screen import Screen
from tests.editors.shop import ANSWER, BEGIN, MARK, MARKER, QUESTION, WAIT_S, WARNING, Shop, recipe, until

_ELPA: Final = Path("/usr/share/emacs/site-lisp/elpa")
_ALE: Final = Path("/usr/share/vim-ale")
VIM_LSP: Final = "TEST_PALIMPSEST_VIM_LSP"
"""The variable that names a checkout of vim-lsp, which is in none of the registries."""
NO_PROBLEMS: Final = '"diagnostics":[]'
_TRIES: Final = 20
_NUMBERED: Final = r"(\d+)(?:[):.]| -) +"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux is installed"),
]


class TerminalEditor:
    """An editor that was started with `prices.py`."""

    asks: bool
    """Whether it asks its user whether to begin a conversation."""

    def __init__(self, screen: Screen, shop: Shop) -> None:
        self.screen, self.shop = screen, shop

    async def start(self, directory: Path) -> None:
        raise NotImplementedError

    async def show_problem(self) -> None:
        """Brings the warning on the screen."""

    async def choose(self, title: str) -> None:
        """Carries out a code action at the cursor."""
        raise NotImplementedError

    async def answer(self, title: str) -> None:
        """Answers the server's question."""
        raise NotImplementedError

    async def open(self, name: str) -> None:
        raise NotImplementedError

    async def type_below(self, text: str) -> None:
        """Types at the end of the document."""
        raise NotImplementedError


class Vim(TerminalEditor):
    """What vi and its descendants have in common."""

    asks = False

    async def open(self, name: str) -> None:
        await self.screen.keys(":")
        await self.screen.type(f"edit! {name}")
        await self.screen.keys("Enter")
        await self.screen.until(name)

    async def type_below(self, text: str) -> None:
        await self.screen.keys("G", "o")
        await self.screen.type(text)
        await self.screen.keys("Escape")

    async def pick(self, title: str) -> None:
        """Chooses from a numbered list."""
        shown = await self.screen.until(title, "Type number")
        number = re.findall(_NUMBERED + re.escape(title), shown)[-1]
        await self.screen.keys(number, "Enter")

    async def answer(self, title: str) -> None:
        await self.pick(title)


class Ale(Vim):
    async def start(self, directory: Path) -> None:
        init = directory / "init.vim"
        lines = ["set nocompatible hidden noswapfile", f"set runtimepath^={_ALE}", "filetype plugin on"]
        init.write_text("\n".join([*lines, recipe("Vim, ALE")]))
        await self.screen.start(["vim", "-i", "NONE", "-u", str(init), "prices.py"])

    async def choose(self, title: str) -> None:
        await self.screen.keys(":")
        await self.screen.type("ALECodeAction")
        await self.screen.keys("Enter")
        await self.pick(title)


class VimLsp(Vim):
    asks = True

    async def start(self, directory: Path) -> None:
        init = directory / "init.vim"
        lines = ["set nocompatible hidden noswapfile", f"set runtimepath^={os.environ[VIM_LSP]}", "filetype plugin on"]
        init.write_text("\n".join([*lines, recipe("Vim, vim-lsp")]))
        await self.screen.start(["vim", "-i", "NONE", "-u", str(init), "prices.py"])

    async def answer(self, title: str) -> None:
        shown = await self.screen.until(title, "Type number")
        await self.screen.keys(re.findall(_NUMBERED + re.escape(f"[palimpsest] {title}"), shown)[-1])
        await self.enter_until_gone("Type number")

    async def enter_until_gone(self, text: str) -> None:
        """A key that comes while Vim draws the question is lost."""
        for _ in range(_TRIES):
            await self.screen.keys("Enter")
            with contextlib.suppress(AssertionError):
                await self.screen.until(text, is_there=False, timeout_s=WAIT_S / _TRIES)
                return

    async def choose(self, title: str) -> None:
        await self.screen.keys(":")
        await self.screen.type("LspCodeAction")
        await self.screen.keys("Enter")
        await self.screen.until(f"[palimpsest] {title}")
        await self.screen.type(title)  # narrows the list
        await self.screen.until("Forget fact", is_there=False)
        await self.screen.keys("Enter")


class Neovim(Vim):
    asks = True

    async def start(self, directory: Path) -> None:
        init = directory / "init.lua"
        init.write_text("vim.o.swapfile = false\n" + recipe("Neovim without the plugin"))
        await self.screen.start([find_neovim()[0] or "", "-i", "NONE", "-u", str(init), "prices.py"])

    async def choose(self, title: str) -> None:
        await self.screen.keys("g", "r", "a")
        await self.pick(title)


class OldNeovim(Vim):
    asks = True

    async def start(self, directory: Path) -> None:
        init = directory / "init.lua"
        init.write_text("vim.o.swapfile = false\n" + recipe("Neovim before 0.11, without the plugin"))
        await self.screen.start([find_old_neovim() or "", "-i", "NONE", "-u", str(init), "prices.py"])

    async def choose(self, title: str) -> None:
        await self.screen.type(":lua vim.lsp.buf.code_action()")
        await self.screen.keys("Enter")
        await self.pick(title)


class Emacs(TerminalEditor):
    """What eglot and lsp-mode have in common."""

    asks = True
    recipe_name: str
    code_actions: str
    """The command for code actions."""
    prompt: str
    """The beginning of its own question."""
    question_end = ":"
    """The end of a question of the server."""

    async def start(self, directory: Path) -> None:
        init = directory / "init.el"
        settings = f"""(require 'package)
(setq package-user-dir (expand-file-name "elpa" "{directory}"))
(add-to-list 'package-directory-list "{_ELPA}")
(package-initialize)
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil)
(setq lsp-auto-guess-root t lsp-modeline-code-actions-enable nil)
(add-to-list 'auto-mode-alist '("\\\\.md\\\\'" . markdown-mode))
"""
        init.write_text(settings + recipe(self.recipe_name))
        await self.screen.start(["emacs", "-nw", "-Q", "-l", str(init), "prices.py"])

    async def run(self, command: str) -> None:
        await self.screen.keys("M-x")
        await self.screen.until("M-x")
        await self.screen.type(command)
        await self.screen.keys("Enter")

    async def show_problem(self) -> None:
        await until(lambda: WARNING in self.shop.said(), self.shop.said)
        await self.screen.until("[0 1", timeout_s=20)  # flymake counts one warning
        await self.run("flymake-goto-next-error")

    async def open(self, name: str) -> None:
        await self.screen.keys("C-x", "C-f")
        await self.screen.until("Find file")
        await self.screen.type(name)
        await self.screen.keys("Enter")
        await self.screen.until(name)

    async def type_below(self, text: str) -> None:
        await self.run("end-of-buffer")
        await self.screen.type(text)

    async def choose(self, title: str) -> None:
        await self.run(self.code_actions)
        await self.screen.until(self.prompt)
        await self.enter(title, ":")

    async def answer(self, title: str) -> None:
        await self.enter(title, self.question_end)

    async def enter(self, title: str, behind: str) -> None:
        """In the minibuffer blanks complete a word, so they are quoted. Keys that come before it listens are lost."""
        for _ in range(_TRIES):
            await self.screen.keys("C-a", "C-k")
            for number, word in enumerate(title.split(" ")):
                if number:
                    await self.screen.keys("C-q", "Space")
                await self.screen.type(word)
            with contextlib.suppress(AssertionError):
                await self.screen.until(f"{behind} {title}", timeout_s=WAIT_S / _TRIES)
                break
        await self.screen.keys("Enter")


class LspMode(Emacs):
    recipe_name, code_actions, prompt = "Emacs, lsp-mode", "lsp-execute-code-action", "Select code action"
    question_end = "?"

    async def choose(self, title: str) -> None:
        if title == MARK:
            await super().choose(title)
        else:  # where there is only one it is carried out at once
            await self.run(self.code_actions)


class Eglot(Emacs):
    recipe_name, code_actions, prompt = "Emacs, eglot", "eglot-code-actions", "Pick an action"


def _needs(name: str, *, is_there: bool, why_not: str, editor: type[TerminalEditor]) -> object:
    return pytest.param(editor, id=name, marks=pytest.mark.skipif(not is_there, reason=why_not))


def _elpa(name: str) -> bool:
    return shutil.which("emacs") is not None and bool(list(_ELPA.glob(f"{name}-[0-9]*")))


EDITORS: Final = [
    _needs(
        "ale",
        is_there=shutil.which("vim") is not None and _ALE.exists(),
        why_not="no vim with ALE is installed (Debian: vim, vim-ale)",
        editor=Ale,
    ),
    _needs(
        "vim-lsp",
        is_there=shutil.which("vim") is not None and VIM_LSP in os.environ,
        why_not=f"no vim, or no checkout of vim-lsp named by {VIM_LSP}",
        editor=VimLsp,
    ),
    _needs("neovim", is_there=find_neovim()[0] is not None, why_not=find_neovim()[1], editor=Neovim),
    _needs(
        "old-neovim",
        is_there=find_old_neovim() is not None,
        why_not="no Neovim before 0.11 is installed (Debian: neovim)",
        editor=OldNeovim,
    ),
    _needs(
        "lsp-mode",
        is_there=_elpa("lsp-mode") and _elpa("markdown-mode"),
        why_not="no emacs with lsp-mode is installed (Debian: emacs-nox, elpa-lsp-mode, elpa-markdown-mode)",
        editor=LspMode,
    ),
    _needs(
        "eglot",
        is_there=_elpa("eglot"),
        why_not="no emacs with eglot is installed (Debian: emacs-nox, elpa-eglot)",
        editor=Eglot,
    ),
]


@pytest.mark.parametrize("make", EDITORS)
async def test_a_stale_fact_is_settled_and_a_conversation_held_by_the_recipe(
    tmp_path: Path, fake: FakeProvider, make: Callable[[Screen, Shop], TerminalEditor], request: pytest.FixtureRequest
) -> None:
    shop = Shop(tmp_path, fake)
    await shop.stock()
    name = request.node.callspec.id
    async with Screen(name, shop.folder, shop.variables) as screen:
        editor = make(screen, shop)
        await editor.start(tmp_path)
        await screen.until("return net")
        await editor.show_problem()
        await screen.until(WARNING)
        await screen.keep("stale fact")
        await editor.choose(MARK)
        await until(lambda: shop.said().count(NO_PROBLEMS) == 1, shop.said)
        await screen.keep("settled")
        await editor.open("plans.chat.md")
        if editor.asks:
            await screen.until("Begin a conversation in plans.chat.md?")
            await screen.keep("question")
            await editor.answer(BEGIN)
        else:
            await editor.choose(BEGIN)
        await screen.until(MARKER)
        await until(lambda: '"chat-empty"' in shop.said(), shop.said)
        await editor.type_below(QUESTION)
        await until(lambda: shop.said().count(NO_PROBLEMS) == 2, shop.said)
        await screen.keep("typed")
        await editor.choose("Send")
        await screen.until("## 0 · you", ANSWER)
        await screen.keep("answer")
    assert '"method":"palimpsest/' not in shop.said(), "an editor that did not ask was sent a notification of ours"
    await shop.check_settled()
