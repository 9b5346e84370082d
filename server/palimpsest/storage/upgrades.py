"""Bringing a store of an older version up to date: a copy is kept, then each migration is applied."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from peewee import SqliteDatabase
from playhouse.migrations import Runner

from palimpsest.domain.errors import StoreError
from palimpsest.domain.upgrade import TellUpgrade, Upgrade
from palimpsest.storage import backups
from palimpsest.storage.directory import DATABASE_NAME

MIGRATIONS: Final = Path(__file__).with_name("migrations")


def is_current(database: SqliteDatabase) -> bool:
    """Whether the store has the schema of this version."""
    return all(each.path is not None and each.applied for each in Runner(database, str(MIGRATIONS)).status())


def require_known(database: SqliteDatabase, directory: Path) -> None:
    """Raises StoreError when a newer version has changed the schema of the store."""
    if newer := [each.name for each in Runner(database, str(MIGRATIONS)).status() if each.path is None]:
        raise StoreError(
            f"The store in {directory} was last used by a newer Palimpsest ({', '.join(newer)}), and this version "
            "cannot read it. Install the newest Palimpsest, then open the folder again; nothing was changed."
        )


def upgrade(database: SqliteDatabase, directory: Path, tell: TellUpgrade) -> None:
    """Makes the schema of a new store, or applies to an older one what it lacks. Each migration is one transaction, so
    a server that dies leaves the store between two of them."""
    runner = Runner(database, str(MIGRATIONS))
    status = runner.status()
    lacking = [each.name for each in status if not each.applied]
    if len(lacking) in (0, len(status)):
        runner.up()
        return
    tell(Upgrade(0, 1 + len(lacking)))
    backups.keep(directory / DATABASE_NAME, "migration")
    for n_applied, name in enumerate(lacking):
        tell(Upgrade(1 + n_applied, 1 + len(lacking)))
        runner.up(name)
