"""Purging: the one way in which something is deleted."""

from __future__ import annotations

import attrs

from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.areas.usage import ContextUsage
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class PurgeParams(Wire):
    """Delete what was said, for good. Messages keep their ids, roles, times and digests, and nothing else."""

    conversation_id: str
    """The conversation."""
    range: MessageRange | None = None
    """The messages, widened to whole exchanges. Absent: the whole conversation; of a fork, what was said since."""
    confirm: bool | None = None
    """Whether the user has confirmed it. Unless true, nothing is deleted, and the error says what would be."""


@attrs.frozen(eq=False, repr=False)
class PurgeResult(Wire):
    """What was deleted. It is in no file of the store any more, nor in the copies that were kept of it."""

    purged: MessageRange
    """The messages."""
    message_count: int
    """How many of them still had their content."""
    summary_count: int
    """How many summaries that covered some of them went too."""
    also_purged: list[str]
    """Other conversations, forks or what this one was forked from, that had the same messages: gone there too."""
    usage: ContextUsage
    """How full the context is now."""
    set_aside: list[str]
    """Folders with damaged stores that were set aside: they may still hold it. Delete them if you do not need them."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/conversation/purge",
        PurgeParams,
        PurgeResult,
        "Delete messages, or all of a conversation, for good: content, previews, summaries and search entries.",
    ),
)
