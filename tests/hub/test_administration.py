"""What an administrator does: the schema, members, logins, tokens, the doctor and the export."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.hub.lab import Lab, message, owning, share

from palimpsest.domain.sharing.log import EntryKind, NewEntry
from palimpsest_hub import administration
from palimpsest_hub.connection import SCHEMAS
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.inspection import examine, export
from palimpsest_hub.migration import migrations, set_up


@pytest.fixture
def stack() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def test_migrations_are_numbered_from_one_and_the_client_knows_the_newest() -> None:
    assert list(migrations()) == list(range(1, SCHEMAS[-1] + 1))


async def test_a_schema_is_set_up_once_however_often_it_is_tried(postgres: str, hub_address: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE twice OWNER keeper")
    address = make_conninfo(hub_address, dbname="twice")
    done = await asyncio.gather(*(asyncio.to_thread(set_up, address) for _ in range(3)))
    assert sorted(done) == [[], [], list(migrations())]
    assert set_up(address) == []


def test_a_newer_schema_is_left_alone(postgres: str, hub_address: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE newer OWNER keeper")
    address = make_conninfo(hub_address, dbname="newer")
    set_up(address)
    with administration.administering(address) as connection:
        connection.execute("INSERT INTO hub.migration (version) VALUES (99)")
    with pytest.raises(HubRefused, match="newer Palimpsest"):
        set_up(address)


def test_a_database_without_a_hub_is_told(postgres: str) -> None:
    with pytest.raises(HubRefused, match="palimpsest hub setup"):
        administration.list_members(postgres)


async def test_a_restored_hub_has_another_incarnation(lab: Lab) -> None:
    team = lab.team(ann="reader")
    before = await team.hub("ann").identity()
    set_up(lab.admin)
    assert await team.hub("ann").identity() == before
    set_up(lab.admin, is_restored=True)
    assert await team.hub("ann").identity() != before


async def test_a_member_comes_by_token_or_login_and_goes(lab: Lab) -> None:
    ann = administration.add_member(lab.admin, "the painters", "Ann Example", "writer")
    assert administration.add_member(lab.admin, "the painters", "Ann Example", "admin") == ann
    token = administration.create_token(lab.admin, "Ann Example", days=1)
    login = administration.make_login(lab.admin, "ann_example", "Ann Example")
    assert await lab.hub(token).me() == await lab.hub(None, login).me() == ann
    assert administration.MemberRow("the painters", "Ann Example", "admin", "ann_example", 1) in (
        administration.list_members(lab.admin)
    )
    again = administration.make_login(lab.admin, "ann_example", "Ann Example")
    with pytest.raises(HubRefused, match="its password"):
        await lab.hub(None, login).me()
    with psycopg.connect(lab.admin) as connection:
        row = connection.execute(
            "SELECT rolconnlimit, rolconfig FROM pg_roles WHERE rolname = 'ann_example'"
        ).fetchone()
    assert row == (12, ["statement_timeout=30s"])
    administration.remove_member(lab.admin, "the painters", "Ann Example")
    for hub in (lab.hub(token), lab.hub(None, again)):
        with pytest.raises(HubRefused):
            await hub.me()
    for call in (
        lambda: administration.remove_member(lab.admin, "the painters", "Ann Example"),
        lambda: administration.create_token(lab.admin, "Nobody"),
        lambda: administration.make_login(lab.admin, "keeper", None),
        lambda: administration.make_login(lab.admin, "ann_example", lab.team(bob="reader").full_name("bob")),
        lambda: administration.add_member(lab.admin, "the painters", "x", "owner"),
    ):
        with pytest.raises(HubRefused):
            call()


async def test_tokens_are_revoked_together(lab: Lab) -> None:
    team = lab.team(ann="reader")
    name = team.full_name("ann")
    hubs = [team.hub("ann"), lab.hub(administration.create_token(lab.admin, name))]
    assert [await hub.me() for hub in hubs] == [team.ids["ann"]] * 2
    assert administration.revoke_tokens(lab.admin, name) == 2
    assert administration.revoke_tokens(lab.admin, name) == 0
    for hub in hubs:
        with pytest.raises(HubRefused, match="expired"):
            await hub.me()


async def test_the_doctor_finds_what_was_tampered_with(lab: Lab, postgres: str, stack: contextlib.ExitStack) -> None:
    """In a database of its own, because it reads all of it."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE doctor OWNER keeper")
    address = make_conninfo(lab.admin, dbname="doctor")
    set_up(address)
    own = dataclasses.replace(lab, admin=address, owner=stack.enter_context(owning(address)))
    team = own.team(ann="admin")
    ann = team.hub("ann")
    lease, pushed = await share(ann, team.id, "one", "two", "three")
    assert pushed[2].message is not None
    four = message(lease.conversation, 3, "four", pushed[2].message.digest, author=team.ids["ann"])
    await ann.push(lease, [four, NewEntry(EntryKind.TITLE, "k", "t")])
    await ann.purge(lease, 0, 2)
    assert not [each for each in examine(own.admin) if each.is_trouble]
    troubles = (
        ("UPDATE hub.entry SET author = gen_random_uuid() WHERE message_id = 3", "do not follow"),
        ("UPDATE hub.entry SET body = '{}' WHERE message_id = 2", "do not follow"),
        ("DELETE FROM hub.entry WHERE kind = 'title'", "a gap"),
        ("ALTER TABLE hub.entry DISABLE ROW LEVEL SECURITY", "Row-level security is off for the table entry"),
    )
    for number, (change, words) in enumerate(troubles):
        with administration.administering(own.admin) as connection:
            connection.execute(change.encode())
        found = [each.sentence for each in examine(own.admin) if each.is_trouble]
        assert any(words in each for each in found)
        assert len(found) == max(1, number)


async def test_an_export_holds_all_of_a_team_and_nothing_of_another(lab: Lab) -> None:
    team, other = lab.team(ann="admin"), lab.team(eve="admin")
    await share(team.hub("ann"), team.id, "one", "two")
    await share(other.hub("eve"), other.id, "foreign")
    lines = [json.dumps(row) for row in export(lab.admin, team.name)]
    tables = [json.loads(line)["table"] for line in lines]
    assert tables == ["team", "member", "conversation", "entry", "entry", "audit"]
    assert "foreign" not in "".join(lines)
    assert team.tokens["ann"] not in "".join(lines)
