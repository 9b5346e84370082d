"""The locks in the directory of a store: each server holds one for life, which proves that it is alive."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import Final

from filelock import FileLock, SoftFileLock, Timeout

ONLY_SERVER_NAME: Final = "only-server.lock"
"""A file that exists while a server writes in a place where file locks do not work."""
_MIGRATION_TIMEOUT_S: Final = 60
_LIVENESS_TIMEOUT_S: Final = 5
"""A server that asks whether another one is alive holds the other's lock for a moment."""
_NO_LOCKS: Final = frozenset((errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL))
"""The errors of a file system that has no locks."""


class ServerLock:
    """The lock of one server on one store. Where file locks do not work, the first server to come is the only one that
    may write."""

    def __init__(self, directory: Path, server_id: str) -> None:
        self._directory = directory
        self._server_id = server_id
        self._life = FileLock(_path(directory, server_id), thread_local=False, mode=0o600, fallback_to_soft=False)
        self._only = SoftFileLock(directory / ONLY_SERVER_NAME, thread_local=False, mode=0o600)
        self.locks_work = False
        """Whether file locks keep servers apart here; False before `take`."""
        self.is_only = False
        """Whether this server writes where locks do not work."""

    def take(self) -> None:
        """Takes the lock, or, where locks do not work, the place of the only server. Raises OSError."""
        self.locks_work = self._take_life()
        if not self.locks_work:
            with contextlib.suppress(Timeout):
                self._only.acquire(timeout=0)
                self.is_only = True

    def _take_life(self) -> bool:
        path = _path(self._directory, self._server_id)
        try:
            self._life.acquire(timeout=_LIVENESS_TIMEOUT_S)
            return _is_held(path)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            path.unlink(missing_ok=True)
            return False

    def is_alive(self, server_id: str) -> bool:
        """Whether that server still runs. Where no lock can tell, every other server counts as alive, unless this one
        is the only one."""
        if server_id == self._server_id:
            return True
        if not self.locks_work:
            return not self.is_only
        path = _path(self._directory, server_id)
        if _is_held(path):
            return True
        path.unlink(missing_ok=True)
        return False

    def release(self) -> None:
        """Lets go of everything. A no-op when nothing was taken."""
        self._life.release()
        self._only.release()
        with contextlib.suppress(OSError):
            _path(self._directory, self._server_id).unlink(missing_ok=True)


def migration_lock(directory: Path) -> FileLock:
    """The lock of the one server that brings the database up to date, or takes it out of the way. Raises Timeout."""
    return FileLock(directory / "migrate.lock", timeout=_MIGRATION_TIMEOUT_S, mode=0o600)


def live_servers(directory: Path) -> list[str]:
    """The ids of the servers that hold the store now. Changes nothing."""
    return [path.stem for path in sorted((directory / "servers").glob("*.lock")) if _is_held(path)]


def _is_held(path: Path) -> bool:
    probe = FileLock(path, thread_local=False, mode=0o600)
    try:
        probe.acquire(timeout=0)
    except Timeout:
        return True
    probe.release()
    return False


def _path(directory: Path, server_id: str) -> Path:
    return directory / "servers" / f"{server_id}.lock"
