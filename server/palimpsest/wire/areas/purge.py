"""Purging, the only way to delete messages."""

from __future__ import annotations

import attrs

from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.areas.sharing import StoreInfo
from palimpsest.wire.areas.usage import ContextUsage
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class PurgeParams(Wire):
    """Messages to delete for good. Only their ids, roles, times and digests are kept."""

    conversation_id: str
    """The conversation."""
    range: MessageRange | None = None
    """The messages, widened to whole exchanges. Absent: the whole conversation; for a fork, all messages since the
    fork."""
    confirm: bool | None = None
    """Whether the user has confirmed it. If it is not true, nothing is deleted, and the error says what would be
    deleted."""


@attrs.frozen(eq=False, repr=False)
class PurgeResult(Wire):
    """The deleted messages. Their text is in no file of the store any more, and in none of its backups."""

    purged: MessageRange
    """The range of the deleted messages."""
    message_count: int
    """How many of them still had their content."""
    summary_count: int
    """How many summaries that covered some of them were deleted too."""
    also_purged: list[str]
    """Other conversations with the same messages (forks, or the original of a fork). The messages are deleted there
    too."""
    usage: ContextUsage
    """How full the context is now."""
    set_aside: list[str]
    """Folders with damaged stores that were set aside and may still contain the messages. The user can delete them."""
    seq: int | None = None
    """For a shared conversation: the number of the purge in its log. A store has applied the purge when its
    `appliedSeq` is at least this; ask `conversation/members` again to see how far it has come."""
    stores: list[StoreInfo] | None = None
    """For a shared conversation: the stores that have it. Absent also when the hub could not be asked."""
    is_pending: bool | None = None
    """True when the hub could not be asked: it and the other stores purge when it is back. Absent otherwise."""


@attrs.frozen(eq=False, repr=False)
class PurgePlanParams(Wire):
    """Messages that may be purged."""

    conversation_id: str
    """The conversation."""
    range: MessageRange | None = None
    """The messages, widened to whole exchanges. Absent: the whole conversation; for a fork, all messages since the
    fork."""


@attrs.frozen(eq=False, repr=False)
class PurgePlan(Wire):
    """What a purge would delete."""

    messages: MessageRange
    """The range of the messages."""
    message_count: int
    """How many of them still have their content."""
    summary_count: int
    """How many summaries would go with them."""
    fact_count: int
    """How many facts would go with them."""
    also_purged: list[str]
    """Other conversations that have the same messages and would lose them."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/conversation/purge",
        PurgeParams,
        PurgeResult,
        "Delete messages or a whole conversation for good: content, previews, summaries and search entries.",
    ),
    Request(
        "palimpsest/conversation/purge/plan",
        PurgePlanParams,
        PurgePlan,
        "Tell what a purge would delete. Deletes nothing.",
    ),
)
