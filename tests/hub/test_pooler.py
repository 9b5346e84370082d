"""Behind PgBouncer in transaction mode, members share connections and stay who they are."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.hub.lab import Lab, message, share
from tests.hub.postgres import other_user

from palimpsest_hub.client import Hub
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.inspection import examine

SETTINGS = """
[databases]
hub = host={host} dbname=hub user=gate
[pgbouncer]
listen_addr =
unix_socket_dir = {place}
auth_type = trust
auth_file = {place}/users
pool_mode = transaction
default_pool_size = 1
log_connections = 0
log_disconnections = 0
"""


@pytest.fixture
def pooler(lab: Lab) -> Iterator[str]:
    """The address of a pooler that has one connection to the hub."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("There is no PgBouncer here: install the package pgbouncer.")
    with psycopg.connect(lab.admin, autocommit=True) as connection:  # others of these tests may still hold some
        connection.execute("ALTER ROLE gate CONNECTION LIMIT -1")
    user = other_user()
    with tempfile.TemporaryDirectory(prefix="hub") as name:
        place = Path(name)
        if user is not None:
            os.chown(place, user.pw_uid, user.pw_gid)
        (place / "settings").write_text(SETTINGS.format(host=conninfo_to_dict(lab.admin)["host"], place=place))
        (place / "users").write_text('"gate" ""\n')
        bouncer = subprocess.Popen(
            [program, place / "settings"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            user=user and user.pw_uid,
            group=user and user.pw_gid,
            extra_groups=None if user is None else [],
        )
        with bouncer, contextlib.ExitStack() as stack:
            stack.callback(bouncer.kill)
            assert bouncer.stdout is not None
            assert any("process up" in line for line in bouncer.stdout)
            yield make_conninfo(host=name, port=6432, dbname="hub", user="gate")


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
