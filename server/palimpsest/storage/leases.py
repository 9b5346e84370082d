"""One writer of a conversation at a time, fenced by an epoch (DESIGN §7).

No clock is involved: a lease belongs to a server, and the server's lock file proves whether it is alive. Every write
of a turn checks server and epoch in its own transaction, so a server that lost its lease can write nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.errors import ConversationBusy, LeaseLost
from palimpsest.domain.messages import ConversationId
from palimpsest.storage.tables import Lease

TURN: Final = "a turn"
"""The holder of a lease that a turn has."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """The right to write a conversation, until it is released or taken over."""

    conversation_id: ConversationId
    server_id: str
    epoch: int


def acquire(
    conversation_id: ConversationId, server_id: str, holder: str, is_alive: Callable[[str | None], bool], now: str
) -> HeldLease:
    """The lease for `holder` (words for people, such as `a turn`).

    Raises ConversationBusy, naming the first holder, while a live server holds it. The lease of a dead server is
    taken over with a new epoch; the caller closes what the dead one left open.
    """
    row = Lease.get_or_none(Lease.conversation == conversation_id)
    if row is not None and row.server is not None and is_alive(row.server):
        raise ConversationBusy(row.holder or "another request")
    epoch = 1 if row is None else row.epoch + 1
    Lease.insert(
        conversation=conversation_id, epoch=epoch, server=server_id, holder=holder, acquired_at=now
    ).on_conflict_replace().execute()
    return HeldLease(conversation_id, server_id, epoch)


def check(lease: HeldLease) -> None:
    """Raises LeaseLost when the conversation has another writer now."""
    row = Lease.get_or_none(Lease.conversation == lease.conversation_id)
    if row is None or (row.server, row.epoch) != (lease.server_id, lease.epoch):
        raise LeaseLost("Another server has taken this conversation over. Read it again, then go on.")


def release(lease: HeldLease) -> None:
    """Lets the next writer in. The epoch stays, so it is never used twice."""
    Lease.update(server=None, holder=None).where(
        Lease.conversation == lease.conversation_id, Lease.server == lease.server_id, Lease.epoch == lease.epoch
    ).execute()


def holder_of(conversation_id: ConversationId) -> HeldLease | None:
    """The lease as it is held now; None when the conversation is free."""
    row = Lease.get_or_none(Lease.conversation == conversation_id)
    return None if row is None or row.server is None else HeldLease(conversation_id, row.server, row.epoch)
