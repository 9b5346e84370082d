"""A new store is a copy of an empty one, instead of running every migration anew for each test.

The template is what the migrations themselves have made, the first time that they ran in this process.
"""

from __future__ import annotations

import sqlite3
import threading
from contextvars import Context
from typing import Any

from playhouse.migrations import Runner

_lock = threading.Lock()
_templates: dict[str, sqlite3.Connection] = {}
"""In memory, by the folder of the migrations."""


class CopyingRunner(Runner):  # type: ignore[misc]  # peewee is not typed
    """Brings a store up to date. One in which nothing is yet becomes a copy of the template."""

    def up(self, *arguments: Any, **more: Any) -> list[str]:
        status = self.status()
        if arguments or more or any(each.applied for each in status):
            names: list[str] = super().up(*arguments, **more)
            return names
        with _lock:
            if (template := _templates.get(self.directory)) is not None:
                template.backup(self.database.connection())
                return [each.name for each in status]
            names = super().up()
            # In a context of its own: it outlives a simulated process that happens to be the first to need it.
            template = Context().run(sqlite3.connect, ":memory:", check_same_thread=False)
            self.database.connection().backup(template)
            _templates[self.directory] = template
            return names
