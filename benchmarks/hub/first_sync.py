"""How long it takes to share a long conversation, and to take it in on another machine.

    python -m benchmarks.hub.first_sync [--messages N]

Messages of 2 KB are stored in ann's store, shared through a real hub, and opened in bob's. Target: 1,000 a second each
way. The reference is storing the same messages in a store alone, at once and made findable, as an import does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil
from benchmarks.hub.places import home, hub_on_disk, load
from psycopg.conninfo import make_conninfo
from tests.hub.lab import Lab, TestTeam

from palimpsest.app.compose import load_folders
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.machine import utc_now
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Scope
from palimpsest.services.folder.folders import Folders
from palimpsest.services.folder.session import FolderSession
from palimpsest.storage.conversation import message_log

TARGET: Final = 1_000
_BYTES: Final = 2_000
_AT_ONCE: Final = 200


def texts(n: int) -> Iterator[str]:
    """Words as they come in talk about code: few that are frequent, and many names."""
    rng = random.Random(1)
    words = [f"{rng.choice(('pump', 'parse', 'heron', 'value', 'node'))}_{each}" for each in range(4_000)]
    words += "the a of is when it fails because in file and function returns error line".split() * 200
    for _ in range(n):
        text = ""
        while len(text) < _BYTES:
            text += rng.choice(words) + " "
        yield text[:_BYTES]


def environment(lab: Lab, team: TestTeam, name: str, place: Path) -> dict[str, str]:
    places = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    return {
        **os.environ,
        **dict.fromkeys(places, str(place)),
        "PALIMPSEST_HUB_URL": make_conninfo(lab.admin, user=lab.gate.name, password=lab.gate.password),
        "PALIMPSEST_HUB_TOKEN": team.tokens[name],
        "PALIMPSEST_HUB_POLL_S": "600",
        "PALIMPSEST_MODEL": "offline",
    }


async def store(session: FolderSession, n: int) -> ConversationId:
    at = (await session.conversations.create("herons", None)).id
    waiting = list(texts(n))
    for start in range(0, n, _AT_ONCE):
        contents = [user_message(each) for each in waiting[start : start + _AT_ONCE]]
        await session.folder.store.run(message_log.append, at, contents, utc_now())
    return at


async def run(n_messages: int) -> None:
    process = psutil.Process()
    with hub_on_disk() as lab, tempfile.TemporaryDirectory() as directory:
        team = lab.team(ann="writer", bob="writer")
        root = Path(directory)
        async with contextlib.AsyncExitStack() as stack:
            sessions: dict[str, FolderSession] = {}
            for name in ("ann", "bob"):
                place = home(root, name)
                folders: Folders = await asyncio.to_thread(load_folders, environment(lab, team, name, place))
                stack.push_async_callback(folders.close)
                sessions[name] = await folders.get(place)

            def report(what: str, began: float, used: float, target: int = 0) -> None:
                rate = n_messages / (time.monotonic() - began)
                cpu_ms = (sum(process.cpu_times()[:2]) - used) / n_messages * 1000
                verdict = "" if not target else f"; target {target:,}: {'met' if rate >= target else 'NOT MET'}"
                print(f"  {what:<9} {rate:7,.0f} messages a second, {cpu_ms:.2f} ms of this processor each{verdict}")

            print(f"first sync: {n_messages:,} messages of {_BYTES:,} bytes, {load()}")
            began, used = time.monotonic(), sum(process.cpu_times()[:2])
            at = await store(sessions["ann"], n_messages)
            report("stored", began, used)
            began, used = time.monotonic(), sum(process.cpu_times()[:2])
            await run_command(Scope(sessions["ann"], at), "/share yes")
            report("pushed", began, used, TARGET)
            began, used = time.monotonic(), sum(process.cpu_times()[:2])
            await run_command(Scope(sessions["bob"], None), f"/shared {at[:8]}")
            report("pulled", began, used, TARGET)
            ((size, n_bytes),) = lab.owner.execute(
                "SELECT pg_total_relation_size('hub.entry'), sum(octet_length(body)) FROM hub.entry"
            ).fetchall()
            print(f"  {n_bytes / 1e6:.1f} MB of text take {size / 1e6:.1f} MB of the hub; {load()}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hub.first_sync")
    parser.add_argument("--messages", type=int, default=10_000)
    asyncio.run(run(parser.parse_args(arguments).messages))


if __name__ == "__main__":
    main(sys.argv[1:])
