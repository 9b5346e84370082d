"""The input history, kept in the user's state folder, which only the user can read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_state_path
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from palimpsest.terminal import texts
from palimpsest.terminal.render import clean


def open_history() -> tuple[History, str | None]:
    """The history, and a sentence when it lasts for this run only; otherwise None."""
    path = user_state_path("palimpsest", appauthor=False) / "history"
    try:
        _ensure_private(path)
    except OSError as error:
        return InMemoryHistory(), texts.no_history(str(error))
    return _PrivateHistory(str(path)), None


def _ensure_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if hasattr(os, "fchmod"):
            # Other users may be able to read an older or copied file.
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


class _PrivateHistory(FileHistory):
    """A full disk or a missing file loses history, but never the typed message."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            yield from super().load_history_strings()
        except OSError:
            return

    def store_string(self, string: str) -> None:
        try:
            super().store_string(clean(string))
        except OSError:
            return
