"""Ways out of a team, drawn from the catalog of the database: a function or a table that is new is tried too, and one
for which a call or a row is not known here fails."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb
from tests.hub.lab import AT, STORE, Lab, TestTeam, message, share

from palimpsest_hub import administration
from palimpsest_hub.client import Hub
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import Lease, NewFact

WORDS: Final = "the heron stands in the reeds"
ROOT: Final = "a" * 40
REMOTE: Final = "example.org/herons"
DENIED: Final = "denied"
FOR_ALL: Final = {"me", "teams"}
"""Functions that tell the caller about the caller."""
FOR_READERS: Final = FOR_ALL | {"seen"}


@dataclass(frozen=True)
class Secrets:
    """A team with a row in every table, and what the rows are known by."""

    team: TestTeam
    lease: Lease
    repository: str
    words: tuple[str, ...]
    """Texts and ids that no member of another team may see."""

    def arguments(self, team: str) -> dict[str, object]:
        """What a function is called with, by the names of its parameters: everything as its owner would, but in the
        team `team`. A name that is not here is one of a new parameter."""
        lease = self.lease
        again = message(lease.conversation, lease.n_messages, WORDS, lease.head_digest)
        assert again.message is not None
        said = {"kind": "message", "key": again.key, "body": again.body, "gone": None}
        said |= {name: getattr(again.message, name) for name in again.message.__slots__}
        return {
            "p_team": team,
            "p_conversation": lease.conversation,
            "p_store": lease.store,
            "p_epoch": lease.epoch,
            "p_holder": "a turn",
            "p_format": 1,
            "p_seconds": 30,
            "p_turn": "t1",
            "p_first": 9,
            "p_bodies": ["mine"],
            "p_entries": Jsonb([said]),
            "p_start": 0,
            "p_end": 1,
            "p_seq": 9,
            "p_repository": self.repository,
            "p_facts": Jsonb([{"key": "e" * 64, "standing": "open", "body": "{}"}]),
            "p_root": ROOT,
            "p_remote": REMOTE,
            "p_parent": lease.conversation,
            "p_fork": 1,
            "p_title": "mine",
            "p_model": "m",
            "p_at": AT,
            "p_member": self.team.ids["bob"],
            "p_role": "admin",
            "p_roles": ["reader", "writer", "admin"],
            "p_sentence": "no",
        }


@dataclass(frozen=True)
class Function:
    """Of the hub."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    """Their names and types."""
    is_for_members: bool

    def call(self, given: dict[str, object]) -> tuple[sql.Composed, list[object]]:
        places = sql.SQL(", ").join(sql.SQL(f"%s::{kind}") for _, kind in self.parameters)
        query = sql.SQL("SELECT * FROM hub.{}({})").format(sql.Identifier(self.name), places)
        return query, [given.get(name) for name, _ in self.parameters]


@pytest.fixture
async def secrets(lab: Lab) -> Secrets:
    team = lab.team(ann="admin", bob="writer", ron="reader", lee="writer")
    ann = team.hub("ann")
    lease, _ = await share(ann, team.id, WORDS, "two")
    lease = await ann.lease(team.id, lease.conversation, STORE, "a turn")
    await ann.say(lease, "t1", 1, [WORDS])
    await ann.seen(team.id, lease.conversation, STORE, 2)
    repository = await ann.repository(team.id, ROOT, REMOTE)
    await ann.push_facts(team.id, repository, [NewFact("f" * 64, "open", f'"{WORDS}"')])
    await ann.set_membership(team.id, team.ids["lee"], "left")
    channel = (await ann.conversation(team.id, lease.conversation)).channel
    digests = [hashlib.sha256(each.encode()).hexdigest() for each in team.tokens.values()]
    names = [team.full_name(each) for each in team.ids]
    ids = (team.id, *team.ids.values(), lease.conversation, repository, channel, str(lease.head_digest))
    return Secrets(team, lease, repository, (WORDS, *ids, *digests, *names))


def functions(lab: Lab) -> list[Function]:
    found = lab.owner.execute(
        """SELECT proname, coalesce(proargnames[1:pronargs], '{}'),
            ARRAY(SELECT format_type(each, NULL) FROM unnest(proargtypes) AS each),
            has_function_privilege('hub_member', p.oid, 'EXECUTE')
        FROM pg_proc p WHERE pronamespace = 'hub'::regnamespace ORDER BY proname"""
    ).fetchall()
    return [Function(name, tuple(zip(names, kinds, strict=True)), is_open) for name, names, kinds, is_open in found]


def tables(lab: Lab) -> list[str]:
    query = "SELECT relname FROM pg_class WHERE relnamespace = 'hub'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')"
    return sorted(row[0] for row in lab.owner.execute(query))


def rows(connection: psycopg.Connection[Any], table: str) -> list[str]:
    query = sql.SQL("SELECT t::text FROM hub.{} t ORDER BY 1").format(sql.Identifier(table))
    return [row[0] for row in connection.execute(query)]


def outcome(connection: psycopg.Connection[Any], function: Function, given: dict[str, object]) -> str | list[Any]:
    """The rows, DENIED, or the words of a refusal."""
    try:
        return connection.execute(*function.call(given)).fetchall()
    except psycopg.errors.InsufficientPrivilege:
        return DENIED
    except psycopg.DatabaseError as refused:
        if refused.sqlstate in ("HB001", "23503"):  # a row of another team is no row of this one
            return str(refused)
        raise


def state(lab: Lab, secrets: Secrets) -> dict[str, list[str]]:
    """Every row about the team."""
    return {
        table: [row for row in rows(lab.owner, table) if any(word in row for word in secrets.words)]
        for table in tables(lab)
    }


@pytest.fixture
def other(lab: Lab) -> TestTeam:
    return lab.team(eve="admin")


@pytest.fixture
def strangers(lab: Lab, secrets: Secrets, other: TestTeam) -> Iterator[dict[str, psycopg.Connection[Any]]]:
    """Connections of those who may see nothing of the team: an admin of another one, a login without any, a member who
    left, and one who found the shared login."""
    logins = {
        "eve": other.own_login("eve"),
        "nobody": administration.make_login(lab.admin, "nobody", None),
        "lee": secrets.team.own_login("lee"),
        "gate": lab.gate,
    }
    opened = {
        name: psycopg.connect(make_conninfo(lab.admin, user=login.name, password=login.password), autocommit=True)
        for name, login in logins.items()
    }
    yield opened
    for each in opened.values():
        each.close()


def test_every_table_has_a_row_to_look_for(lab: Lab, secrets: Secrets) -> None:
    empty = [table for table, found in state(lab, secrets).items() if not found]
    assert set(empty) <= {"migration", "incarnation"}


def test_strangers_read_no_row_by_any_query(
    lab: Lab, secrets: Secrets, strangers: dict[str, psycopg.Connection[Any]]
) -> None:
    shown: list[str] = []

    def leak(connection: psycopg.Connection[Any]) -> None:
        """A function that looks at rows before the rules of the table do, if the planner lets it."""
        connection.execute(
            """CREATE FUNCTION pg_temp.leak(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001 AS
            $$BEGIN RAISE NOTICE 'leaked %', $1; RETURN true; END$$"""
        )
        connection.add_notice_handler(lambda notice: shown.append(str(notice.message_primary)))

    lab.owner.execute("ANALYZE hub.entry, hub.conversation, hub.fact, hub.live")
    for name, connection in strangers.items():
        leak(connection)
        own = secrets.team.full_name("lee") if name == "lee" else None
        for table in tables(lab):
            if table == "token":
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    rows(connection, table)
                continue
            shown += [row for row in rows(connection, table) if own is None or own not in row]
            query = sql.SQL("SELECT * FROM hub.{} t WHERE pg_temp.leak(t::text)").format(sql.Identifier(table))
            connection.execute(query)
            with connection.cursor().copy(sql.SQL("COPY hub.{} TO STDOUT").format(sql.Identifier(table))) as copied:
                shown += [bytes(each).decode() for each in copied]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql.SQL("SELECT * FROM hub.{} FOR UPDATE").format(sql.Identifier(table)))
        for view in ("pg_stats", "pg_stat_activity", "pg_locks"):
            shown += [row[0] for row in connection.execute(f"SELECT t::text FROM {view} t".encode())]
    others = [word for word in secrets.words if word != secrets.team.ids["lee"]]
    others.remove(secrets.team.full_name("lee"))
    assert [(word, row) for row in shown for word in others if word in row] == []


def test_no_function_lets_strangers_in(
    lab: Lab, secrets: Secrets, strangers: dict[str, psycopg.Connection[Any]], other: TestTeam
) -> None:
    """Neither in the team, nor in their own with what is the team's."""
    before = state(lab, secrets)
    theirs = secrets.arguments(secrets.team.id)
    mixed = secrets.arguments(other.id) | {"p_member": other.ids["eve"]}
    for function in functions(lab):
        if function.name in FOR_ALL:
            continue
        unknown = {name for name, _ in function.parameters} - theirs.keys()
        assert not function.is_for_members or not unknown, "say what the new parameter means for others"
        for name, connection in strangers.items():
            for given in (theirs, mixed):
                answer = outcome(connection, function, given)
                if answer == DENIED:
                    assert not function.is_for_members
                    continue
                assert function.is_for_members, f"{name} may call {function.name}"
                is_refused = isinstance(answer, str)
                assert is_refused or given is mixed, f"{name} may call {function.name} for the team"
                told = [word for word in secrets.words if word in str(answer) and word not in str(given.values())]
                assert told == [], (name, function.name)
        assert state(lab, secrets) == before, f"{function.name} changes something"


def test_readers_write_by_no_function(lab: Lab, secrets: Secrets) -> None:
    login = secrets.team.own_login("ron")
    before = state(lab, secrets)
    with psycopg.connect(make_conninfo(lab.admin, user=login.name, password=login.password), autocommit=True) as ron:
        for function in functions(lab):
            if function.is_for_members and function.name not in FOR_READERS:
                with pytest.raises(psycopg.DatabaseError) as refused:
                    ron.execute(*function.call(secrets.arguments(secrets.team.id)))
                assert refused.value.sqlstate == "HB001", function.name
    assert state(lab, secrets) == before


@pytest.mark.parametrize(
    "forged",
    [
        {"p_epoch": 1},
        {"p_epoch": 99},
        {"p_epoch": None},
        {"p_store": "another store"},
        {"p_store": None},
    ],
    ids=str,
)
async def test_no_function_takes_a_lease_that_is_none(lab: Lab, secrets: Secrets, forged: dict[str, object]) -> None:
    """Not from its own holder either, nor from another writer of the team with the right numbers."""
    before = state(lab, secrets)
    for name, given in (
        ("ann", secrets.arguments(secrets.team.id) | forged),
        ("bob", secrets.arguments(secrets.team.id)),
    ):
        hub: Hub = secrets.team.hub(name)
        for function in functions(lab):
            if "p_epoch" not in [each for each, _ in function.parameters] or not function.is_for_members:
                continue
            query, values = function.call(given)
            with pytest.raises(HubRefused) as refused:
                await hub._calls.rows(query.as_string(None), *values)
            assert refused.value.kind == "lease_lost", function.name
    assert state(lab, secrets) == before


async def test_nobody_says_who_wrote(lab: Lab, secrets: Secrets) -> None:
    """The author is who calls: no function takes one, and an entry that names one is another's all the same."""
    names = {name for function in functions(lab) if function.is_for_members for name, _ in function.parameters}
    assert not {each for each in names if "author" in each or "channel" in each}
    ann = secrets.team.hub("ann")
    await ann.release(secrets.lease)
    bob = secrets.team.hub("bob")
    lease = await bob.lease(secrets.team.id, secrets.lease.conversation, "store of bob", "a turn")
    forged = message(lease.conversation, 2, "said by ann", lease.head_digest, author=secrets.team.ids["ann"])
    assert forged.message is not None
    said = {"kind": "message", "key": "2", "body": forged.body, "author": secrets.team.ids["ann"]}
    said |= {name: getattr(forged.message, name) for name in forged.message.__slots__}
    where = (lease.team, lease.conversation, lease.store, lease.epoch, 1)
    with pytest.raises(HubRefused, match="digest does not follow"):
        await bob._calls.rows("SELECT * FROM hub.push(%s, %s, %s, %s, %s, %s::jsonb)", *where, Jsonb([said]))
    await bob.push(lease, [message(lease.conversation, 2, "said by bob", lease.head_digest)])
    entries = await bob.entries(lease.team, lease.conversation, 0)
    assert entries[-1].author == secrets.team.ids["bob"]
