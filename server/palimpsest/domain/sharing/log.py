"""The log of a shared conversation: one entry for each message, turn, hidden range, summary, title and purge.

A hub numbers the entries without a gap and never changes one, except that a purge takes the text of messages and
summaries away. Every store that has taken in the same entries holds the same conversation, byte for byte.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FORMAT: Final = 1
"""The format of the entries that this version writes, and the newest that it understands."""
MOST_BYTES: Final = 1 << 20
"""The most bytes of one entry's text. A longer message stays in its store, and the chain keeps its digests."""
LONGEST_TITLE: Final = 300
"""The most characters of a title."""


class EntryKind(StrEnum):
    """The kinds of entries. The values are in the hub."""

    MESSAGE = "message"
    TURN = "turn"
    """A turn that has ended."""
    HIDDEN = "hidden"
    """A range of messages that was rolled back."""
    SUMMARY = "summary"
    TITLE = "title"
    PURGE = "purge"
    """A purge that every store is to carry out. The hub makes it; nobody pushes one."""


class Missing(StrEnum):
    """Why an entry has no text. The values are in the hub."""

    PURGED = "purged"
    WITHHELD = "withheld"
    """It is too long, or the result of a tool that is not shared."""


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """What the entry of a message has beside its text."""

    message_id: int
    said_at: str
    """UTC, ISO 8601."""
    turn: str | None
    content_digest: str
    digest: str
    role: str
    digest_version: int = 1
    """2 when the digest covers the author (`conversation.chain`). It never falls within a conversation."""
    author: str | None = None
    """The member who said one that is pushed; None for the one who pushes it. Digests of version 2 cover it."""


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry that the hub does not have yet."""

    kind: EntryKind
    key: str
    """Tells entries of one kind apart, in every store alike: of a message its id, of a turn its id, else a digest."""
    body: str | None
    """Canonical JSON; None for a message whose text is not shared."""
    message: MessageEntry | None = None
    """None for every other kind."""
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as the hub has it. A member may have written anything into it."""

    seq: int
    """From 1, without a gap."""
    kind: str
    key: str
    author: str
    """The member who pushed it: the hub says so, not the member."""
    format: int
    body: str | None
    message: MessageEntry | None
    missing: str | None = None
    """As `Missing`; None with a body."""


@dataclass(frozen=True, slots=True)
class SharedConversation:
    """The header of a conversation in the hub."""

    team: str
    id: str
    parent: str | None
    fork_at: int
    """The first message of its own."""
    title: str
    model: str
    created_at: str
    channel: str
    """The name of the channel in which the hub tells of news."""
    head_seq: int
    n_messages: int
    is_unshared: bool
    owner: str = ""
    """The member who shares it."""
    repository: str | None = None
    format: int = FORMAT
    """The highest of its entries."""
    head_digest: str | None = None
    writer: str | None = None
    """The member who holds its lease now; None when nobody writes."""
    writes: str | None = None
    """The work for which the lease is held, such as `a turn`."""
    hub: str = ""
    """The hub that it is in; the same for ever."""
    incarnation: str = ""
    """Another one after the hub was restored from a backup."""
    me: str = ""
    """The member who asked."""
    writer_store: str | None = None
    """The store that holds the lease."""


def key_of(*words: str) -> str:
    """The key of an entry that is known by what it says."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()
