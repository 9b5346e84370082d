"""Emptying the files of a store while another process is at work on them."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

import pytest

from palimpsest.services.conversation.purge import empty_log
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.store import open_store

CHECKPOINT = (
    "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX, 1, 121); print(); input()"
)
"""Holds the lock of a checkpoint, which is on that byte (sqlite.org/walformat.html, "WAL Locks")."""


@pytest.mark.skipif(sys.platform == "win32", reason="file locks are POSIX's here")
async def test_a_purge_waits_for_a_checkpoint_of_another_process(tmp_path: Path) -> None:
    """SQLite does not: of two servers that purged one store a third failed, with the advice to close other windows."""
    store = await open_store(tmp_path)
    pipe = asyncio.subprocess.PIPE
    shm = str(tmp_path / f"{DATABASE_NAME}-shm")
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", CHECKPOINT, shm, stdin=pipe, stdout=pipe)
    assert other.stdout is not None
    await other.stdout.readline()
    emptying = asyncio.create_task(empty_log(tmp_path))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(emptying), 1)  # raises when it does not wait
    await other.communicate(b"\n")
    await emptying
    await store.close()
