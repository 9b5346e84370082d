"""A folder with a stale fact, an empty chat document, and a `palimpsest` whose conversation with the editor is kept.

For editors without a plugin of ours: each is set up by its recipe in editors/README.md.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.real_server import editor, home, on_fake

ROOT: Final = Path(__file__).parents[2]
FACT: Final = "The tax rate is 0.19."
WARNING: Final = "This line was `RATE = 0.19` and is now `RATE = 0.2`."
QUESTION: Final = "Where does it grow?"
ANSWER: Final = "It grows here."
BEGIN: Final = "Begin a conversation here"
MARK: Final = "Mark as still true"
MARKER: Final = "<!-- palimpsest-input"
WAIT_S: Final = 60
_POLL_S: Final = 0.1

_TEE: Final = """#!/bin/sh
tee -a {heard} | {python} -P -m palimpsest "$@" | tee -a {said}
"""


def recipe(editor_name: str) -> str:
    """The first block of code of an editor's recipe."""
    page = (ROOT / "editors/README.md").read_text()
    form = rf"^### {re.escape(editor_name)}: tested.*?^```\w+\n(.*?)^```$"
    (found,) = re.findall(form, page, re.DOTALL | re.MULTILINE)
    return str(found)


async def until(holds: Callable[[], bool], what: Callable[[], str], timeout_s: float = WAIT_S) -> None:
    """Waits until something holds in another process. `what`: what there is instead, for a failure."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, what()
        await asyncio.sleep(_POLL_S)


class Shop:
    """The folder, and the variables with which an editor is started in it."""

    def __init__(self, directory: Path, fake: FakeProvider) -> None:
        self._directory = directory
        self.folder = directory / "shop"
        self.prices, self.plans = self.folder / "prices.py", self.folder / "plans.chat.md"
        self._heard, self._said = directory / "heard", directory / "said"
        self._model = on_fake(fake.url)
        fake.script += [Reply(text=ANSWER)]

    async def stock(self) -> None:
        """Notes the fact, then changes its line."""
        (self.folder / ".git").mkdir(parents=True)
        self.prices.write_text("RATE = 0.19\n\n\ndef gross(net):\n    return net * (1 + RATE)\n")
        self.plans.touch()
        async with editor(self._directory, self.folder) as noting:
            place = {"fileUri": self.prices.as_uri(), "startLine": 0, "endLine": 0}
            await noting.client.result("palimpsest/facts/pin", {"content": FACT} | place)
        self.prices.write_text(self.prices.read_text().replace("0.19", "0.2"))
        binaries = self._directory / "bin"
        binaries.mkdir()
        script = binaries / "palimpsest"
        script.write_text(_TEE.format(heard=self._heard, python=sys.executable, said=self._said))
        script.chmod(0o755)
        for each in (self._heard, self._said, self._directory / "home"):
            each.mkdir() if each.name == "home" else each.touch()

    @property
    def variables(self) -> dict[str, str]:
        paths = {
            "PATH": f"{self._directory / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT / 'server'}:{ROOT / 'clients'}",
        }
        words = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        return {**os.environ, **home(self._directory, **self._model), **paths, **words}

    def heard(self) -> str:
        """Everything that the editor has sent."""
        return self._heard.read_text(errors="replace")

    def said(self) -> str:
        """Everything that the server has sent."""
        return self._said.read_text(errors="replace")

    async def check_settled(self) -> None:
        """The fact is no longer stale, and is the same, once the file was looked at."""
        found: list[tuple[str, bool]] = []
        async with editor(self._directory, self.folder) as asking, asyncio.timeout(WAIT_S):
            while found != [(FACT, False)]:
                listed = await asking.client.result("palimpsest/facts/list", {})
                found = [(each["content"], each["isStale"]) for each in listed["facts"]]


def artefact(name: str) -> Path | None:
    """Where a picture or a screen is kept, in `TEST_PALIMPSEST_SCREENS`; None when nothing is kept."""
    kept = os.environ.get("TEST_PALIMPSEST_SCREENS")
    if not kept:
        return None
    Path(kept).mkdir(parents=True, exist_ok=True)
    return Path(kept) / name
