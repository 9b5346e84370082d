"""Several servers on one folder, each with its editor; their turns interleave in the same conversations, and one of
them is killed now and then. Every turn comes to an end once, and its messages stand in one gapless order."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field

from tests.faults.checks import Seen, check_file, check_turns, dump, require
from tests.faults.lab import Lab, Place, Server
from tests.faults.script import plain_turn, turn_with_tools
from tests.faults.trials import Outcome, check_context, finish, verdict_of

TURNS_A_CONVERSATION = 100
TURNS_A_KILL = 40
"""A server is killed about once in as many turns."""
MOST_TRIES = 400


@dataclass
class _Work:
    lab: Lab
    place: Place
    rng: random.Random
    conversations: Sequence[str]
    n_left: int
    seen: list[Seen] = field(default_factory=list)
    """A turn stands here once for every try that showed something."""
    ends: Counter[str] = field(default_factory=Counter)
    n_kills: int = 0
    n_busy: int = 0


async def interleave(lab: Lab, n_servers: int, n_turns: int, seed: int) -> Outcome:
    place = lab.place()
    async with lab.server(place) as server:
        conversations = [
            (await server.editor.client.result("palimpsest/conversation/create", {}))["conversationId"]
            for _ in range(max(n_servers, n_turns // TURNS_A_CONVERSATION))
        ]
        await server.leave()
    work = _Work(lab, place, random.Random(seed), conversations, n_turns)
    await asyncio.gather(*(_serve(work, number) for number in range(n_servers)))
    async with lab.server(place) as server:
        await server.editor.client.result("palimpsest/conversation/list", {})
        before = dump(place.database)
        await server.leave()
    require(dump(place.database) == before, "leaving changed something")
    check_file(place.database)
    check_turns(place.database, work.seen)
    with closing(sqlite3.connect(place.database)) as connection:
        (n_stored,) = connection.execute("SELECT count(*) FROM turn").fetchone()
        (n_asked,) = connection.execute(
            'SELECT count(*) FROM message WHERE content LIKE \'%"role":"user"%\''
        ).fetchone()
    require(n_stored == n_turns, f"{n_turns} turns were had and {n_stored} are stored")
    require(n_asked == n_turns, f"{n_turns} messages were sent and {n_asked} are stored")
    lab.discard(place)
    ends = " ".join(f"{n} {name}" for name, n in work.ends.most_common())
    return Outcome(work.n_kills > 0, f"[{ends}; {work.n_kills} kills, {work.n_busy} waits for another server]")


async def _serve(work: _Work, number: int) -> None:
    """One editor, whose server is started again each time it was killed."""
    n_done = 0
    pending: Seen | None = None
    conversation_id = ""
    while work.n_left > 0 or pending is not None:
        async with work.lab.server(work.place) as server, AsyncExitStack() as stack:
            while work.n_left > 0 or pending is not None:
                if pending is None:
                    work.n_left -= 1
                    n_done += 1
                    make = turn_with_tools if work.rng.random() < 0.1 else plain_turn
                    pending = Seen(make(f"s{number}t{n_done}"), uuid.uuid4().hex)
                    conversation_id = work.rng.choice(work.conversations)
                if work.rng.random() < 1 / TURNS_A_KILL:
                    stack.push_async_callback(_ended, _kill_soon(work, server))
                if not await _try(work, server, pending, conversation_id):
                    break
                pending = None
            else:
                await server.leave()


def _kill_soon(work: _Work, server: Server) -> asyncio.Task[None]:
    wait_s = work.rng.uniform(0, 0.15)

    async def kill() -> None:
        await asyncio.sleep(wait_s)
        work.n_kills += 1
        server.kill()

    return asyncio.create_task(kill())


async def _ended(task: asyncio.Task[None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _try(work: _Work, server: Server, turn: Seen, conversation_id: str) -> bool:
    """Sends until the turn has ended, however. False when the server was killed meanwhile."""
    for _ in range(MOST_TRIES):
        seen = Seen(turn.script, turn.request_id)
        server.editor.client.inbox.clear()
        await finish(server, seen, server.send(seen.script, seen.request_id, conversation_id))
        verdict = verdict_of(seen)
        if seen.deltas and seen.deltas[0].get("turnId") and not _is_repeat(seen):
            work.seen.append(seen)
        if verdict == "none":
            return False
        if verdict in ("committed", "interrupted"):
            work.seen.append(Seen(turn.script, turn.request_id, [], seen.answer))
            work.ends[verdict] += 1
            if verdict == "committed" and work.rng.random() < 0.2:
                with contextlib.suppress(EOFError):
                    await check_context(server, conversation_id)
            return True
        require(verdict in ("conversation_busy", "lease_lost", "running"), f"a turn was answered as {verdict}")
        work.n_busy += 1
        await asyncio.sleep(work.rng.uniform(0.01, 0.1))
    require(False, f"turn {turn.script.name} found its conversation busy for ever")
    return False


def _is_repeat(seen: Seen) -> bool:
    """An ended turn is answered with its whole text as one delta, which is of no one step."""
    return not any(delta["type"] == "done" for delta in seen.deltas) and seen.answer is not None
