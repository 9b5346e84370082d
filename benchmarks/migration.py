"""How long the first opening of a large old store takes, beside a copy of its file.

    python -m benchmarks.migration [MIB]

The oldest store that there is data of (`tests/data/old_version`) gets made-up messages (seeded) in its own schema until
its file has MIB (1,024) MiB. It is opened by today's code, which keeps a backup and applies each migration; what may
come later, such as the index of its words, is not waited for. The copy is read and written in pieces, and synced.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Size, beside, numbers, show
from benchmarks.prepare import text

from palimpsest.machine import utc_now
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.store import open_store

SEED: Final = 20261128
OLD: Final = Path(__file__).parent.parent / "tests" / "data" / "old_version" / "store.db.gz"
_MESSAGE_WORDS: Final = 600
_AT_ONCE: Final = 1_000
_PER_CONVERSATION: Final = 2_000


def grow(file: Path, n_mib: float) -> int:
    """Adds messages; the number of them."""
    chance = random.Random(SEED)
    texts = [json.dumps({"role": "user", "parts": [{"text": text(chance, _MESSAGE_WORDS)}]}) for _ in range(100)]
    database = sqlite3.connect(file)
    n_added = 0
    while file.stat().st_size < n_mib * (1 << 20):
        number, place = divmod(n_added, _PER_CONVERSATION)
        conversation = f"{number:032x}"
        if not place:
            columns = (
                "id, title, has_user_title, model, next_message_id, head_digest, change_seq, created_at, updated_at"
            )
            values = (conversation, "", 0, "offline", _PER_CONVERSATION, "0" * 64, number, utc_now(), utc_now())
            database.execute(f"INSERT INTO conversation ({columns}) VALUES ({', '.join('?' * 9)})", values)
        rows = [
            (conversation, place + n, utc_now(), 1, "0" * 64, "0" * 64, chance.choice(texts)) for n in range(_AT_ONCE)
        ]
        columns = "conversation, message_id, created_at, digest_version, content_digest, digest, content"
        database.executemany(f"INSERT INTO message ({columns}) VALUES ({', '.join('?' * 7)})", rows)
        database.commit()
        n_added += _AT_ONCE
    database.close()
    return n_added


def copy(source: Path, target: Path) -> float:
    """Seconds."""
    began = time.perf_counter()
    with source.open("rb") as read, target.open("wb") as written:
        shutil.copyfileobj(read, written, 1 << 20)
        written.flush()
        os.fsync(written.fileno())
    return time.perf_counter() - began


async def migrate(directory: Path) -> float:
    """Seconds."""
    began = time.perf_counter()
    store = await open_store(directory)
    took = time.perf_counter() - began
    await store.close()
    return took


def measure(n_mib: float) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name, "store")
        directory.mkdir(mode=0o700)
        file = directory / DATABASE_NAME
        file.write_bytes(gzip.decompress(OLD.read_bytes()))
        file.chmod(0o600)
        n_messages = grow(file, n_mib)
        pair = (copy(file, Path(name, "copy")), asyncio.run(migrate(directory)))
    what = f"opening a file of {n_mib:,.0f} MiB ({n_messages:,} messages) of the oldest version"
    later = "its words are found later: they are indexed behind it"
    return [beside(what, [pair], "a copy of the file", 3, "s", note=later)]


def figures(size: Size) -> list[Figure]:
    return measure(1_024 if size is Size.FULL else 8)


if __name__ == "__main__":
    show(measure(*numbers(__doc__, MIB=1_024)))
