"""What calls of the hub take and answer, beside the entries of the log (`palimpsest.domain.sharing.log`).

Ids of teams and members are UUIDs as text; times are UTC, ISO 8601.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

MOST_FACT_BYTES: Final = 1 << 18
MOST_FRAME_BYTES: Final = 1 << 16
FOLLOWING_S: Final = 45.0
"""A store follows a conversation when it was heard of in the last so many seconds."""

RoleInTeam = Literal["reader", "writer", "admin", "left"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which hub it is, and who asks."""

    hub: str
    """The same for ever."""
    incarnation: str
    """Another one after the hub was restored from a backup."""
    me: str
    """The member's id."""


@dataclass(frozen=True, slots=True)
class Team:
    """A team of the caller."""

    id: str
    name: str
    role: RoleInTeam


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a team. Those who have left keep their name, because it stands beside what they wrote."""

    id: str
    name: str
    role: RoleInTeam


@dataclass(frozen=True, slots=True)
class NewConversation:
    """The header of a conversation that is to be shared."""

    id: str
    title: str
    model: str
    created_at: str
    parent: str | None = None
    """The conversation whose message `fork_at - 1` comes before the first one here. It is shared already."""
    fork_at: int = 0
    repository: str | None = None
    """An id that `Hub.repository` gave."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write a conversation, and how far it had come when the lease was taken."""

    team: str
    conversation: str
    store: str
    epoch: int
    head_seq: int
    n_messages: int
    head_digest: str | None
    incarnation: str


@dataclass(frozen=True, slots=True)
class Head:
    """How far a conversation has come: its last entry, how many messages it has, and the digest of the last one."""

    seq: int
    n_messages: int
    digest: str | None


@dataclass(frozen=True, slots=True)
class Frame:
    """A piece of what a running step has shown."""

    turn: str
    seq: int
    body: str


@dataclass(frozen=True, slots=True)
class LiveView:
    """What changed for a follower: the last entry's seq, who writes, and the frames behind those he knows, in order."""

    head_seq: int
    epoch: int
    writer: str | None
    frames: tuple[Frame, ...]
    writes: str | None = None
    """The work for which the lease is held, such as `a turn`."""
    writer_store: str | None = None


@dataclass(frozen=True, slots=True)
class Replica:
    """How far a store has come."""

    store: str
    member: str
    applied_seq: int
    seen_at: str
    is_following: bool = False
    """Whether it was seen just now."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository whose facts are shared in a team."""

    id: str
    root_commit: str
    remote: str
    head_seq: int
    """The newest change of one of its facts; 0 for none."""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact as it stands now. `key` is the SHA-256, in hex, of its type and its normalized text."""

    key: str
    standing: Literal["open", "closed", "forgotten"]
    body: str | None
    """JSON; None for one that is forgotten."""


@dataclass(frozen=True, slots=True)
class FactChange:
    """The newest change of a fact."""

    seq: int
    key: str
    standing: str
    author: str
    body: str | None
