"""The names of the members of hubs, as they were last heard: a message says who wrote it also while the hub is away."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.messages import ConversationId, MessageId, canonical_json
from palimpsest.storage.sharing import shared
from palimpsest.storage.sql import execute

_KEY: Final = "hub.members"
SOMEBODY: Final = "another member"
"""In place of a name that was never heard."""


@dataclass(frozen=True, slots=True)
class KnownMembers:
    """The user's own id, and names by id."""

    me: str
    names: Mapping[str, str]


def read() -> KnownMembers:
    row = execute("SELECT value FROM meta WHERE key = ?", _KEY).fetchone()
    said = {} if row is None else json.loads(row[0])
    return KnownMembers(said.get("me", ""), said.get("names", {}))


def note(me: str, names: Mapping[str, str]) -> None:
    """Adds names to those that are known."""
    known = read()
    new = canonical_json({"me": me, "names": {**known.names, **names}})
    execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", _KEY, new)


def foreign_authors(conversation_id: ConversationId, start: int, end: int) -> dict[MessageId, str]:
    """The names of the members who wrote the messages [start, end), without those of the user."""
    authors = shared.authors(conversation_id, start, end)
    if not authors:
        return {}
    known = read()
    return {id: known.names.get(member, SOMEBODY) for id, member in authors.items() if member != known.me}
