"""Attacks on what happens in between: while the hub is away, while somebody else writes, and by members who speak SQL.
Each test says the harm that it would do."""

from __future__ import annotations

import asyncio

from tests.hub.checkouts import WADE, Open
from tests.hub.lab import TestTeam
from tests.hub.machines import Machine, assert_same, share, until
from tests.hub.test_sharing_under_attack import hub_texts, lose, unreachable
from tests.services.scripted import says

from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.readers import readers_of
from palimpsest.services.sharing.watch import Watch
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage.sharing import shared_facts
from palimpsest_hub.migration import set_up

# Purges


async def test_a_purge_of_what_moves_apart_purges_the_words_of_others(machines: list[Machine], team: TestTeam) -> None:
    """Ann purges, while the hub is away, what it never had; Bob has said something else there meanwhile. When the hub
    is back, Bob's words are purged in every store: the intended purge knows ids only."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    hub = ann.sharing.hub
    saved = hub.push, hub.lease
    hub.push = unreachable  # type: ignore[method-assign, assignment]
    await ann.ask("Ann?", "Ann!")
    await ann.settle()
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    hub.lease = unreachable  # type: ignore[method-assign, assignment]
    await ann.purge(at, 2, 4)
    hub.push, hub.lease = saved  # type: ignore[method-assign]
    await assert_same(machines, at)
    assert (await bob.texts(at))[2:] == ["Bob?", "Bob!"]
    assert "Bob!" in await hub_texts(bob, team, at)


async def test_a_purge_of_what_a_restored_hub_lost_purges_what_came_after(
    machines: list[Machine], team: TestTeam
) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    n_entries = (await ann.sharing.hub.conversation(team.id, at)).head_seq
    assert await ann.ask("Lost?", "Lost.") == "committed"
    await ann.settle()
    lose(team, at, n_entries)
    set_up(team.lab.admin, is_restored=True)
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    lease = ann.sharing.hub.lease
    ann.sharing.hub.lease = unreachable  # type: ignore[method-assign, assignment]
    await ann.purge(at, 2, 4)
    ann.sharing.hub.lease = lease  # type: ignore[method-assign]
    await assert_same(machines, at)
    assert (await bob.texts(at))[2:] == ["Bob?", "Bob!"]


async def test_a_purge_of_what_was_said_alone_purges_what_the_team_said_meanwhile(
    machines: list[Machine], team: TestTeam
) -> None:
    """Ann, the owner, leaves the team, and purges what she said alone; when she is back, what Bob said meanwhile under
    the same numbers is purged everywhere."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await ann.sharing.hub.set_membership(team.id, team.ids["ann"], "left")
    assert await ann.ask("Alone?", "Alone.") == "committed"
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    await ann.purge(at, 2, 4)
    team.set_role("ann", "writer")
    await publication.open_shared(ann.sharing, team.id, at)
    await assert_same(machines, at)
    assert (await bob.texts(at))[2:] == ["Bob?", "Bob!"]


# Forks


async def running_turn(
    machines: list[Machine], team: TestTeam, at: ConversationId
) -> tuple[RunningTurn, asyncio.Event]:
    """A turn of Bob's that waits, of which the hub has the question."""
    _, bob = machines
    gate = asyncio.Event()
    bob.bench.provider.replies.append([gate, *says("There.")])
    running = await bob.bench.session.turns.start(at, "r", user_message("Bob, where?"))
    assert isinstance(running, RunningTurn)

    async def has_question() -> bool:
        return (await bob.sharing.hub.conversation(team.id, at)).n_messages == 3

    await until(has_question)
    return running, gate


async def test_a_fork_while_somebody_else_writes_takes_his_question_along(
    machines: list[Machine], team: TestTeam
) -> None:
    """Ann goes on in a fork while Bob's question is not answered: the model answers both questions in one."""
    ann, _ = machines
    at = await share(machines, team)
    await ann.settle()
    running, gate = await running_turn(machines, team, at)
    await ann.sharing.pull(at)
    fork = await ann.bench.session.conversations.fork(at, None, None)
    assert "Bob, where?" not in await ann.texts(fork.id)
    asked = await ann.bench.session.conversations.fork(at, MessageId(2), None)
    assert "Bob, where?" in await ann.texts(asked.id)
    gate.set()
    await running.wait()
    await assert_same(machines, at)
    answered = await ann.bench.session.conversations.fork(at, None, None)
    assert (await ann.texts(answered.id))[2:] == ["Bob, where?", "There."]


async def test_a_fork_of_what_the_hub_has_otherwise(machines: list[Machine], team: TestTeam) -> None:
    """Ann and Bob wrote at once. She shares a fork of her part before her machine has noticed: the hub chains it to
    Bob's messages, so that nothing of it can ever be pushed, and everybody is offered an empty fork."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    push = ann.sharing.hub.push
    ann.sharing.hub.push = unreachable  # type: ignore[method-assign, assignment]
    await ann.ask("Ann?", "Ann!")
    await ann.settle()
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    ann.sharing.hub.push = push  # type: ignore[method-assign]
    fork = (await ann.bench.session.conversations.fork(at, None, "f")).id
    ann.bench.conversation_id = fork
    assert await ann.ask("In the fork?", "Yes.") == "committed"
    shared_id = await publication.share(ann.sharing, fork, team.id)
    await publication.open_shared(bob.sharing, team.id, shared_id)
    assert (await bob.texts(shared_id))[2:] == ["Ann?", "Ann!", "In the fork?", "Yes."]
    await assert_same(machines, shared_id)
    await assert_same(machines, at)


# Sums


async def test_a_store_that_only_writes_seems_to_have_nothing(machines: list[Machine], team: TestTeam) -> None:
    """Who looks how far the others are reads that the one who said all of it lacks it, or is nowhere."""
    ann, bob = machines
    at = await share(machines, team)
    assert await ann.ask("And?", "So.") == "committed"
    await ann.settle()
    await bob.sharing.pull(at)
    found = await readers_of(bob.sharing, at)
    assert {each.member: found.head_seq - each.applied_seq for each in found.stores} == {
        team.full_name("ann"): 0,
        team.full_name("bob"): 0,
    }


async def test_a_member_tells_that_the_store_of_another_has_purged(machines: list[Machine], team: TestTeam) -> None:
    """A member notes the store of another as his, before it is heard of, and as far as he likes: after a purge it seems
    to have followed, and what it tells itself is not heard."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    store = await bob.sharing.store_id()
    team.lab.owner.execute("DELETE FROM hub.replica WHERE conversation = %s", [at])
    await ann.sharing.hub.seen(team.id, at, store, 10**9)
    await bob.sharing.hub.seen(team.id, at, store, 1)
    found = await readers_of(ann.sharing, at)
    assert [each.applied_seq for each in found.stores if each.member == team.full_name("bob")] == [1]


# Clocks


async def test_a_clock_of_the_hub_that_was_set_back_locks_everybody_out(
    machines: list[Machine], team: TestTeam
) -> None:
    """A store that ended before the hub's clock was set back by a day keeps its lease for that day."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await ann.sharing.hub.lease(team.id, at, "a store that ended", "a turn")
    team.lab.owner.execute(
        "UPDATE hub.conversation SET lease_until = lease_until + interval '1 day' WHERE id = %s", [at]
    )
    assert (await bob.sharing.hub.conversation(team.id, at)).writer is None
    assert await bob.ask("Bob?", "Bob!") == "committed"


# The watch


async def test_what_the_watch_pushes_refuses_a_message_of_the_user(machines: list[Machine], team: TestTeam) -> None:
    """While the watch pushes what was said without the hub, which may take as long as the hub likes, each message is
    refused: `what the hub lacks is still running. Wait for it to end, or cancel it`, which nobody can."""
    ann, _ = machines
    at = await share(machines, team)
    await ann.settle()
    hub = ann.sharing.hub
    push, lease = hub.push, hub.lease
    hub.push = unreachable  # type: ignore[method-assign, assignment]
    await ann.ask("Ann?", "Ann!")
    await ann.settle()
    hub.push = push  # type: ignore[method-assign]
    is_asked, gate = asyncio.Event(), asyncio.Event()

    async def slow(*arguments: object) -> object:
        if not is_asked.is_set():
            is_asked.set()
            await gate.wait()
        return await lease(*arguments)  # type: ignore[arg-type]

    hub.lease = slow  # type: ignore[method-assign, assignment]
    look = asyncio.create_task(Watch(ann.sharing, 1).look())
    await is_asked.wait()
    asking = asyncio.create_task(ann.ask("And?", "So."))
    await asyncio.wait([asking], timeout=0.5)
    gate.set()
    assert await asking == "committed"
    await look
    await assert_same(machines, at)


# Facts


async def test_facts_whose_sharing_ends_while_they_are_pushed(checkout: Open) -> None:
    """Another server of the store ends the sharing while this one pushes: what the old team has counts as known to the
    next one, so that it never gets these facts, and is told to forget those that are gone meanwhile."""
    ann = await checkout("ann")
    await ann.note(WADE)
    hub = (await ann.shared()).sharing.hub
    real = hub.push_facts

    async def slow(*arguments: object) -> int:
        await ann.run(shared_facts.end)
        return await real(*arguments)  # type: ignore[arg-type]

    hub.push_facts = slow  # type: ignore[method-assign, assignment]
    await ann.share()
    assert await ann.run(shared_facts.known_facts) == {}
