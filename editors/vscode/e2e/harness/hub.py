"""A hub for machines in tests: a PostgreSQL of its own, a team, and a way for each member that can be cut.

Arguments: the names of members, all of them writers. Prints one line, `{"NAME": {"PALIMPSEST_HUB_URL": ..., ...}, ...}`,
the environment of each member's machine; then reads orders, `cut NAME` and `mend NAME`, and says `done` after each.
Prints `{}` where there is no PostgreSQL. It ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from benchmarks.hub.relay import Relay
from tests.hub.lab import Lab, new_hub, owning
from tests.hub.postgres import running

from palimpsest_hub import administration
from palimpsest_hub.local import programs


async def serve(postgres: str, names: list[str]) -> None:
    admin = new_hub(postgres)
    gate = administration.make_login(admin, "gate", None)
    async with AsyncExitStack() as stack:
        with owning(admin) as owner:
            team = Lab(admin, gate, owner).team(**dict.fromkeys(names, "writer"))
            for name in names:
                owner.execute("UPDATE hub.member SET name = %s WHERE id = %s", [name, team.ids[name]])
            owner.execute("UPDATE hub.team SET name = 'pumps' WHERE id = %s", [team.id])
        ways = {name: await stack.enter_async_context(Relay(admin)) for name in names}
        environments = {
            name: {
                "PALIMPSEST_HUB_URL": way.way(gate.name, gate.password),
                "PALIMPSEST_HUB_TOKEN": team.tokens[name],
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
    with running() as address:
        asyncio.run(serve(address, sys.argv[1:]))
