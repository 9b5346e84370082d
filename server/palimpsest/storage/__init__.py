"""Everything durable: one SQLite file per workspace folder. The only package that knows SQL.

The functions of its modules run inside `Store.run`, `Store.read` or `Store.search`: one call is one transaction. Where
a call needs a `Writer` or a `HeldLease`, it comes first; values follow, and the time comes last.

A statement is plain SQL beside its function (`sql.execute`): peewee takes many times as long to make a statement as
SQLite takes to carry it out. Only `lifecycle` and `maintenance`, whose work is rare and with whole rows, use the models
of `tables`; an import contract holds the other modules to that.
"""

from __future__ import annotations

import importlib
import sys

_DRIVERS = ("psycopg", "psycopg2")


def _import_peewee() -> None:
    """peewee and playhouse import every driver of databases that they find, for classes that nobody here uses; that of
    a hub takes 60 ms. They find none while they are imported here, before any module of the storage imports them."""
    hidden = [name for name in _DRIVERS if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        importlib.import_module("playhouse.migrations")
    finally:
        for name in hidden:
            del sys.modules[name]


_import_peewee()
