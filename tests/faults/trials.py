"""One trial each: a fault under a server in the middle of scripted turns, then everything that must hold after it."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from tests.faults.checks import Broken, Seen, check_file, check_turns, dump, require, require_same
from tests.faults.lab import TURN_S, Lab, Place, Server
from tests.faults.script import Script, plain_turn, random_turn, turn_with_tools
from tests.faults.serve import Fault
from tests.lsp.rawlsp import Message, Request


@dataclass(frozen=True)
class Outcome:
    """The result of a trial. A broken promise raises `Broken`."""

    was_reached: bool
    """Whether the fault came at all: the trial may have been over before."""
    answer: str = ""
    """How the turn under the fault was answered: its status, the kind of its error, or `none`."""


async def statements_of(lab: Lab, script: Script) -> list[str]:
    """The beginning of every statement that a turn without a fault makes, from the server's start to the turn's end."""
    place = lab.place()
    log = place.home / "statements"
    async with lab.server(place, Fault(log=str(log))) as server:
        seen = [await run_turn(server, script, None)]
        lines = log.read_text().splitlines()
        await server.leave()
    require(verdict_of(seen[0]) == "committed", f"without a fault the turn ended as {verdict_of(seen[0])}")
    check_file(place.database)
    check_turns(place.database, seen)
    lab.discard(place)
    return lines


async def kill_at(lab: Lab, fault: Fault) -> Outcome:
    """The server kills itself at a statement of a turn with tools."""
    place = lab.place()
    async with lab.server(place, fault) as server:
        seen = await run_turn(server, turn_with_tools(), None)
        was_reached = seen.answer is None
        server.kill()
        require(await server.ended() == -9, "the server ended by itself")
        collect(server, seen)
    await recover(lab, place, [seen])
    lab.discard(place)
    return Outcome(was_reached, verdict_of(seen))


async def kill_at_random(lab: Lab, seed: int) -> Outcome:
    """One to three random turns in one conversation; the server is killed from outside, at some moment."""
    rng = random.Random(seed)
    scripts = [random_turn(rng, f"r{seed}t{number}") for number in range(rng.randint(1, 3))]
    n_events = sum(7 + 4 * len(step.calls) for script in scripts for step in script.steps)
    wait_s = rng.uniform(0, 0.1 + 0.012 * n_events)
    place = lab.place()
    seen: list[Seen] = []
    async with lab.server(place) as server:

        async def talk() -> None:
            conversation_id = None
            for script in scripts:
                seen.append(Seen(script, uuid.uuid4().hex))
                await finish(server, seen[-1], server.send(seen[-1].script, seen[-1].request_id, conversation_id))
                conversation_id = conversation_of(seen[-1])

        talking = asyncio.create_task(talk())
        done, _ = await asyncio.wait([talking], timeout=wait_s)
        server.kill()
        await server.ended()
        await talking
        for each in seen:
            collect(server, each)
    await recover(lab, place, seen)
    lab.discard(place)
    return Outcome(not done, verdict_of(seen[-1]))


async def error_at(lab: Lab, fault: Fault, until: bool) -> Outcome:
    """A statement of a turn fails, or all do from then on until somebody makes room. The server lives: the request is
    answered, the next turn works, and nothing is lost."""
    place = lab.place()
    room = place.home / "room"
    if until:
        fault = dataclasses.replace(fault, until=str(room))
    async with lab.server(place, fault) as server:
        seen = await run_turn(server, turn_with_tools(), None)
        require(seen.answer is not None, "the server died of an error")
        verdict = verdict_of(seen)
        require(verdict in ("committed", "store"), f"an error of the store was answered as {verdict}")
        room.touch()
        following = await run_turn(server, plain_turn("b"), conversation_of(seen))
        late: list[Seen] = []
        if not until and verdict == "committed" and verdict_of(following) == "store":
            # A busy machine makes fewer statements, so the one that fails was the next turn's.
            late = [following]
            following = await run_turn(server, plain_turn("c"), conversation_of(seen))
        require(verdict_of(following) == "committed", f"the turn after the error ended: {sentence_of(following)}")
        await check_context(server, conversation_of(following))
        await server.leave()
        collect(server, seen)
    await recover(lab, place, [seen, *late, following])
    lab.discard(place)
    return Outcome(verdict != "committed", verdict)


async def recover(lab: Lab, place: Place, seen: Sequence[Seen]) -> None:
    """A server recovers, a second one changes nothing, a repeated request makes no second turn, and it goes on."""
    async with lab.server(place) as server:
        await server.editor.client.result("palimpsest/conversation/list", {})
        before = dump(place.database)
        check_file(place.database)
        check_turns(place.database, seen)
    async with lab.server(place) as server:
        await server.editor.client.result("palimpsest/conversation/list", {})
        require_same(before, dump(place.database))
        last = seen[-1]
        again = Seen(last.script, last.request_id)
        known = next((found for each in seen if (found := conversation_of(each)) is not None), None)
        await finish(server, again, server.send(again.script, again.request_id, known))
        following = await run_turn(server, plain_turn("z"), conversation_of(again) or known)
        require(verdict_of(following) == "committed", f"the turn after the recovery ended: {sentence_of(following)}")
        require(await server.leave() == 0, "the server that recovered did not end well")
    check_file(place.database)
    check_turns(place.database, [*seen, Seen(again.script, again.request_id, [], again.answer), following])


async def check_context(server: Server, conversation_id: str | None) -> None:
    """The next request of the conversation has every message, none left out and none twice."""
    params = {"conversationId": conversation_id, "text": "and now?"}
    page = await server.editor.client.result("palimpsest/conversation/read", {"conversationId": conversation_id})
    plan = await server.editor.client.result("palimpsest/prepareContext", params)
    ranges = [segment["messages"] for segment in plan["segments"] if "messages" in segment]
    edges = [0, *(each["end"] for each in ranges)]
    require([each["start"] for each in ranges] == edges[:-1], "the next request leaves messages out, or has some twice")
    n_messages = page["conversation"]["messageCount"]
    require(edges[-1] >= n_messages, f"the next request ends at {edges[-1]} of {n_messages} messages")


async def run_turn(server: Server, script: Script, conversation_id: str | None) -> Seen:
    seen = Seen(script, uuid.uuid4().hex)
    await finish(server, seen, server.send(script, seen.request_id, conversation_id))
    return seen


async def finish(server: Server, seen: Seen, request: Request) -> None:
    """Waits for the answer, or for the server's end."""
    answering = asyncio.create_task(request.answer(TURN_S))
    # A server that was gone before the request was sent closes nothing more.
    await asyncio.wait([answering, server.editor.client.reading], return_when=asyncio.FIRST_COMPLETED)
    if not request.is_answered and server.editor.client.reading.done():
        answering.cancel()
    try:
        seen.answer = await answering
    except (EOFError, asyncio.CancelledError):
        seen.answer = None
    except TimeoutError:
        raise Broken(f"turn {seen.script.name}: no answer came") from None
    collect(server, seen)


def collect(server: Server, seen: Seen) -> None:
    seen.deltas = server.editor.shown(seen.request_id)


def conversation_of(seen: Seen) -> str | None:
    if seen.deltas:
        return str(seen.deltas[0]["conversationId"])
    return None


def verdict_of(seen: Seen) -> str:
    answer: Message | None = seen.answer
    if answer is None:
        return "none"
    return str(answer["result"]["status"] if "result" in answer else (answer["error"].get("data") or {}).get("kind"))


def sentence_of(seen: Seen) -> str:
    """The sentence in which the editor learned how it ended."""
    answer = seen.answer or {}
    return f"{verdict_of(seen)} ({answer.get('error', {}).get('message', 'no error')})"
