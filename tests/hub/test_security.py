"""What a hub keeps from whom: other teams, unknown logins, and members who speak SQL themselves."""

from __future__ import annotations

import hashlib
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.hub.lab import AT, STORE, Lab, TestTeam, share

from palimpsest.domain.sharing.log import EntryKind, NewEntry
from palimpsest_hub import administration
from palimpsest_hub.client import Hub
from palimpsest_hub.errors import HubRefused, HubUnreachable
from palimpsest_hub.records import Lease, NewConversation, NewFact

TABLES = ("team", "membership", "repository", "fact", "conversation", "entry", "live", "replica", "audit")
"""Those with a team's rows. Members see other columns of the rest: `test_a_member_sees_own_teams_alone`."""

COLUMNS = {"team": "id"}


async def filled(lab: Lab) -> tuple[TestTeam, Lease]:
    """A team with a row in every table."""
    team = lab.team(ann="admin", bob="writer", ron="reader")
    ann = team.hub("ann")
    lease, _ = await share(ann, team.id, "one", "two")
    await ann.say(lease, "t1", 1, ["words"])
    await ann.seen(team.id, lease.conversation, STORE, 2)
    repository = await ann.repository(team.id, "a" * 40, "example.org/app")
    await ann.push_facts(team.id, repository, [NewFact("f" * 64, "open", "{}")])
    return team, lease


def as_login(lab: Lab, login: administration.Login) -> psycopg.Connection[Any]:
    return psycopg.connect(make_conninfo(lab.admin, user=login.name, password=login.password), autocommit=True)


async def test_a_member_sees_own_teams_alone(lab: Lab) -> None:
    team, _ = await filled(lab)
    other = lab.team(eve="admin")
    ids = {"ann": team.own_login("ann"), "eve": other.own_login("eve")}
    seen: dict[str, dict[str, int]] = {}
    for name, login in ids.items():
        with as_login(lab, login) as sql:
            queries = {table: f"SELECT FROM hub.{table} WHERE {COLUMNS.get(table, 'team')} = %s" for table in TABLES}
            seen[name] = {table: sql.execute(query.encode(), [team.id]).rowcount for table, query in queries.items()}
            own = team if name == "ann" else other
            names = {row[0] for row in sql.execute("SELECT name FROM hub.member")}
            assert names == {own.full_name(each) for each in own.ids}
    assert all(seen["ann"].values())
    assert not any(seen["eve"].values())


async def test_no_function_works_in_another_team(lab: Lab) -> None:
    team, lease = await filled(lab)
    other = lab.team(eve="admin", ann="writer")
    eve = other.hub("eve")
    repository = await team.hub("ann").repository(team.id, "a" * 40, "example.org/app")
    note = NewEntry(EntryKind.TITLE, "k", "mine now")
    header = NewConversation(lease.conversation, "x", "m", AT)
    fork = NewConversation("e" * 32, "x", "m", AT, lease.conversation, 2)
    calls = [
        eve.share(team.id, header),
        eve.share(other.id, fork),
        eve.unshare(team.id, lease.conversation),
        eve.conversation(team.id, lease.conversation),
        eve.lease(team.id, lease.conversation, STORE, "x"),
        eve.lease(other.id, lease.conversation, STORE, "x"),
        eve.renew(lease),
        eve.say(lease, "t1", 2, ["x"]),
        eve.push(lease, [note]),
        eve.purge(lease, 0, 2),
        eve.live(team.id, lease.conversation),
        eve.seen(team.id, lease.conversation, STORE, 9),
        eve.repository(team.id, "b" * 40, "x"),
        eve.push_facts(team.id, repository, [NewFact("e" * 64, "open", "{}")]),
        eve.push_facts(other.id, repository, [NewFact("e" * 64, "open", "{}")]),
        eve.set_membership(team.id, other.ids["eve"], "admin"),
        eve.set_membership(team.id, team.ids["ann"], "left"),
    ]
    for call in calls:
        with pytest.raises(HubRefused):
            await call
    assert await eve.entries(team.id, lease.conversation, 0) == []
    assert (await eve.members(team.id), await eve.conversations(team.id)) == ([], [])
    assert (await eve.facts(team.id, repository, 0), await eve.replicas(team.id, lease.conversation)) == ([], [])
    assert (await team.hub("bob").conversation(team.id, lease.conversation)).title == "a talk"


async def test_readers_do_not_write(lab: Lab) -> None:
    team, lease = await filled(lab)
    ron = team.hub("ron")
    repository = await team.hub("ann").repository(team.id, "a" * 40, "example.org/app")
    calls = [
        ron.share(team.id, NewConversation("f" * 32, "x", "m", AT)),
        ron.unshare(team.id, lease.conversation),
        ron.lease(team.id, lease.conversation, STORE, "x"),
        ron.repository(team.id, "b" * 40, "x"),
        ron.push_facts(team.id, repository, [NewFact("e" * 64, "open", "{}")]),
        ron.set_membership(team.id, team.ids["ron"], "admin"),
    ]
    for call in calls:
        with pytest.raises(HubRefused) as refused:
            await call
        assert refused.value.kind == "forbidden"
    await ron.seen(team.id, lease.conversation, "store of ron", 1)
    assert len(await ron.entries(team.id, lease.conversation, 0)) == 2


async def test_members_write_through_functions_only(lab: Lab) -> None:
    team, _ = await filled(lab)
    with as_login(lab, team.own_login("ann")) as sql:
        tables = [row[0] for row in sql.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'hub' ORDER BY 1")]
        assert {*TABLES, "member", "token", "migration", "incarnation"} == set(tables)
        refused = 0
        for table in tables:
            for statement in (
                "INSERT INTO hub.{} DEFAULT VALUES",
                "DELETE FROM hub.{}",
                "TRUNCATE hub.{}",
                "DROP TABLE hub.{}",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    sql.execute(statement.format(table).encode())
                refused += 1
        for statement in (
            "UPDATE hub.entry SET body = '{}'",
            "UPDATE hub.conversation SET head_seq = 0",
            "UPDATE hub.membership SET role = 'admin'",
            "SELECT FROM hub.token",
            "CREATE TABLE hub.mine (a int)",
            "SELECT hub.locked(NULL, '', '', NULL)",
            "SET ROLE hub_owner",
            "ALTER POLICY own_teams ON hub.entry USING (true)",
            "CREATE OR REPLACE FUNCTION hub.me() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                sql.execute(statement.encode())
        assert refused == 4 * len(tables)


async def test_every_function_that_may_write_has_a_pinned_search_path(lab: Lab) -> None:
    found = lab.owner.execute(
        """SELECT proname, proconfig, has_function_privilege('public', p.oid, 'EXECUTE') FROM pg_proc p
        JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = 'hub'"""
    ).fetchall()
    assert len(found) > 10
    assert [name for name, settings, _ in found if settings != ["search_path=pg_catalog, pg_temp"]] == []
    assert [name for name, _, is_public in found if is_public] == []


async def test_a_name_of_ones_own_does_not_stand_before_the_hubs(lab: Lab) -> None:
    team, lease = await filled(lab)
    with as_login(lab, team.own_login("bob")) as sql:
        sql.execute("CREATE TEMP TABLE membership (team uuid, member uuid, role text)")
        sql.execute("CREATE TEMP TABLE conversation (LIKE hub.conversation)")
        sql.execute("SET search_path = pg_temp, hub, pg_catalog")
        with pytest.raises(psycopg.DatabaseError, match="Only its owner"):
            sql.execute("SELECT hub.unshare(%s, %s)", [team.id, lease.conversation])


async def test_a_token_says_who_calls_behind_a_shared_login(lab: Lab) -> None:
    team, lease = await filled(lab)
    assert await team.hub("bob").me() == team.ids["bob"]
    for token in ("wrong", "", None):
        nobody = lab.hub(token)
        assert await nobody.conversations(team.id) == []
        for call in (nobody.me(), nobody.lease(team.id, lease.conversation, STORE, "x")):
            with pytest.raises(HubRefused) as refused:
                await call
            assert refused.value.kind == "token"


@pytest.mark.parametrize("change", ["expires_at = now() - interval '1 s'", "revoked_at = now()"])
async def test_a_token_that_has_ended_works_no_more(lab: Lab, change: str) -> None:
    team, _ = await filled(lab)
    bob = team.hub("bob")
    assert len(await bob.conversations(team.id)) == 1
    digest = hashlib.sha256(team.tokens["bob"].encode()).hexdigest()
    lab.owner.execute(f"UPDATE hub.token SET {change} WHERE digest = %s".encode(), [digest])
    assert await bob.conversations(team.id) == []
    with pytest.raises(HubRefused, match="expired"):
        await bob.me()


async def test_a_token_does_not_outlive_its_transaction(lab: Lab) -> None:
    """So that the next member on a pooler's connection is not the one before."""
    team, _ = await filled(lab)
    bob = team.hub("bob")
    assert len(await bob.conversations(team.id)) == 1
    assert bob._reads._connection is not None
    cursor = await bob._reads._connection.execute("SELECT coalesce(current_setting('hub.token', true), ''), hub.me()")
    assert await cursor.fetchone() == ("", None)


async def test_a_login_of_ones_own_counts_before_any_token(lab: Lab) -> None:
    team, _ = await filled(lab)
    assert await lab.hub(team.tokens["ann"], team.own_login("bob")).me() == team.ids["bob"]


async def test_who_left_reads_and_writes_no_more_but_the_name_stays(lab: Lab) -> None:
    team, lease = await filled(lab)
    ann, bob = team.hub("ann"), team.hub("bob")
    await ann.release(lease)
    taken = await bob.lease(team.id, lease.conversation, "store of bob", "a turn")
    await ann.set_membership(team.id, team.ids["bob"], "left")
    note = NewEntry(EntryKind.TITLE, "k", "mine now")
    assert (await bob.conversations(team.id), await bob.teams()) == ([], [])
    for call in (
        bob.say(taken, "t", 1, ["x"]),
        bob.push(taken, [note]),
        bob.lease(team.id, lease.conversation, "s", "x"),
    ):
        with pytest.raises(HubRefused):
            await call
    assert (await ann.lease(team.id, lease.conversation, STORE, "a turn")).epoch > taken.epoch
    assert [(each.name, each.role) for each in await ann.members(team.id)][1] == (team.full_name("bob"), "left")
    await team.hub("ron").set_membership(team.id, team.ids["ron"], "left")
    assert await team.hub("ron").teams() == []


async def test_admins_alone_read_the_audit(lab: Lab) -> None:
    team, lease = await filled(lab)
    ann = team.hub("ann")
    await ann.purge(lease, 0, 2)
    await ann.unshare(team.id, lease.conversation)
    query = "SELECT action, subject, detail FROM hub.audit WHERE team = %s ORDER BY id"
    subject = lease.conversation
    said = [("share", subject, ""), ("purge", subject, "0-2"), ("unshare", subject, "")]
    assert await ann._calls.rows(query, team.id) == said
    assert await team.hub("bob")._calls.rows(query, team.id) == []


async def test_a_channel_cannot_be_guessed_and_only_readers_see_it(lab: Lab) -> None:
    team, lease = await filled(lab)
    again, _ = await share(team.hub("ann"), team.id)
    channels = [each.channel for each in await team.hub("ron").conversations(team.id)]
    assert len(set(channels)) == 2
    for channel, conversation in zip(channels, (lease.conversation, again.conversation), strict=True):
        assert len(channel) == len("hub_") + 32
        assert channel[4:] not in (conversation, team.id.replace("-", ""))
    with as_login(lab, lab.team(eve="admin").own_login("eve")) as sql:
        assert sql.execute("SELECT channel FROM hub.conversation").fetchall() == []


async def test_an_error_quotes_neither_text_nor_secret(lab: Lab) -> None:
    team, lease = await filled(lab)
    ann = team.hub("ann")
    for call in (
        ann.push(lease, [NewEntry(EntryKind.TITLE, "a secret word" * 99, "a secret word")]),
        ann.say(lease, "t", 1, ["a secret word" * 9999]),
        ann.conversations("a secret word"),
        ann._calls.rows("SELECT a secret word"),
        lab.hub("a secret word", administration.Login("nobody_at_all", "a secret word")).teams(),
        Hub("host=/nowhere user=secret dbname=secret").teams(),
    ):
        with pytest.raises((HubRefused, HubUnreachable)) as failed:
            await call
        assert "secret" not in str(failed.value)
        assert failed.value.__cause__ is None
