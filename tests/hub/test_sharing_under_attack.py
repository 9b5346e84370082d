"""What went wrong with sharing when somebody tried to make it: purges by way of forks, a hub that was restored, copied
stores, moved folders, another hub, and what another machine does in the middle of a turn."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hub.lab import Lab, TestTeam
from tests.hub.machines import Machine, assert_same, share, until
from tests.services.scripted import calls, open_bench, says

from palimpsest.domain.errors import ConversationBusy, HubFailed, HubIsAway
from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.domain.models.provider import TextDelta
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.turns.journal import EventType, JournalEvent, Numbered
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.services.sharing.watch import Watch
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.services.turns.running import RunningTurn
from palimpsest.services.turns.shared_turn import Frames
from palimpsest.storage import leases
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import conversations, hidden_ranges
from palimpsest.storage.sharing import shared
from palimpsest.storage.sharing.shared import Terms
from palimpsest.storage.store import open_store
from palimpsest_hub.client import Hub
from palimpsest_hub.errors import HubUnreachable
from palimpsest_hub.migration import set_up


async def unreachable(*_: object) -> object:
    raise HubUnreachable


async def hub_texts(machine: Machine, team: TestTeam, at: ConversationId) -> str:
    found = await machine.sharing.hub.conversation(team.id, at)
    entries = await machine.sharing.hub.entries(team.id, at, 0)
    return "\n".join([found.title, *(each.body or "" for each in entries)])


async def share_a_summarized_fork(ann: Machine, team: TestTeam) -> tuple[ConversationId, ConversationId]:
    """A shared conversation about Xanthippe, and a shared fork of it with a summary that names her."""
    at = ann.bench.conversation_id
    await ann.ask("The heron is called Xanthippe in src/heron.py, never write Socrates.", "A name. " * 200)
    for n in range(6):
        await ann.ask(f"Question {n} about src/pump_{n}.py?", f"The pump_{n} is on. " * 60)
    await publication.share(ann.sharing, at, team.id)
    fork = (await ann.bench.session.conversations.fork(at, None, "f")).id
    ann.bench.conversation_id = fork
    await ann.ask("In the fork?", "Yes, in it. " * 30)
    await publication.share(ann.sharing, fork, team.id)
    await ann.bench.session.conversations.summarize(fork, (MessageId(0), MessageId(14)))
    await ann.settle()
    await ann.sharing.reconcile(fork)
    assert "Xanthippe" in await hub_texts(ann, team, fork)
    return at, fork


# Purges


async def test_a_purge_reaches_what_shared_forks_made_of_the_messages(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at, fork = await share_a_summarized_fork(ann, team)
    await publication.open_shared(bob.sharing, team.id, fork)
    await ann.purge(at, 0, 2)
    await ann.sharing.reconcile(fork)
    assert "Xanthippe" not in await hub_texts(ann, team, at) + await hub_texts(ann, team, fork)
    await bob.sharing.reconcile(fork)
    await bob.sharing.reconcile(at)
    assert "Xanthippe" not in await hub_texts(ann, team, fork)
    for machine in machines:
        summaries = await machine.bench.store.read(summary_tree.read, fork)
        assert not any("Xanthippe" in each.text for each in summaries)
    await assert_same(machines, fork)


@pytest.mark.parametrize("is_fork_shared", [False, True])
async def test_a_purge_by_way_of_a_fork_reaches_the_hub(
    machines: list[Machine], team: TestTeam, is_fork_shared: bool
) -> None:
    ann, bob = machines
    at = await share(machines, team)
    fork = (await ann.bench.session.conversations.fork(at, None, "f")).id
    if is_fork_shared:
        await publication.share(ann.sharing, fork, team.id)
    await ann.purge(fork, 0, 2)
    assert await ann.texts(at) == ["", ""]
    assert "reeds" not in await hub_texts(ann, team, at)
    await Watch(bob.sharing, 1).look()
    assert await bob.texts(at) == ["", ""]
    await assert_same(machines, at)


async def test_a_purge_does_not_wait_for_who_writes_in_a_fork(machines: list[Machine], team: TestTeam) -> None:
    """He loses the lease, takes the purge in, and then pushes what he has said."""
    ann, bob = machines
    at = await share(machines, team)
    fork = (await ann.bench.session.conversations.fork(at, None, "f")).id
    await publication.share(ann.sharing, fork, team.id)
    bob.bench.conversation_id = await publication.open_shared(bob.sharing, team.id, fork)
    gate = asyncio.Event()
    bob.bench.provider.replies.append([gate, *says("Late.")])
    running = await bob.bench.session.turns.start(fork, "r", user_message("Slow?"))
    assert isinstance(running, RunningTurn)
    await ann.purge(at, 0, 2)
    assert "reeds" not in await hub_texts(ann, team, at)
    gate.set()
    await running.wait()
    await assert_same(machines, fork)
    assert (await ann.texts(fork))[2:] == ["Slow?", "Late."]
    assert "reeds" not in " ".join(await bob.texts(fork))


async def test_a_fork_that_is_shared_later_begins_with_the_purges(machines: list[Machine], team: TestTeam) -> None:
    """Bob's fork was made, and summarized, before he heard of Ann's purge."""
    ann, bob = machines
    await ann.ask("The heron is called Xanthippe.", "A fine name. " * 100)
    for n in range(4):
        await ann.ask(f"Question {n} about src/pump_{n}.py?", f"The pump_{n} is on. " * 60)
    at = await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    await publication.open_shared(bob.sharing, team.id, at)
    fork = (await bob.bench.session.conversations.fork(at, None, "f")).id
    await bob.bench.session.conversations.summarize(fork, (MessageId(0), MessageId(8)))
    await ann.purge(at, 0, 2)
    await publication.share(bob.sharing, fork, team.id)
    assert "Xanthippe" not in await hub_texts(bob, team, fork)
    assert "" in await bob.texts(at)


async def test_titles_made_of_purged_words_go_everywhere(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    await ann.ask("In /home/ann/heron/xanthippe/a.py something about the secret project stands", "I see.")
    at = await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    await publication.open_shared(bob.sharing, team.id, at)
    await ann.purge(at, 0, 2)
    for machine in (ann, bob, ann):
        await Watch(machine.sharing, 1).look()
    mine = (await ann.bench.store.read(conversations.get, at)).title
    his = (await bob.bench.store.read(conversations.get, at)).title
    assert "xanthippe" not in await hub_texts(ann, team, at) + mine + his


async def test_a_purge_while_the_hub_is_away_reaches_it_later(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    lease = ann.sharing.hub.lease
    ann.sharing.hub.lease = unreachable  # type: ignore[method-assign, assignment]
    await ann.purge(at, 0, 2)
    assert await ann.texts() == ["", ""]
    bob.bench.conversation_id = at
    assert await bob.ask("And the stork?", "On the roof.") == "committed"
    await bob.settle()
    ann.sharing.hub.lease = lease  # type: ignore[method-assign]
    await ann.sharing.pull(at)
    ann.sharing.hub.lease = unreachable  # type: ignore[method-assign, assignment]
    with pytest.raises(HubIsAway):  # what others said is purged in the hub first, or not at all
        await ann.purge(at, 2, 4)
    ann.sharing.hub.lease = lease  # type: ignore[method-assign]
    await Watch(ann.sharing, 1).look()
    assert "reeds" not in await hub_texts(ann, team, at)
    await assert_same(machines, at)
    assert await bob.texts() == ["", "", "And the stork?", "On the roof."]


async def test_what_was_purged_before_it_was_pushed_never_leaves(machines: list[Machine], team: TestTeam) -> None:
    ann, _ = machines
    at = await share(machines, team)
    push = ann.sharing.hub.push
    ann.sharing.hub.push = unreachable  # type: ignore[method-assign, assignment]
    await ann.ask("Who is Xanthippe?", "A heron.")
    await ann.settle()
    ann.sharing.hub.push = push  # type: ignore[method-assign]
    await ann.purge(at, 2, 4)
    await assert_same(machines, at)
    assert "Xanthippe" not in await hub_texts(ann, team, at)


# The hub


def lose(team: TestTeam, at: ConversationId, n_entries: int) -> None:
    """The hub as a backup has it that was made when the conversation had so many entries."""
    owner = team.lab.owner
    owner.execute("DELETE FROM hub.entry WHERE conversation = %s AND seq > %s", [at, n_entries])
    ((last, digest),) = owner.execute(
        "SELECT message_id, digest FROM hub.entry WHERE conversation = %s AND message_id IS NOT NULL "
        "ORDER BY message_id DESC LIMIT 1",
        [at],
    ).fetchall()
    owner.execute(
        "UPDATE hub.conversation SET head_seq = %s, next_message_id = %s, head_digest = %s, lease_store = NULL "
        "WHERE id = %s",
        [n_entries, last + 1, digest, at],
    )


@pytest.mark.parametrize("n_later", [0, 1, 3])
@pytest.mark.parametrize("is_told", [True, False])
async def test_a_restored_hub_gets_back_what_it_lost(
    machines: list[Machine], team: TestTeam, n_later: int, is_told: bool
) -> None:
    """However much others wrote to it meanwhile, and whether its administrator said so or not."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    n_entries = (await ann.sharing.hub.conversation(team.id, at)).head_seq
    assert await ann.ask("Lost?", "Lost.") == "committed"
    await ann.settle()
    lose(team, at, n_entries)
    if is_told:
        set_up(team.lab.admin, is_restored=True)
    for n in range(n_later):
        assert await bob.ask(f"Bob {n}?", f"Bob! {n}") == "committed"
        await bob.settle()
    assert await ann.ask("Ann again?", "Ann!") == "committed"
    await assert_same(machines, at)
    kept = [text for each in await ann.bench.store.read(conversations.list_all) for text in await ann.texts(each.id)]
    assert "Lost." in kept
    assert (await bob.texts())[-1] == "Ann!"


@pytest.mark.parametrize("is_told", [True, False])
async def test_what_others_said_comes_back_under_their_names(
    machines: list[Machine], team: TestTeam, is_told: bool
) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    n_entries = (await ann.sharing.hub.conversation(team.id, at)).head_seq
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    await ann.sharing.pull(at)
    lose(team, at, n_entries)
    bob.sharing.hub = Hub("host=/nowhere dbname=hub")
    if not is_told:
        team.lab.owner.execute("UPDATE hub.incarnation SET restored_at = NULL")
        with pytest.raises(HubFailed, match="--restored"):
            await ann.sharing.reconcile(at)
        assert (await ann.texts(at))[2:] == ["Bob?", "Bob!"]
        return
    set_up(team.lab.admin, is_restored=True)
    assert await ann.ask("Ann again?", "Ann!") == "committed"
    await ann.settle()
    entries = await ann.sharing.hub.entries(team.id, at, 0)
    said = {each.message.message_id: each.author for each in entries if each.message is not None}
    assert said == dict(enumerate([team.ids[name] for name in ("ann", "ann", "bob", "bob", "ann", "ann")]))


async def test_another_hub_or_member_does_not_end_the_sharing(
    machines: list[Machine], team: TestTeam, lab: Lab
) -> None:
    ann, _ = machines
    at = await share(machines, team)
    await ann.settle()
    other = lab.team(carl="writer")
    ann.sharing.hub = other.hub("carl")
    await Watch(ann.sharing, 1).look()
    with pytest.raises(HubFailed, match=r"hub\.url"):
        await ann.sharing.pull(at)
    with pytest.raises(HubFailed):
        await ann.ask("Anybody?", "No.")
    assert await ann.bench.store.read(shared.standing, at) is not None


async def test_a_token_that_has_expired_does_not_end_the_sharing(machines: list[Machine], team: TestTeam) -> None:
    ann, _ = machines
    at = await share(machines, team)
    await ann.settle()
    team.lab.owner.execute("UPDATE hub.token SET revoked_at = now() WHERE member = %s", [team.ids["ann"]])
    with pytest.raises(HubFailed, match="expired"):
        await ann.sharing.pull(at)
    assert await ann.bench.store.read(shared.standing, at) is not None


async def test_who_left_the_team_keeps_the_conversation_alone(machines: list[Machine], team: TestTeam) -> None:
    _, bob = machines
    at = await share(machines, team)
    await bob.sharing.hub.set_membership(team.id, team.ids["bob"], "left")
    assert await bob.ask("Mine alone?", "Yes.") == "committed"
    assert await bob.bench.store.read(shared.standing, at) is None


# The machine


async def test_a_copied_store_is_another_store(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "one")
    known = await store.run(shared.store_id)
    assert await store.run(shared.store_id) == known
    await store.close()
    (tmp_path / "two").mkdir()
    with sqlite3.connect(tmp_path / "one" / "store.db") as one, sqlite3.connect(tmp_path / "two" / "store.db") as two:
        one.backup(two)
    copy = await open_store(tmp_path / "two")
    copied = await copy.run(shared.store_id)
    assert copied != known
    assert await copy.run(shared.store_id) == copied
    await copy.close()


async def test_the_places_of_a_moved_folder_do_not_leave(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    ann.sharing.terms = Terms(Cleaner("/srv/new/heron", "/srv/new"))
    await ann.ask("Look at /srv/new/heron/a.py", "Yes.")
    await ann.settle()
    await bob.sharing.pull(at)
    assert (await bob.texts())[2] == "Look at ./a.py"


async def test_results_that_are_not_shared_are_read_by_the_model_here(
    machines: list[Machine], team: TestTeam, tmp_path: Path
) -> None:
    async def look(_: str) -> ToolOutput:
        return ToolOutput("the port is 4711")

    ann, bob = machines
    bench = await open_bench(tmp_path / "c", tools=(Tool(ToolSchema("look", "Looks.", {"type": "object"}), look),))
    terms = Terms(Cleaner("/h/x", "/h"), shares_results=False)
    folder = bench.session.folder
    sharing = Sharing(team.hub("ann"), bench.session.contexts, folder.listeners, ann.sharing.purges, terms)
    bench.session.turns.services = replace(bench.session.turns.services, sharing=sharing)
    at = bench.conversation_id
    bench.provider.replies += [calls(("1", "look", "{}")), says("Found.")]
    try:
        assert await bench.ask("Which port?") == "committed"
        assert await publication.share(sharing, at, team.id) == at
        bench.provider.replies += [calls(("2", "look", "{}")), says("Found again.")]
        assert await bench.ask("Which port now?") == "committed"
        assert "4711" in str(bench.provider.seen[-1])
        bob.bench.conversation_id = await publication.open_shared(bob.sharing, team.id, at)
        await asyncio.gather(*list(sharing.closing.values()))
        assert await bob.ask("And his?", "His.") == "committed"
        seen = bob.bench.provider.seen[-1].messages
        answered = [[result.call_id for result in content.results] for content in seen if content.results]
        assert answered == [["1"], ["2"]], "a service wants a result for each call"
        assert "4711" not in str(seen) + await hub_texts(bob, team, at)
        await bob.settle()
        await bob.assert_sound()
    finally:
        await folder.close()


async def test_what_is_said_while_a_conversation_is_shared_waits(machines: list[Machine], team: TestTeam) -> None:
    ann, _ = machines
    at = ann.bench.conversation_id
    await ann.ask("Where?", "There.")
    real = ann.sharing.hub.share

    async def slow(*args: object) -> None:
        await real(*args)  # type: ignore[arg-type]
        with pytest.raises(ConversationBusy):
            await ann.ask("And?", "In /home/ann/heron/x.")

    ann.sharing.hub.share = slow  # type: ignore[method-assign, assignment]
    got = await publication.share(ann.sharing, at, team.id)
    assert not await ann.sharing.has_unpushed(got)


async def test_a_follower_does_not_write_into_a_running_turn(machines: list[Machine], team: TestTeam) -> None:
    """The hub's lease ran out while Ann's machine could not reach it, and Bob went on."""
    ann, bob = machines
    at = await share(machines, team)
    gate = asyncio.Event()
    ann.bench.provider.replies.append([TextDelta("It "), gate, *says("ends.")])
    running = await ann.bench.session.turns.start(at, "r", user_message("Ann?"))
    assert isinstance(running, RunningTurn)

    async def has_question() -> bool:
        return (await bob.sharing.hub.conversation(team.id, at)).n_messages == 3

    await until(has_question)
    hub = ann.sharing.hub
    saved = hub.push, hub.renew, hub.say
    hub.push = hub.renew = hub.say = unreachable  # type: ignore[method-assign, assignment]
    team.lab.owner.execute("UPDATE hub.conversation SET lease_until = now() - interval '1 s' WHERE id = %s", [at])
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    with pytest.raises(ConversationBusy):
        await ann.sharing.pull(at)
    gate.set()
    await running.wait()
    await ann.settle()
    hub.push, hub.renew, hub.say = saved  # type: ignore[method-assign]
    assert (await ann.texts(at))[2:] == ["Ann?", "It ends."]
    await assert_same(machines, at)


async def test_a_lease_is_given_back_whatever_fails(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()

    async def broken(*_: object) -> object:
        raise ValueError("a value that the driver refuses")

    ann.sharing.hub.push = broken  # type: ignore[method-assign, assignment]
    await ann.ask("Q?", "A.")
    await ann.settle()
    assert (await bob.sharing.hub.conversation(team.id, at)).writer is None
    assert await ann.bench.store.read(leases.holder_of, at) is None


async def test_what_is_hidden_stays_hidden_when_messages_move_apart(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.ask("Two?", "Xanthippe.")
    await ann.settle()
    push = ann.sharing.hub.push
    ann.sharing.hub.push = unreachable  # type: ignore[method-assign, assignment]
    await ann.ask("Three?", "Three.")
    await ann.settle()
    await ann.bench.session.conversations.roll_back(at, MessageId(2))
    ann.sharing.hub.push = push  # type: ignore[method-assign]
    await bob.ask("Bob?", "Bob!")
    await bob.settle()
    await assert_same(machines, at)
    (fork,) = [each for each in await ann.bench.store.read(conversations.list_all) if each.id != at]
    assert [(each.start, each.end) for each in await ann.bench.store.read(hidden_ranges.read, fork.id)] == [(2, 6)]
    for conversation_id in (at, fork.id):
        ann.bench.conversation_id = conversation_id
        await ann.ask(f"More in {conversation_id}?", "More.")
        assert "Xanthippe" not in str(ann.bench.provider.seen[-1])


async def test_titles_settle(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    title = "See /home/bob/x and /home/ann/y " + "w" * 400
    await ann.bench.store.run(conversations.rename, at, title, "2026-11-25T00:00:00.000Z")
    heads = []
    for _ in range(6):
        await Watch(ann.sharing, 1).look()
        await Watch(bob.sharing, 1).look()
        heads.append((await ann.sharing.hub.conversation(team.id, at)).head_seq)
    assert len(set(heads[2:])) == 1


def test_a_long_answer_is_shown_whole_and_without_secrets() -> None:
    """Also where the search for secrets no longer begins at the first word."""
    key = "AKIAIOSFODNN7EXAMPL2"
    text = "".join(f"Line {n} of the answer, see /home/ann/heron/file_{n}.py.\n" for n in range(1_000))
    text = text[:30_000] + f" the key {key} is there\n" + text[30_000:]
    cleaner = Cleaner("/home/ann/heron", "/home/ann")
    frames = Frames(cleaner)
    said = ""
    size = len(key) - 3  # smaller, so that no piece holds it
    events = [JournalEvent(EventType.TEXT, text=text[at : at + size]) for at in range(0, len(text), size)] + [
        JournalEvent(EventType.DONE)
    ]
    for seq, event in enumerate(events, 1):
        for frame in frames.take([Numbered(seq, event)]):
            said += json.loads(frame)[1]
    assert said == cleaner.text(text)
    assert key not in said
