"""Each content is kept once, for as long as anything refers to it, and its digest says whether it is still the same."""

from __future__ import annotations

import pytest
from tests.storage.test_store import NOW, C, store

from palimpsest.domain.errors import StoreError
from palimpsest.domain.messages import Digest, user_message
from palimpsest.storage import contents
from palimpsest.storage.conversation import message_log
from palimpsest.storage.sql import execute
from palimpsest.storage.store import Store

__all__ = ["store"]
DATA = bytes(range(256)) * 20


def keep_for(n_messages: int) -> Digest:
    """The digest of `DATA`, to which the first messages refer."""
    digest = contents.keep(DATA)
    for (row_id,) in execute("SELECT id FROM message ORDER BY id LIMIT ?", n_messages).fetchall():
        execute("INSERT INTO message_content (message, digest) VALUES (?, ?)", row_id, digest)
    return digest


async def test_a_content_is_kept_once_and_until_its_last_user_goes(store: Store) -> None:
    await store.run(message_log.append, C, [user_message("one"), user_message("two")], NOW)
    digest = await store.run(keep_for, 2)
    assert await store.run(contents.keep, DATA) == digest
    assert await store.read(contents.size, "message_content") == len(DATA)
    for left in (DATA, None):

        def remove_one() -> None:
            execute("DELETE FROM message_content WHERE message = (SELECT MIN(message) FROM message_content)")
            contents.forget([digest])

        await store.run(remove_one)
        assert await store.read(contents.read, digest) == left


async def test_a_content_that_is_in_use_cannot_be_removed(store: Store) -> None:
    await store.run(message_log.append, C, [user_message("one")], NOW)
    digest = await store.run(keep_for, 1)
    with pytest.raises(StoreError):
        await store.run(execute, "DELETE FROM content")
    assert await store.read(contents.read, digest) == DATA


async def test_a_changed_content_is_not_given_out(store: Store) -> None:
    await store.run(message_log.append, C, [user_message("one")], NOW)
    digest = await store.run(keep_for, 1)
    await store.run(execute, "UPDATE content SET bytes = ?", DATA[:-1])
    assert await store.read(contents.read, digest) is None
