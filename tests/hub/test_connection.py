"""The way to a hub: lost and found again, by notifications and by the clock."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.hub.lab import Lab, message, share

from palimpsest.domain.sharing.log import NewEntry
from palimpsest_hub.client import Hub
from palimpsest_hub.connection import Pauses
from palimpsest_hub.errors import HubRefused, HubUnreachable


async def test_followers_wake_when_something_is_written(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="reader")
    ann, bob = team.hub("ann"), team.hub("bob")
    lease, _ = await share(ann, team.id)
    channel = (await bob.conversation(team.id, lease.conversation)).channel
    async with contextlib.aclosing(bob.wakings(channel)) as wakings, asyncio.timeout(10):
        await anext(wakings)
        await ann.say(lease, "t1", 1, ["words"])
        await anext(wakings)
        assert len((await bob.live(team.id, lease.conversation)).frames) == 1
        await ann.push(lease, [message(lease.conversation, 0, "words", None)])
        await anext(wakings)
        assert (await bob.live(team.id, lease.conversation)).frames == ()


async def test_without_notifications_the_clock_wakes(lab: Lab) -> None:
    team = lab.team(ann="writer")
    async with contextlib.aclosing(team.hub("ann").wakings("hub_none", poll_s=0.0)) as wakings, asyncio.timeout(10):
        n = 0
        async for _ in wakings:
            n += 1
            if n == 3:
                break
    assert n == 3


async def test_a_connection_that_was_cut_is_made_again(lab: Lab, postgres: str) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    lease, _ = await share(ann, team.id)
    channel = (await ann.conversation(team.id, lease.conversation)).channel
    async with contextlib.aclosing(ann.wakings(channel)) as wakings, asyncio.timeout(20):
        await anext(wakings)
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gate'")
        await ann.renew(lease)  # without a word of it
        await anext(wakings)  # the cut one
        await anext(wakings)  # and the one that listens again
        await ann.say(lease, "t1", 1, ["words"])
        await anext(wakings)
    assert len((await ann.live(team.id, lease.conversation)).frames) == 1


async def test_a_call_that_is_cancelled_leaves_nothing_for_the_next(lab: Lab) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    slow = asyncio.create_task(ann._calls.rows("SELECT pg_sleep(30), 'not mine'"))
    await asyncio.wait([slow], timeout=0.2)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert await ann.me() == team.ids["ann"]


async def test_a_call_behind_the_end_opens_nothing(lab: Lab, postgres: str) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    await ann.teams()
    late = asyncio.create_task(ann.me())
    await ann.aclose()
    await asyncio.wait([late])
    with pytest.raises(HubUnreachable, match="closed"):
        await ann.teams()
    assert ann._calls._connection is ann._reads._connection is None


async def test_a_hub_that_does_not_answer_is_unreachable(lab: Lab) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        hub = Hub(f"host=127.0.0.1 port={deaf.getsockname()[1]} user=a dbname=b", timeout_s=0.2)
        with pytest.raises(HubUnreachable):
            await hub.teams()
    with pytest.raises(HubUnreachable):
        await hub.teams()
    with pytest.raises(HubUnreachable, match="tried again in a moment"):
        await hub.teams()


async def test_a_wrong_password_and_a_wrong_database_are_told(lab: Lab) -> None:
    team = lab.team(ann="writer")
    login = team.own_login("ann")
    wrong = Hub(make_conninfo(lab.admin, user=login.name, password="wrong"))
    with pytest.raises(HubRefused) as refused:
        await wrong.teams()
    nowhere = Hub(make_conninfo(lab.admin, user="gate", dbname="nowhere", password=lab.gate.password))
    with pytest.raises(HubRefused) as absent:
        await nowhere.teams()
    empty = Hub(make_conninfo(lab.admin, user="gate", dbname="postgres", password=lab.gate.password))
    with pytest.raises(HubRefused) as no_hub:
        await empty.teams()
    await empty.aclose()
    assert [each.value.kind for each in (refused, absent, no_hub)] == ["login", "address", "schema"]


async def test_a_schema_of_another_version_is_refused_with_advice(lab: Lab) -> None:
    team = lab.team(ann="writer")
    lab.owner.execute("INSERT INTO hub.migration (version) VALUES (99)")
    try:
        with pytest.raises(HubRefused, match="Install the newest") as refused:
            await team.hub("ann").teams()
    finally:
        lab.owner.execute("DELETE FROM hub.migration WHERE version = 99")
    assert refused.value.kind == "schema"
    assert len(await team.hub("ann").teams()) == 1


async def test_two_writers_of_one_conversation_wait_for_each_other(lab: Lab) -> None:
    team = lab.team(ann="writer")
    hubs = [team.hub("ann") for _ in range(4)]
    lease, _ = await share(hubs[0], team.id)
    chain: list[NewEntry] = [message(lease.conversation, 0, "one", None)]
    heads = await asyncio.gather(*(hub.push(lease, chain) for hub in hubs))
    assert {head.seq for head in heads} == {1}


def test_pauses_grow_and_differ() -> None:
    least, most = Pauses(30.0, lambda: 0.0), Pauses(30.0, lambda: 1.0)
    assert [least.next_s() for _ in range(3)] == [0.25, 0.5, 1.0]
    assert [most.next_s() for _ in range(8)][-1] == 30.0
    most.reset()
    assert most.next_s() == 0.5
