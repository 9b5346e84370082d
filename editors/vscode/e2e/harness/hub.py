"""A hub for machines in tests: a PostgreSQL of its own, a team, and a way for each member that can be cut.

Arguments: the team, then the names of its members, all of them writers. Prints one line, `{"NAME":
{"PALIMPSEST_HUB_URL": ..., ...}, ...}`, the environment of each member's machine; then reads orders, `cut NAME` and
`mend NAME`, and says `done` after each. Prints `{}` where there is no PostgreSQL. It ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack

import psycopg
from benchmarks.hub.relay import Relay
from psycopg.conninfo import make_conninfo
from tests.hub.postgres import running

from palimpsest_hub.local import programs

LOGIN = "gate"
"""The login that the members share; the hub tells them apart by their tokens."""


def set_up(postgres: str, team: str, names: list[str]) -> tuple[str, dict[str, str]]:
    """The address of the hub's owner, who is no superuser, and each member's token: by the commands that
    administrators type."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE keeper LOGIN CREATEROLE")
        connection.execute("CREATE DATABASE hub OWNER keeper")
    address = make_conninfo(postgres, dbname="hub", user="keeper")

    def hub(*words: str) -> str:
        command = (sys.executable, "-P", "-m", "palimpsest", "hub", "--address", address, *words)
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    hub("setup", "--shared-login", LOGIN)
    for name in names:
        hub("member", "add", name, team)
    return address, {name: hub("token", "create", name).split()[-1] for name in names}


async def serve(postgres: str, team: str, names: list[str]) -> None:
    address, tokens = await asyncio.to_thread(set_up, postgres, team, names)
    async with AsyncExitStack() as stack:
        ways = {name: await stack.enter_async_context(Relay(address)) for name in names}
        environments = {
            name: {
                "PALIMPSEST_HUB_URL": way.way(LOGIN, "unused"),  # the tests' PostgreSQL trusts this login
                "PALIMPSEST_HUB_TOKEN": tokens[name],
                "PALIMPSEST_HUB_POLL_S": "1",
                "PALIMPSEST_HUB_FACTS": "true",
            }
            for name, way in ways.items()
        }
        print(json.dumps(environments), flush=True)
        while words := (await asyncio.to_thread(sys.stdin.readline)).split():
            getattr(ways[words[1]], words[0])()
            print("done", flush=True)


if next(programs(), None) is None:
    print("{}", flush=True)
else:
    with running() as superuser:
        asyncio.run(serve(superuser, sys.argv[1], sys.argv[2:]))
