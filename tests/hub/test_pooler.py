"""Behind PgBouncer in transaction mode, members share connections and stay who they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psycopg
import pytest
from benchmarks.hub.relay import Relay
from psycopg.conninfo import make_conninfo
from tests.hub.lab import Lab, message, share
from tests.hub.pooler import pooling, pooling_program

from palimpsest_hub.client import Hub
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.inspection import examine

SYNC = b"S\0\0\0\4"
"""The message that ends a transaction of several statements."""


@pytest.fixture
def pooler(lab: Lab) -> Iterator[str]:
    """The address of a pooler that has one connection to the hub."""
    if pooling_program() is None:
        pytest.skip("There is no PgBouncer here: install the package pgbouncer.")
    with pooling(lab, 1) as address:
        yield address


async def test_two_members_share_one_connection_and_stay_who_they_are(lab: Lab, pooler: str) -> None:
    team, other = lab.team(ann="writer", bob="writer"), lab.team(eve="admin")
    direct = make_conninfo(lab.admin, user="gate", password="")
    ann, bob, eve, nobody = (
        Hub(pooler, token=token, listen_address=direct)
        for token in (team.tokens["ann"], team.tokens["bob"], other.tokens["eve"], None)
    )
    lab.open_hubs += [ann, bob, eve, nobody]
    lease, _ = await share(ann, team.id)
    channel = (await bob.conversation(team.id, lease.conversation)).channel
    async with contextlib.aclosing(bob.wakings(channel)) as wakings:
        await anext(wakings)
        for number in range(3):
            await ann.say(lease, "t1", number, [f"frame {number}"])
            await anext(wakings)
            assert len((await bob.live(team.id, lease.conversation)).frames) == number + 1
            assert await eve.conversations(team.id) == await nobody.conversations(team.id) == []
            assert (await bob.me(), await eve.me()) == (team.ids["bob"], other.ids["eve"])
            with pytest.raises(HubRefused) as refused:
                await eve.push(lease, [message(lease.conversation, 0, "one", None)])
            assert refused.value.kind == "forbidden"
    await ann.push(lease, [message(lease.conversation, 0, "one", None)])
    assert [each.author for each in await bob.entries(team.id, lease.conversation, 0)] == [team.ids["ann"]]
    server = "SELECT pg_backend_pid()"
    assert await ann._calls.rows(server) == await bob._calls.rows(server)


async def test_what_one_member_leaves_in_a_session_steals_no_token_of_the_next(
    lab: Lab, pooler: str, postgres: str
) -> None:
    """Before PostgreSQL 15 everybody may make functions, and a pooler hands on a session with its settings."""
    team, other = lab.team(ann="writer"), lab.team(eve="writer")
    eve, ann = (Hub(pooler, token=token) for token in (other.tokens["eve"], team.tokens["ann"]))
    lab.open_hubs += [eve, ann]
    with psycopg.connect(make_conninfo(postgres, dbname="hub"), autocommit=True) as superuser:
        superuser.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        assert any("schema public" in each.sentence for each in examine(lab.admin) if each.is_trouble)
        try:
            await eve._calls.rows("CREATE FUNCTION public.max(integer) RETURNS integer LANGUAGE sql AS 'SELECT 77'")
            await eve._calls.rows("SELECT set_config('search_path', 'public, pg_catalog', false)")
            await eve._calls.rows("SELECT set_config('hub.token', %s, false)", other.tokens["eve"])
            assert await ann.me() == team.ids["ann"]  # over a connection that asked for the largest version
        finally:
            superuser.execute("DROP FUNCTION public.max(integer)")
            superuser.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")


async def test_nothing_is_sent_behind_the_end_of_a_transaction(lab: Lab) -> None:
    """A pooler would take it for the beginning of another, and keep a connection for that."""
    team, sent = lab.team(ann="writer"), bytearray()
    async with Relay(lab.admin, 0.01, hear=sent.extend) as relay:  # the answer comes later than all that is sent
        ann = Hub(relay.way(lab.gate.name, lab.gate.password), token=team.tokens["ann"])
        lab.open_hubs.append(ann)
        await ann.me()
        for _ in range(3):
            sent.clear()
            before = relay.n_round_trips
            assert await ann.me() == team.ids["ann"]
            assert bytes(sent).endswith(SYNC)
            assert sent.count(SYNC) == 1
            assert relay.n_round_trips == before + 1


async def test_what_is_longer_than_a_buffer_arrives(lab: Lab) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    lease, entries = await share(ann, team.id, *("x" * 900_000 for _ in range(4)))
    found = await ann.entries(team.id, lease.conversation, 0)
    assert [each.body for each in found] == [each.body for each in entries]
