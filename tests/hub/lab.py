"""A hub with fresh teams, and messages to push."""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from psycopg import Connection
from psycopg.conninfo import make_conninfo

from palimpsest.domain.conversation.chain import content_digest, message_digest
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    Digest,
    MessageId,
    Role,
    TextPart,
    TurnId,
    canonical_json,
)
from palimpsest.domain.sharing.log import EntryKind, MessageEntry, NewEntry
from palimpsest_hub import administration
from palimpsest_hub.client import Hub
from palimpsest_hub.migration import set_up
from palimpsest_hub.records import Lease, NewConversation

AT: Final = "2026-11-25T12:00:00.000Z"
STORE: Final = "store of ann"
_NUMBERS: Final = itertools.count()


def new_hub(postgres: str) -> str:
    """Sets a hub up as the owner of its database, who may create roles and is no superuser; the owner's address."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE keeper LOGIN CREATEROLE PASSWORD 'kept'")
        connection.execute("CREATE DATABASE hub OWNER keeper")
    address = make_conninfo(postgres, dbname="hub", user="keeper", password="kept")
    set_up(address)
    return address


def owning(admin: str) -> Connection[Any]:
    """A connection of the hub's owner; each statement is a transaction."""
    connection = psycopg.connect(admin, autocommit=True)
    connection.execute("SET ROLE hub_owner")
    return connection


@dataclass(slots=True)
class Lab:
    """A hub in one database. Each test has a team of its own, so the tests do not see each other."""

    admin: str
    """The address of the administrator."""
    gate: administration.Login
    """A login that members share; each of them has a token."""
    owner: Connection[Any]
    """A connection of the hub's owner, one for all tests."""
    open_hubs: list[Hub] = field(default_factory=list)

    def hub(self, token: str | None, login: administration.Login | None = None) -> Hub:
        """The way of one member, which the fixture closes."""
        login = login or self.gate
        new = Hub(make_conninfo(self.admin, user=login.name), password=login.password, token=token)
        self.open_hubs.append(new)
        return new

    def team(self, **roles: str) -> TestTeam:
        """A team of members by name and role. Their names in the hub have a number behind them."""
        number = next(_NUMBERS)
        name = f"team {number}"
        tokens = {each: f"token of {each} {number}" for each in roles}
        members: dict[str, str] = {}
        with self.owner.transaction():
            sql = "INSERT INTO hub.team (name) VALUES (%s) RETURNING id::text"
            ((team,),) = self.owner.execute(sql, [name]).fetchall()
            for each, role in roles.items():
                sql = "INSERT INTO hub.member (name) VALUES (%s) RETURNING id::text"
                ((members[each],),) = self.owner.execute(sql, [f"{each} {number}"]).fetchall()
                self.owner.execute("INSERT INTO hub.membership VALUES (%s, %s, %s)", [team, members[each], role])
                digest = hashlib.sha256(tokens[each].encode()).hexdigest()
                sql = "INSERT INTO hub.token (digest, member, expires_at) VALUES (%s, %s, now() + interval '1 day')"
                self.owner.execute(sql, [digest, members[each]])
        return TestTeam(self, team, name, number, members, tokens)


@dataclass(frozen=True, slots=True)
class TestTeam:
    __test__ = False

    lab: Lab
    id: str
    name: str
    number: int
    ids: dict[str, str]
    tokens: dict[str, str]

    def hub(self, name: str) -> Hub:
        """The way of a member, by token."""
        return self.lab.hub(self.tokens[name])

    def full_name(self, name: str) -> str:
        return f"{name} {self.number}"

    def set_role(self, name: str, role: str) -> None:
        self.lab.owner.execute("UPDATE hub.membership SET role = %s WHERE member = %s", [role, self.ids[name]])

    def own_login(self, name: str) -> administration.Login:
        return administration.make_login(self.lab.admin, f"{name}_{self.number}", self.full_name(name))


def message(
    conversation: str, number: int, text: str, before: str | None, role: Role = Role.USER, author: str | None = None
) -> NewEntry:
    """The entry of a message behind the one with the digest `before`."""
    content = Content(role, (TextPart(text),))
    inner = content_digest(content)
    digest = message_digest(
        Digest(before) if before is not None else None,
        ConversationId(conversation),
        MessageId(number),
        AT,
        TurnId("t1"),
        inner,
        author,
    )
    said = MessageEntry(number, AT, "t1", inner, digest, role.value, 1 if author is None else 2)
    return NewEntry(EntryKind.MESSAGE, str(number), canonical_json(content.to_json()), said)


def digest_of(entry: NewEntry) -> str:
    """The digest of a message's entry."""
    assert entry.message is not None
    return entry.message.digest


def messages(conversation: str, texts: Sequence[str], author: str | None = None) -> list[NewEntry]:
    """A conversation from its first message on: user and assistant in turn."""
    entries: list[NewEntry] = []
    for number, text in enumerate(texts):
        role = Role.ASSISTANT if number % 2 else Role.USER
        entries.append(message(conversation, number, text, digest_of(entries[-1]) if entries else None, role, author))
    return entries


async def share(hub: Hub, team: str, *texts: str, store: str = STORE) -> tuple[Lease, list[NewEntry]]:
    """A conversation that is shared with these messages, and the lease under which they were pushed."""
    new = uuid.uuid4().hex
    await hub.share(team, NewConversation(new, "a talk", "fake/model", AT))
    lease = await hub.lease(team, new, store, "a turn")
    entries = messages(new, texts)
    await hub.push(lease, entries)
    return lease, entries
