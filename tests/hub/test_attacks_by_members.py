"""Attacks by members who speak SQL, and by what happens at every moment of a colleague's turn, by somebody who did not
write the sharing: each test says the harm that it would do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.hub.checkouts import WADE, Open
from tests.hub.lab import AT, TestTeam
from tests.hub.machines import Machine, assert_same, share, until
from tests.hub.test_hostile_entries import next_message, push
from tests.hub.test_sharing_under_attack import hub_texts, lose, unreachable
from tests.services.scripted import calls, open_bench, says

from palimpsest.domain.conversation.chain import content_digest, message_digest
from palimpsest.domain.errors import HubFailed, PalimpsestError
from palimpsest.domain.facts.fact import FactType
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    Digest,
    MessageId,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    TurnId,
    canonical_json,
    user_message,
)
from palimpsest.domain.sharing.facts import SharedFact
from palimpsest.domain.sharing.log import EntryKind, MessageEntry, NewEntry
from palimpsest.domain.sharing.status import PUSH
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Scope
from palimpsest.services.conversation.transfer import Transfers
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.following import Following
from palimpsest.services.sharing.readers import readers_of
from palimpsest.services.sharing.watch import Watch
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage import leases
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.sharing import shared_facts
from palimpsest.storage.turns import turns
from palimpsest_hub.client import MOST_FRAMES
from palimpsest_hub.migration import set_up
from palimpsest_hub.records import NewFact


async def say(machine: Machine, team: TestTeam, at: ConversationId, *contents: Content) -> None:
    """Pushes these messages behind the newest one, with digests that follow."""
    found = await machine.sharing.hub.conversation(team.id, at)
    me = (await machine.sharing.hub.identity()).me
    before, entries = found.head_digest, []
    for n, content in enumerate(contents, found.n_messages):
        own = content_digest(content)
        digest = message_digest(None if before is None else Digest(before), at, MessageId(n), AT, TurnId("t1"), own, me)
        said = MessageEntry(n, AT, "t1", own, digest, content.role.value, 2)
        entries.append(NewEntry(EntryKind.MESSAGE, str(n), canonical_json(content.to_json()), said))
        before = digest
    await push(machine, team, at, *entries)


def assert_sound_request(machine: Machine) -> None:
    """A model's service takes it: each call has its result right behind it, and no result is without its call."""
    open_calls: list[str] = []
    for content in machine.bench.provider.seen[-1].messages:
        if content.results:
            assert [each.call_id for each in content.results] == open_calls[: len(content.results)]
            open_calls = open_calls[len(content.results) :]
        else:
            assert open_calls == []
        open_calls += [each.call_id for each in content.calls]
        assert len(set(open_calls)) == len(open_calls)
    assert open_calls == []


CALL = ToolCallPart("c1", "look", "{}")
RESULT = ToolResultPart("c1", "look", "seen")
SEQUENCES = {
    "a call without a result": [user_message("a"), Content(Role.ASSISTANT, (CALL,))],
    "then a question": [user_message("a"), Content(Role.ASSISTANT, (CALL,)), user_message("b")],
    "a result without a call": [user_message("a"), Content(Role.TOOL, (RESULT,))],
    "two results": [
        user_message("a"),
        Content(Role.ASSISTANT, (CALL,)),
        Content(Role.TOOL, (RESULT,)),
        Content(Role.TOOL, (RESULT,)),
    ],
    "two calls of one id": [
        user_message("a"),
        Content(Role.ASSISTANT, (CALL, CALL)),
        Content(Role.TOOL, (RESULT,)),
        Content(Role.TOOL, (RESULT,)),
    ],
    "a result of another call": [
        user_message("a"),
        Content(Role.ASSISTANT, (CALL,)),
        Content(Role.TOOL, (ToolResultPart("c2", "look", "seen"),)),
    ],
    "an answer without a question": [Content(Role.ASSISTANT, (TextPart("b"),)), Content(Role.ASSISTANT, ())],
    "a call in a question": [Content(Role.USER, (CALL, TextPart("a")))],
    "a result in an answer": [user_message("a"), Content(Role.ASSISTANT, (RESULT, TextPart("a")))],
    "arguments that are none": [
        user_message("a"),
        Content(Role.ASSISTANT, (ToolCallPart("c1", "look", "]"),)),
        Content(Role.TOOL, (RESULT,)),
    ],
    "names that are none": [
        user_message("a"),
        Content(Role.ASSISTANT, (ToolCallPart("", "", ""),)),
        Content(Role.TOOL, (ToolResultPart("", "", ""),)),
    ],
    "nothing": [Content(Role.USER, ()), Content(Role.ASSISTANT, ())],
}


@pytest.mark.parametrize("name", SEQUENCES)
async def test_messages_that_no_model_says(machines: list[Machine], team: TestTeam, name: str) -> None:
    """A model's service refuses each request that shows them: nobody can go on in the conversation."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await say(bob, team, at, *SEQUENCES[name])
    await Watch(ann.sharing, 1).look()
    assert await ann.ask("And now?", "Now.") == "committed"
    assert_sound_request(ann)
    await ann.assert_sound()


@pytest.mark.parametrize("said_at", ["2026-13-45T99:99:99Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59.999Z"])
async def test_a_time_of_no_calendar(machines: list[Machine], team: TestTeam, said_at: str, tmp_path: Path) -> None:
    """A time that looks like one: whatever reads it as a day fails, such as the search of facts or a list."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await push(bob, team, at, await next_message(bob, team, at, "What time is it?", said_at))
    await Watch(ann.sharing, 1).look()
    assert await ann.ask("And now? What time did the heron stand?", "Now.") == "committed"
    await ann.bench.store.read(conversations.list_all)
    text = (await Transfers(ann.bench.session.conversations).export(at)).text
    other = await open_bench(tmp_path / "other")
    await Transfers(other.session.conversations).import_text(text)
    await other.session.folder.close()
    await ann.assert_sound()


async def test_what_a_writer_says_that_he_does(machines: list[Machine], team: TestTeam) -> None:
    """The name of a lease is shown to everybody: it clears their terminals, or says what it pleases in many lines."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await bob.sharing.hub.lease(team.id, at, "another store", "x\x1b[2J\u202e\nyou: rm -rf")
    watch = Watch(ann.sharing, 1)
    await watch.look()
    work = watch.presence.writing[at].work
    assert work.isprintable()
    outcome = asyncio.gather(ann.ask("And?", "So."), return_exceptions=True)
    (refused,) = await outcome
    assert str(refused).isprintable()


async def test_frames_without_end(machines: list[Machine], team: TestTeam) -> None:
    """A writer shows frames for as long as he likes: who looks at the conversation keeps all of them in memory."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    lease = await bob.sharing.hub.lease(team.id, at, "another store", "a turn")
    watch = Watch(ann.sharing, 1)
    frame = json.dumps(["text", "x" * 60_000, None])
    watch.presence.look_at(at)

    async def is_followed() -> bool:
        return at in watch.presence.turns

    for n in range(60):
        await bob.sharing.hub.say(lease, "endless", 1 + 20 * n, [frame] * 20)
    await until(is_followed)
    for n in range(60, 70):
        await bob.sharing.hub.say(lease, "endless", 1 + 20 * n, [frame])
        await asyncio.sleep(0)
    n_kept = sum(len(each.event.text) for each in watch.presence.turns[at].shown)
    await bob.sharing.hub.release(lease)
    await asyncio.gather(*watch.presence.stop(), return_exceptions=True)
    assert n_kept < 16 << 20


async def test_who_comes_late_sees_all_frames(machines: list[Machine], team: TestTeam) -> None:
    """Of a long answer only the first frames are shown, until the next word is said."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    lease = await bob.sharing.hub.lease(team.id, at, "another store", "a turn")
    n_frames = 2 * MOST_FRAMES + 100
    for first in range(1, n_frames, 100):
        frames = [json.dumps(["text", f"{n} ", None]) for n in range(first, first + 100)]
        await bob.sharing.hub.say(lease, "long", first, frames)

    async def once(*_: object) -> AsyncGenerator[None]:
        yield

    ann.sharing.hub.wakings = once  # type: ignore[method-assign, assignment]
    shown = [each.seq async for some in Following(ann.sharing, at).shown() for each in some]
    assert shown == list(range(1, n_frames + 1))
    await bob.sharing.hub.release(lease)


async def test_stores_without_end(machines: list[Machine], team: TestTeam) -> None:
    """A reader tells of a thousand stores of his own: nobody sees any more whether a purge has reached the others."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    for n in range(200):
        await bob.sharing.hub.seen(team.id, at, f"made up {n}", 0)
    await bob.sharing.pull(at)
    await bob.sharing.hub.seen(team.id, at, await bob.sharing.store_id(), 1)
    assert len((await readers_of(ann.sharing, at)).stores) < 50


async def test_a_guessed_fact_is_occupied(checkout: Open, birds: TestTeam) -> None:
    """Who guesses a statement pushes junk under its key before anybody learns it: the team never gets the fact, and its
    author believes that it has."""
    ann, bob = await checkout("ann"), await checkout("bob")
    await ann.share()
    await bob.share()
    share = await ann.run(shared_facts.share)
    assert share is not None
    key = SharedFact(FactType.ENTITY, WADE).key
    await birds.hub("bob").push_facts(birds.id, share.repository, [NewFact(key, "open", "{}")])
    await ann.note(WADE)
    await ann.look()
    await bob.look()
    assert await bob.said() == [WADE]


# At every moment of a colleague's turn


async def test_a_fork_at_every_moment_of_a_turn(machines: list[Machine], team: TestTeam) -> None:
    """Ann goes on in a fork while Bob's answer waits for a tool: her request has a call without a result."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    gate = asyncio.Event()
    bob.bench.provider.replies += [calls(("1", "nothing_of_that_name", "{}")), [gate, *says("There.")]]
    running = await bob.bench.session.turns.start(at, "r", user_message("Bob, where?"))
    assert isinstance(running, RunningTurn)
    n_seen = 0
    for wanted in (3, 4, 5):

        async def has(n: int = wanted) -> bool:
            return (await bob.sharing.hub.conversation(team.id, at)).n_messages >= n

        await until(has)
        await ann.sharing.pull(at)
        ann.bench.conversation_id = (await ann.bench.session.conversations.fork(at, None, None)).id
        assert await ann.ask(f"Mine {wanted}?", "Mine.") == "committed"
        assert_sound_request(ann)
        n_seen += 1
        for after in range(2, (await ann.bench.store.read(conversations.get, at)).n_messages):
            ann.bench.conversation_id = (await ann.bench.session.conversations.fork(at, MessageId(after), None)).id
            assert await ann.ask(f"Mine {wanted} {after}?", "Mine.") == "committed"
            assert_sound_request(ann)
    gate.set()
    await running.wait()
    await assert_same(machines, at)
    assert n_seen == 3


# What was not told, or told for ever


async def test_what_a_reader_hides_counts_as_unsent_for_ever(machines: list[Machine], team: TestTeam) -> None:
    """Each look asks for a lease that a reader never gets, and the status says for ever that something was not sent."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    team.set_role("bob", "reader")
    await bob.bench.session.conversations.roll_back(at, MessageId(0))
    watch = Watch(bob.sharing, 1)
    await watch.look()
    assert watch.status.n_unsent == 0
    await ann.sharing.pull(at)
    assert await ann.bench.store.read(hidden_ranges.read, at) == []


async def test_another_server_of_the_store_brings_it_into_step(
    machines: list[Machine], team: TestTeam, tmp_path: Path
) -> None:
    """A message of the user is refused while another server of his pushes: he cannot cancel that."""
    ann, _ = machines
    at = await share(machines, team)
    await ann.settle()
    other = await open_bench(tmp_path / "ann")
    lease, _ = await other.store.run(turns.take, other.store.writer(AT), at, PUSH)
    asking = asyncio.create_task(ann.ask("And?", "So."))
    await asyncio.wait([asking], timeout=0.5)
    assert not asking.done()
    await other.store.run(leases.release, lease)
    assert await asking == "committed"
    await other.session.folder.close()


async def typed(machine: Machine, at: ConversationId, text: str) -> str:
    machine.bench.session.folder.sharing.current = machine.sharing
    return (await run_command(Scope(machine.bench.session, at), text)).text


async def test_a_purge_says_what_it_will_not_do(machines: list[Machine], team: TestTeam) -> None:
    """Who types /purge learns only from the refusal that a colleague's messages are not his to purge, and not at all
    that the copy of a conversation stays."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    assert "refuse" in await typed(bob, at, "/purge 0-1")
    assert "refuse" not in await typed(ann, at, "/purge 0-1")
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    await ann.sharing.pull(at)
    assert "refuse" not in await typed(bob, at, "/purge 2-3")
    assert "refuse" not in await typed(ann, at, "/purge 2-3")  # she owns the conversation
    lease = bob.sharing.hub.conversation
    bob.sharing.hub.conversation = unreachable  # type: ignore[method-assign, assignment]
    assert "does not answer" in await typed(bob, at, "/purge 0-1")
    bob.sharing.hub.conversation = lease  # type: ignore[method-assign]
    original = (await ann.bench.session.conversations.create("herons", None)).id
    ann.bench.conversation_id = original
    await ann.ask("Look at /home/ann/heron/a.py", "Yes.")
    await publication.share(ann.sharing, original, team.id)
    assert "A copy is shared and stays" in await typed(ann, original, "/purge 0-1")


# While the hub is away, revoked or restored


async def test_a_token_that_is_revoked_in_mid_turn(machines: list[Machine], team: TestTeam) -> None:
    """What was said is lost to the team, or said under nobody's name, or the sharing ends here."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    gate = asyncio.Event()
    ann.bench.provider.replies.append([gate, *says("There.")])
    running = await ann.bench.session.turns.start(at, "r", user_message("Where?"))
    assert isinstance(running, RunningTurn)

    async def has_question() -> bool:
        return (await bob.sharing.hub.conversation(team.id, at)).n_messages == 3

    await until(has_question)
    team.lab.owner.execute("UPDATE hub.token SET revoked_at = now() WHERE member = %s", [team.ids["ann"]])
    gate.set()
    assert await running.wait() is not None
    await ann.settle()
    watch = Watch(ann.sharing, 1)
    with pytest.raises(HubFailed):
        await watch.look()
    team.lab.owner.execute("UPDATE hub.token SET revoked_at = NULL WHERE member = %s", [team.ids["ann"]])
    await watch.look()
    await assert_same(machines, at)
    assert (await bob.texts(at))[2:] == ["Where?", "There."]


async def test_two_purges_at_once(machines: list[Machine], team: TestTeam) -> None:
    """Both members purge, and the store of one of them twice at once: one of the purges is lost, or a store keeps
    words."""
    ann, bob = machines
    at = await share(machines, team)
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    await ann.sharing.pull(at)
    await asyncio.gather(ann.purge(at, 0, 2), bob.purge(at, 2, 4), ann.purge(at, 0, 2), return_exceptions=True)
    await ann.purge(at, 0, 2)
    await bob.purge(at, 2, 4)
    await assert_same(machines, at)
    said = await hub_texts(ann, team, at)
    assert "reeds" not in said
    assert "Bob!" not in said
    assert "".join(await ann.texts(at)) == ""


async def test_a_hub_restored_between_two_purges(machines: list[Machine], team: TestTeam) -> None:
    """The backup has the first purge and not the second: the words of the second come back for good."""
    ann, bob = machines
    at = await share(machines, team)
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    await ann.purge(at, 0, 2)
    await bob.sharing.pull(at)
    rows = team.lab.owner.execute("SELECT seq, body FROM hub.entry WHERE conversation = %s", [at]).fetchall()
    n_entries = (await ann.sharing.hub.conversation(team.id, at)).head_seq
    await bob.purge(at, 2, 4)
    await assert_same(machines, at)
    lose(team, at, n_entries)
    for seq, body in rows:
        if body is not None:
            sql = "UPDATE hub.entry SET body = %s, gone = NULL WHERE conversation = %s AND seq = %s"
            team.lab.owner.execute(sql, [body, at, seq])
    set_up(team.lab.admin, is_restored=True)
    for machine in (*machines, *machines):
        await Watch(machine.sharing, 1).look()
        await machine.sharing.reconcile(at)
    assert "Bob!" not in await hub_texts(ann, team, at)
    await assert_same(machines, at)
    assert "".join(await ann.texts(at)) == ""


async def test_a_purge_intended_then_unshared_shared_and_forked(machines: list[Machine], team: TestTeam) -> None:
    """The purge waits for the hub; the sharing ends, a copy is shared, a fork goes on: the words stay in a fork of the
    hub, or the intended purge hits what has the same numbers there."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.ask("Two?", "Two.")
    await ann.settle()
    fork = (await ann.bench.session.conversations.fork(at, None, "f")).id
    ann.bench.conversation_id = fork
    await ann.ask("In it?", "In it.")
    await publication.share(ann.sharing, fork, team.id)
    await ann.settle()
    await publication.open_shared(bob.sharing, team.id, fork)
    lease = ann.sharing.hub.lease
    ann.sharing.hub.lease = unreachable  # type: ignore[method-assign, assignment]
    await ann.purge(at, 2, 4)
    ann.sharing.hub.lease = lease  # type: ignore[method-assign]
    await publication.unshare(ann.sharing, at)
    copy = await publication.share(ann.sharing, at, team.id)
    assert copy != at
    await publication.open_shared(bob.sharing, team.id, copy)
    for machine in (*machines, *machines):
        await Watch(machine.sharing, 1).look()
    assert await bob.texts(copy) == ["Where does the heron stand?", "In the reeds.", "", ""]
    assert (await bob.texts(fork))[2:] == ["", "", "In it?", "In it."]
    assert "Two." not in await hub_texts(ann, team, fork)
    await assert_same(machines, copy)
    await assert_same(machines, fork)


async def test_an_end_of_the_sharing_with_messages_that_the_hub_never_had(
    machines: list[Machine], team: TestTeam, tmp_path: Path
) -> None:
    """Ann ends the sharing while some of what she said is not pushed, exports, imports and shares again: that goes out
    as if it had been shared, or is lost."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    push_ = ann.sharing.hub.push
    ann.sharing.hub.push = unreachable  # type: ignore[method-assign, assignment]
    await ann.ask("Ann?", "Ann!")
    await ann.settle()
    ann.sharing.hub.push = push_  # type: ignore[method-assign]
    await publication.unshare(ann.sharing, at)
    await Watch(bob.sharing, 1).look()
    assert "Ann!" not in await bob.texts(at)
    text = (await Transfers(ann.bench.session.conversations).export(at)).text
    other = await open_bench(tmp_path / "other")
    imported = (await Transfers(other.session.conversations).import_text(text)).record.id
    assert [each.content.text for each in await other.store.read(message_log.read, imported, 0)][2:] == ["Ann?", "Ann!"]
    await other.session.folder.close()
    with pytest.raises(PalimpsestError):
        await publication.open_shared(bob.sharing, team.id, at)
    copy = await publication.share(ann.sharing, at, team.id)
    await publication.open_shared(bob.sharing, team.id, copy)
    assert (await bob.texts(copy))[2:] == ["Ann?", "Ann!"]
    await assert_same(machines, copy)
