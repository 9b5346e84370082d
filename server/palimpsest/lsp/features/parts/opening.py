"""Work-done progress while a folder is opened whose store an older version has made: a large one takes seconds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.lsp.features.feature import Feature
from palimpsest.machine import machine

if TYPE_CHECKING:
    from palimpsest.domain.upgrade import Upgrade
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.folders import Folders

TITLE: Final = "Bringing the conversations of {folder} up to date"


class OpeningProgress(Feature):
    """Shows one progress for each such folder that the connection holds, in editors that show progress."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._unwatch: Callable[[], None] | None = None
        self._shown: dict[Path, _Progress] = {}

    def on_folders(self, folders: Folders) -> None:
        if self._unwatch is None:
            self._unwatch = folders.watch_upgrades(self._hear)

    def _hear(self, root: Path, upgrade: Upgrade | None) -> None:
        window = self._server.client_capabilities.window
        if upgrade is None:
            if (ended := self._shown.pop(root, None)) is not None:
                ended.end()
        elif (shown := self._shown.get(root)) is not None:
            shown.step(upgrade)
        elif window is not None and window.work_done_progress and self._server.holds(root):
            self._shown[root] = _Progress(self._server, root, upgrade)

    async def on_stop(self) -> None:
        if self._unwatch is not None:
            self._unwatch()
        for each in self._shown.values():
            each.stop()


class _Progress:
    """One progress: the editor creates it, then hears of each step. The end may come before it has created it."""

    def __init__(self, server: PalimpsestServer, root: Path, upgrade: Upgrade) -> None:
        self._server, self._root, self._upgrade = server, root, upgrade
        self._token = machine.new_id()
        self._is_created = False
        self._creating = asyncio.create_task(self._create(), name="create progress")

    async def _create(self) -> None:
        with contextlib.suppress(JsonRpcException):
            await self._server.window_work_done_progress_create_async(lsp.WorkDoneProgressCreateParams(self._token))
            self._is_created = True
            title = TITLE.format(folder=self._root.name)
            self._report(lsp.WorkDoneProgressBegin(title, message=_message(self._upgrade), percentage=0))
            self.step(self._upgrade)

    def step(self, upgrade: Upgrade) -> None:
        self._upgrade = upgrade
        if self._is_created:
            percentage = 100 * upgrade.n_done // upgrade.n_steps
            self._report(lsp.WorkDoneProgressReport(message=_message(upgrade), percentage=percentage))

    def end(self) -> None:
        self.stop()
        if self._is_created:
            self._report(lsp.WorkDoneProgressEnd())

    def stop(self) -> None:
        """Waits for the editor no longer."""
        self._creating.cancel()

    def _report(self, value: lsp.WorkDoneProgressBegin | lsp.WorkDoneProgressReport | lsp.WorkDoneProgressEnd) -> None:
        self._server.progress(lsp.ProgressParams(self._token, value))


def _message(upgrade: Upgrade) -> str:
    if not upgrade.n_done:
        return "keeping a copy of them first"
    return f"step {upgrade.n_done + 1} of {upgrade.n_steps}"
