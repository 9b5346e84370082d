"""Reading a database in a place where nothing can be written: a full disk, or one that may only be read.

SQLite needs to write beside a database to share it. So the rows are read from the database itself where SQLite can do
that; from the file alone where no log is beside it, because then nobody has it open; else from a copy of both in the
folder for temporary files, which is removed afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ReadingSource:
    """The database that is read."""

    uri: str
    """The address in SQLite's form."""
    copy: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Removes the copy, if there is one. Called after its connections were closed."""
        if self.copy is not None:
            self.copy.cleanup()


def find_source(database: Path) -> ReadingSource | None:
    """The source that the database can be read from; None when it cannot be read. Blocking."""
    log = database.with_name(f"{database.name}-wal")
    try:
        if not database.stat().st_size:
            return None
        source = ReadingSource(f"{database.as_uri()}?mode=ro")
        if _can_be_read(source):
            return source
        if not log.exists() or not log.stat().st_size:
            source = ReadingSource(f"{database.as_uri()}?mode=ro&immutable=1")
        else:
            copy = tempfile.TemporaryDirectory(prefix="palimpsest-")  # only its owner may look into it
            for each in (database, log):
                shutil.copyfile(each, os.path.join(copy.name, each.name))
            source = ReadingSource(Path(copy.name, database.name).as_uri(), copy)
        if _can_be_read(source):
            return source
        source.close()
    except OSError:
        pass
    return None


def is_writable(directory: Path) -> bool:
    """Whether a file of some size can be made there. Blocking."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(1 << 18))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return False
    return True


def _can_be_read(source: ReadingSource) -> bool:
    try:
        with contextlib.closing(sqlite3.connect(source.uri, uri=True)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.Error:
        return False
    return True
