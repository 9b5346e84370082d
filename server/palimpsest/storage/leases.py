"""Leases: one writer of a conversation at a time, fenced by an epoch.

No clock is involved: a lease belongs to a server, and the server's lock file proves whether it is alive. Every write of
a turn checks server and epoch in its own transaction, so a server that lost its lease can write nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.domain.errors import ConversationBusy, LeaseLost
from palimpsest.domain.messages import ConversationId
from palimpsest.storage.sql import execute


@dataclass(frozen=True, slots=True)
class Writer:
    """The server that writes a conversation, and the time: `Store.writer` makes one for each unit of work."""

    server_id: str
    is_alive: Callable[[str | None], bool]
    """Whether the server with that id still runs; False for None."""
    now: str
    """In UTC, as every time in the store."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """The right to write a conversation, until it is released or taken over."""

    conversation_id: ConversationId
    server_id: str
    epoch: int


def acquire(writer: Writer, conversation_id: ConversationId, holder: str) -> HeldLease:
    """Takes the lease for `holder` (words for people, such as `a turn`).

    Raises ConversationBusy, with the name of the other holder, while a live server holds it. The lease of a dead server
    is taken over with a new epoch; `turns.take`, through which every caller takes conversations, closes the turns that
    the dead one left open.
    """
    row = execute("SELECT server, holder, epoch FROM lease WHERE conversation = ?", conversation_id).fetchone()
    server, last_holder, last_epoch = row or (None, None, 0)
    if server is not None and writer.is_alive(server):
        raise ConversationBusy(last_holder or "another request")
    epoch = last_epoch + 1
    execute(
        "INSERT OR REPLACE INTO lease (conversation, epoch, server, holder, acquired_at) VALUES (?, ?, ?, ?, ?)",
        *(conversation_id, epoch, writer.server_id, holder, writer.now),
    )
    return HeldLease(conversation_id, writer.server_id, epoch)


def check(lease: HeldLease) -> None:
    """Raises LeaseLost when the conversation has another writer now."""
    if holder_of(lease.conversation_id) != lease:
        raise LeaseLost("Another server has taken this conversation over. Read it again, then go on.")


def release(lease: HeldLease) -> None:
    """Lets the next writer in. The epoch stays, so it is never used twice. A no-op when another writer has the lease
    now."""
    execute(
        "UPDATE lease SET server = NULL, holder = NULL WHERE conversation = ? AND server = ? AND epoch = ?",
        *(lease.conversation_id, lease.server_id, lease.epoch),
    )


def holder_of(conversation_id: ConversationId) -> HeldLease | None:
    """The lease that is held now; None when the conversation is free."""
    row = execute("SELECT server, epoch FROM lease WHERE conversation = ?", conversation_id).fetchone()
    return None if row is None or row[0] is None else HeldLease(conversation_id, *row)
