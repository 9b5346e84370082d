"""Kate, on a screen that nobody sees, set up by its recipe in editors/README.md: a stale fact is shown and settled, a
chat document begun and answered. Pictures are kept where `TEST_PALIMPSEST_SCREENS` says."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import pytest
from tests.clients.fake_provider import FakeProvider
from tests.editors.shop import ANSWER, MARKER, QUESTION, Shop, artefact, recipe, until

_NEEDED: Final = {
    "kate": "kate",
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "import": "imagemagick",
    "dbus-run-session": "dbus-daemon",
}
_MISSING: Final = [package for program, package in _NEEDED.items() if shutil.which(program) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(_MISSING), reason=f"not installed (Debian): {', '.join(_MISSING)}"),
]
_TRY_S: Final = 2
"""How long an action has until it is tried again: a menu that is still filling swallows keys."""


class Kate:
    """Kate with both files open, the chat document shown."""

    def __init__(self, shop: Shop, variables: dict[str, str]) -> None:
        self.shop, self._variables = shop, variables
        self._n_kept = 0

    async def run(self, *command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *command, env=self._variables, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        said, _ = await process.communicate()
        return said.decode()

    async def keys(self, *keys: str) -> None:
        await self.run("xdotool", "key", "--delay", "80", *keys)

    async def focus(self) -> None:
        """Waits for the window, makes it as large as the screen and gives it the keyboard."""
        found = await self.run("xdotool", "search", "--sync", "--onlyvisible", "--class", "kate")
        window = found.split()[-1]
        await self.run("xdotool", "windowsize", "--sync", window, "1200", "800")
        await self.run("xdotool", "windowfocus", window)

    async def press_until(self, holds: Callable[[], bool], *keys: str) -> None:
        """Presses the keys, again and again, until something holds."""
        for _ in range(20):
            await self.keys(*keys)
            with contextlib.suppress(AssertionError):
                await until(holds, str, _TRY_S)
                return
        raise AssertionError(self.shop.said())

    async def choose_first(self, command: str) -> None:
        """Carries out the first code action, which is to run this command."""

        def n_run() -> int:
            return self.shop.heard().count(f'"command": "{command}"')

        def n_asked() -> int:
            return self.shop.heard().count("textDocument/codeAction")

        n_before, n_asked_before = n_run(), n_asked()
        await self.press_until(lambda: n_asked() > n_asked_before, "Escape", "Escape", "Escape", "alt+l", "c")
        await self.press_until(lambda: n_run() > n_before, "Return")

    async def keep(self, what: str) -> None:
        self._n_kept += 1
        if (place := artefact(f"kate-{self._n_kept}-{what}.png")) is not None:
            await self.run("import", "-window", "root", str(place))


@pytest.fixture
async def kate(tmp_path: Path, fake: FakeProvider) -> AsyncIterator[Kate]:
    shop = Shop(tmp_path, fake)
    await shop.stock()
    settings = tmp_path / "config" / "kate" / "lspclient"
    settings.mkdir(parents=True)
    (settings / "settings.json").write_text(recipe("Kate"))
    allowed = f"[lspclient]\nAllowedServerCommandLines={tmp_path / 'bin' / 'palimpsest'} serve --stdio\n"
    (tmp_path / "config" / "katerc").write_text(f"[Kate Plugins]\nlspclientplugin=true\n\n{allowed}")
    running = tmp_path / "run"
    running.mkdir(mode=0o700)
    number, place = os.pipe()
    variables = {**shop.variables, "XDG_RUNTIME_DIR": str(running), "QT_QPA_PLATFORM": "xcb"}
    screen = await asyncio.create_subprocess_exec(
        *("Xvfb", "-displayfd", str(place), "-screen", "0", "1200x800x24", "-nolisten", "tcp"),
        pass_fds=[place],
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(place)
    try:
        with os.fdopen(number) as told:
            variables["DISPLAY"] = f":{(await asyncio.to_thread(told.readline)).strip()}"
        editor = await asyncio.create_subprocess_exec(
            *("dbus-run-session", "--", "kate", "--new", "--startanon", "prices.py", "plans.chat.md"),
            cwd=shop.folder,
            env=variables,
            start_new_session=True,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            yield Kate(shop, variables)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(editor.pid, signal.SIGTERM)
            await editor.wait()
    finally:
        screen.terminate()
        await screen.wait()


async def test_kate_begins_a_chat_and_settles_a_fact_by_the_recipe(kate: Kate) -> None:
    shop = kate.shop
    await kate.focus()
    await kate.keep("opened")
    await until(lambda: "stale-fact" in shop.said(), shop.said)
    await kate.choose_first("palimpsest.chat.open")
    await until(lambda: '"chat-empty"' in shop.said(), shop.said)
    await kate.keep("begun")
    await kate.run("xdotool", "type", "--delay", "30", QUESTION)
    await kate.choose_first("palimpsest.chat.send")

    def is_written() -> bool:
        """Kate removes blanks at line ends when it saves, so nothing is saved before all is written."""
        said = shop.said()
        return ANSWER in said and said.rfind("chat-empty") > said.rfind("workspace/applyEdit")

    await until(is_written, shop.said)

    def is_saved() -> bool:
        return (
            f"# {QUESTION}\n\n## 0 · you\n\n{QUESTION}\n\n## 1 · assistant\n\n{ANSWER}\n\n{MARKER}"
            in shop.plans.read_text()
        )

    await kate.press_until(is_saved, "ctrl+s")
    await kate.keep("answer")
    await kate.keys("alt+Left")  # the other tab
    await kate.keys("alt+l", "d")  # the tab of diagnostics
    await kate.keep("stale fact")
    await kate.choose_first("palimpsest.fact.verify")
    await until(lambda: '"isStale":false' in shop.said(), shop.said)
    await kate.keep("settled")
    assert '"method":"palimpsest/' not in shop.said(), "an editor that did not ask was sent a notification of ours"
    await shop.check_settled()
