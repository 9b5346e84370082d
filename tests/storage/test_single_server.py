"""Where file locks do not work, one server writes and says so; a second one reads, and refuses to write with a sentence
that gives the reason and advice."""

from __future__ import annotations

import errno
import fcntl
import stat
from pathlib import Path

import pytest

from palimpsest.domain.errors import StoreError
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.server_locks import ONLY_SERVER_NAME
from palimpsest.storage.store import open_store

C, NOW = ConversationId("c"), "2026-01-01T00:00:00.000Z"


@pytest.fixture(params=[errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, None], ids=str)
def _no_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems that refuse to lock, and one that says it did and keeps nobody out."""

    def flock(_fd: int, _operation: int) -> None:
        if request.param is not None:
            raise OSError(request.param, "no locks here")

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.usefixtures("_no_locks")
async def test_one_server_writes_where_locks_do_not_work_and_a_second_only_reads(tmp_path: Path) -> None:
    first = await open_store(tmp_path)
    assert "File locks do not work" in first.notes[0]
    await first.run(conversations.create, C, "", "offline", NOW)
    await first.run(message_log.append, C, [user_message("kept")], NOW)
    assert stat.S_IMODE((tmp_path / ONLY_SERVER_NAME).stat().st_mode) == 0o600

    second = await open_store(tmp_path)
    assert (await second.read(conversations.get, C)).n_messages == 1
    with pytest.raises(StoreError, match=r"this one only reads\. Close the other window"):
        await second.run(message_log.append, C, [user_message("refused")], NOW)
    assert second.is_alive(first.server_id), "a server that may be alive was called dead"
    await second.close()
    assert (tmp_path / ONLY_SERVER_NAME).exists(), "the second server let others write"

    await first.run(message_log.append, C, [user_message("too")], NOW)
    await first.close()
    third = await open_store(tmp_path)
    await third.run(message_log.append, C, [user_message("again")], NOW)
    assert not third.is_alive(first.server_id)
    await third.close()


async def test_where_locks_work_there_is_nothing_to_say(tmp_path: Path) -> None:
    stores = [await open_store(tmp_path) for _ in range(2)]
    assert [(each.notes, each.refusal) for each in stores] == [((), None), ((), None)]
    assert not (tmp_path / ONLY_SERVER_NAME).exists()
    for each in stores:
        await each.close()
