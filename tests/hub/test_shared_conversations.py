"""Two machines share a conversation through a real hub: turns, takeovers, a hub that is away, purges and followers."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from tests.hub.lab import TestTeam
from tests.hub.machines import Machine, assert_same, share
from tests.services.scripted import says
from tests.waiting import WAIT_S

from palimpsest.domain.errors import ConversationBusy, HubFailed, InvalidRequest, SharedIsAway
from palimpsest.domain.messages import MessageId, user_message
from palimpsest.domain.models.provider import TextDelta
from palimpsest.domain.sharing.log import EntryKind, NewEntry
from palimpsest.services.events import MovedApart
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.following import Following
from palimpsest.services.sharing.readers import readers_of
from palimpsest.services.sharing.watch import Watch
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage import leases
from palimpsest.storage.conversation import conversations
from palimpsest.storage.sharing import outgoing, shared
from palimpsest_hub.errors import HubUnreachable


async def test_each_goes_on_where_the_other_stopped(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    assert at == ann.bench.conversation_id, "nothing had to be taken out"
    assert await bob.texts() == ["Where does the heron stand?", "In the reeds."]
    assert await bob.ask("Since when?", "Since dawn.") == "committed"
    await bob.settle()
    assert await ann.ask("And the stork?", "On the roof.") == "committed"
    expected = ["Where does the heron stand?", "In the reeds.", "Since when?", "Since dawn.", "And the stork?"]
    assert await ann.texts() == [*expected, "On the roof."]
    assert [content.text for content in ann.bench.provider.seen[-1].messages] == expected
    await assert_same(machines, at)
    authors = await ann.bench.store.read(shared.authors, at, 0, 9)
    assert authors[MessageId(2)] == team.ids["bob"]


async def test_what_is_shared_as_another_member_says_so_whatever_is_asked(
    machines: list[Machine], team: TestTeam
) -> None:
    ann, _ = machines
    at = await share(machines, team)
    ann.sharing.hub = team.hub("bob")
    for ask in (
        lambda: readers_of(ann.sharing, at),
        lambda: publication.unshare(ann.sharing, at),
        lambda: publication.share(ann.sharing, at, team.id),
    ):
        with pytest.raises(HubFailed, match=r"another hub than the one of `hub\.url`, or as another member"):
            await ask()


async def test_while_one_writes_the_other_is_told_who_writes(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    gate = asyncio.Event()
    ann.bench.provider.replies.append([gate, *says("Late.")])
    running = await ann.bench.session.turns.start(at, "r", user_message("Slow?"))
    assert isinstance(running, RunningTurn)
    with pytest.raises(ConversationBusy, match=rf"^ann.*{team.number} is writing\. Wait for the end"):
        await bob.ask("Me too?", "No.")
    gate.set()
    await running.wait()
    await ann.settle()
    bob.bench.provider.replies.clear()
    assert await bob.ask("Now?", "Yes.") == "committed"
    await assert_same(machines, at)


async def test_the_other_sees_the_answer_grow(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    gate = asyncio.Event()
    ann.bench.provider.replies.append([TextDelta("It stands in the "), gate, *says("reeds.")])
    running = await ann.bench.session.turns.start(at, "r", user_message("Where?"))
    assert isinstance(running, RunningTurn)
    seen = ""
    following = Following(bob.sharing, at).shown()
    async with asyncio.timeout(WAIT_S), contextlib.aclosing(following):
        async for shown in following:
            assert {each.turn_id for each in shown} == {running.id}
            seen += "".join(each.text for each in shown)
            if seen == "It stands in the ":
                gate.set()
                break
    await running.wait()
    await assert_same(machines, at)
    assert (await bob.texts())[-1] == "It stands in the reeds."


async def test_a_secret_is_not_shown_half_and_never_stored(machines: list[Machine], team: TestTeam) -> None:
    ann, _ = machines
    at = await share(machines, team)
    key = "AKIAIOSFODNN7EXAMPL2"
    ann.bench.provider.replies.append([TextDelta(f"The key is {key[:9]}"), *says(f"{key[9:]} of course.")])
    await ann.bench.ask(f"Which key? {key}")
    await assert_same(machines, at)
    for machine in machines:
        assert all("AKIA" not in text for text in await machine.texts())


async def test_without_the_hub_no_turn_begins_and_nothing_is_stored(machines: list[Machine], team: TestTeam) -> None:
    ann, _ = machines
    at = await share(machines, team)

    async def unreachable(*_: object) -> object:
        raise HubUnreachable

    ann.sharing.hub.lease = unreachable  # type: ignore[method-assign, assignment]
    before = await ann.texts()
    with pytest.raises(SharedIsAway, match="fork"):
        await ann.ask("Anybody there?", "No.")
    assert await ann.texts() == before
    fork = await ann.bench.session.conversations.fork(at, None, "aside")
    ann.bench.conversation_id = fork.id
    ann.bench.provider.replies.clear()
    assert await ann.ask("In a fork?", "Yes.") == "committed"


async def test_a_turn_that_loses_the_hub_goes_on_and_is_pushed_later(machines: list[Machine], team: TestTeam) -> None:
    ann, _ = machines
    at = await share(machines, team)

    async def unreachable(*_: object) -> object:
        raise HubUnreachable

    push = ann.sharing.hub.push
    ann.sharing.hub.push = unreachable  # type: ignore[method-assign, assignment]
    assert await ann.ask("Still there?", "Here I am.") == "committed"
    await ann.settle()
    ann.sharing.hub.push = push  # type: ignore[method-assign]
    await assert_same(machines, at)
    assert (await machines[1].texts())[-1] == "Here I am."


async def test_the_store_is_free_for_the_next_writer_before_the_hub_has_answered(
    machines: list[Machine], team: TestTeam
) -> None:
    ann, _ = machines
    at = await share(machines, team)
    await ann.settle()
    is_asked = asyncio.Event()

    async def no_answer(*_: object) -> None:
        is_asked.set()
        await asyncio.Future()

    async def write() -> None:
        async with ann.sharing.taken(at, "a test"):
            ann.sharing.hub.release = no_answer  # type: ignore[method-assign, assignment]

    writing = asyncio.create_task(write())
    await asyncio.wait_for(is_asked.wait(), WAIT_S)
    lease = await ann.sharing.take_here(at, "another")  # raises ConversationBusy while the first has it
    await ann.bench.store.run(leases.release, lease)
    writing.cancel()  # its request was cancelled once more
    await asyncio.wait([writing])
    lease = await ann.sharing.take_here(at, "a third")
    await ann.bench.store.run(leases.release, lease)


async def test_what_two_wrote_at_once_is_all_kept_and_the_later_moves_apart(
    machines: list[Machine], team: TestTeam
) -> None:
    ann, bob = machines
    at = await share(machines, team)

    async def unreachable(*_: object) -> object:
        raise HubUnreachable

    push = ann.sharing.hub.push
    ann.sharing.hub.push = unreachable  # type: ignore[method-assign, assignment]
    await ann.ask("Ann?", "Ann!")
    await ann.settle()
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    ann.sharing.hub.push = push  # type: ignore[method-assign]
    await assert_same(machines, at)
    (moved,) = [each for each in ann.bench.events if isinstance(each, MovedApart)]
    assert (await ann.texts(at))[-2:] == ["Bob?", "Bob!"]
    assert (await ann.texts(moved.fork_id))[-2:] == ["Ann?", "Ann!"]
    title = (await ann.bench.store.read(conversations.get, moved.fork_id)).title
    assert title.endswith("(apart)")
    assert await ann.ask("And then?", "Then on.") == "committed"
    await assert_same(machines, at)


async def test_a_purge_reaches_the_other_and_the_hub(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.purge(at, 0, 2)
    await bob.sharing.pull(at)
    for machine in machines:
        assert await machine.texts() == ["", ""]
        assert b"In the reeds" not in (machine.bench.store.directory / "store.db").read_bytes()
    entries = await team.hub("bob").entries(team.id, at, 0)
    assert all(each.body is None for each in entries if each.message is not None)
    await assert_same(machines, at)


async def test_what_holds_a_secret_is_shared_as_a_copy(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    await ann.ask("The key is AKIAIOSFODNN7EXAMPL2, in /home/ann/heron/keys.", "I see.")
    plan = await publication.plan(ann.sharing, ann.bench.conversation_id, team.id)
    assert (plan.cleaned, plan.is_copy) == ((MessageId(0),), True)
    assert {each.id for each in plan.readers} == set(team.ids.values())
    at = await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    assert at != ann.bench.conversation_id
    assert "AKIA" in (await ann.texts())[0]
    await publication.open_shared(bob.sharing, team.id, at)
    assert (await bob.texts(at))[0] == "The key is [redacted: AWS access key], in ./keys."


async def test_what_is_unshared_stays_where_it_is(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    with pytest.raises(HubFailed):
        await publication.unshare(bob.sharing, at)
    await publication.unshare(ann.sharing, at)
    await bob.sharing.pull(at)
    assert await bob.bench.store.read(shared.standing, at) is None
    assert await bob.ask("Mine alone now?", "Yes.") == "committed"
    with pytest.raises(InvalidRequest):
        await publication.members(bob.sharing, at)


async def test_summaries_of_a_shared_conversation_are_the_same_everywhere(
    machines: list[Machine], team: TestTeam
) -> None:
    ann, _ = machines
    at = await share(machines, team)
    for number in range(6):
        await ann.ask(f"Question {number} about src/pump_{number}.py?", f"The pump_{number} is on. " * 40)
    await ann.settle()
    await ann.bench.session.conversations.summarize(at, (MessageId(0), MessageId(8)))
    await assert_same(machines, at)
    keys = [
        [key for key, _ in (await machine.bench.store.read(outgoing.summaries, at)).values()] for machine in machines
    ]
    assert keys[0] == keys[1] != []


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (EntryKind.HIDDEN, "[]"),
        (EntryKind.SUMMARY, '"x"'),
        (EntryKind.TURN, "[" * 100_000),
        (EntryKind.TURN, '{"state":"committed","user_message_id":1' + "0" * 30 + ',"model":"m","started_at":"x"}'),
    ],
)
async def test_what_a_member_pushes_that_is_none_stops_nobody(
    machines: list[Machine], team: TestTeam, kind: EntryKind, body: str
) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    lease = await ann.sharing.hub.lease(team.id, at, "another store", "a test")
    await ann.sharing.hub.push(lease, [NewEntry(kind, "a key", body)])
    await ann.sharing.hub.say(lease, "a turn", 1, ["[1]", "no frame"])
    await ann.sharing.hub.release(lease)
    await Watch(bob.sharing, 1.0).look()
    assert await bob.ask("And now?", "Yes.") == "committed"
    await assert_same(machines, at)


async def test_whoever_goes_on_in_what_is_shared_no_longer_has_it_alone(
    machines: list[Machine], team: TestTeam
) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await publication.unshare(ann.sharing, at)
    assert await bob.ask("Mine now?", "Yes.") == "committed"
    assert await bob.bench.store.read(shared.standing, at) is None


async def test_the_watch_notices_that_a_conversation_is_shared_no_longer(
    machines: list[Machine], team: TestTeam
) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await publication.unshare(ann.sharing, at)
    await Watch(bob.sharing, 1.0).look()
    assert await bob.bench.store.read(shared.standing, at) is None


async def test_an_answer_in_wide_characters_fits_the_frames(machines: list[Machine], team: TestTeam) -> None:
    ann, _ = machines
    at = await share(machines, team)
    await ann.ask("Birds?", "🦜" * 7_000 + " end.")
    await ann.settle()
    assert (await ann.sharing.hub.conversation(team.id, at)).n_messages == 4


async def test_what_was_shared_once_is_shared_again_as_a_copy(machines: list[Machine], team: TestTeam) -> None:
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await publication.unshare(ann.sharing, at)
    await ann.ask("Alone?", "Alone.")
    assert (await publication.plan(ann.sharing, at, team.id)).is_copy
    again = await publication.share(ann.sharing, at, team.id)
    assert again != at
    await publication.open_shared(bob.sharing, team.id, again)
    assert await bob.texts(again) == ["Where does the heron stand?", "In the reeds.", "Alone?", "Alone."]


async def test_who_comes_back_to_the_team_keeps_what_was_said_alone_in_a_fork(
    machines: list[Machine], team: TestTeam
) -> None:
    ann, bob = machines
    at = await share(machines, team)
    assert await bob.ask("Bob?", "Bob!") == "committed"
    await bob.settle()
    await bob.sharing.hub.set_membership(team.id, team.ids["bob"], "left")
    assert await bob.ask("Alone?", "Alone.") == "committed"
    team.lab.owner.execute("UPDATE hub.membership SET role = 'writer' WHERE member = %s", [team.ids["bob"]])
    await publication.open_shared(bob.sharing, team.id, at)
    assert (await bob.texts(at))[2:] == ["Bob?", "Bob!"]
    (moved,) = [each for each in bob.bench.events if isinstance(each, MovedApart)]
    assert (await bob.texts(moved.fork_id))[4:] == ["Alone?", "Alone."]
    assert await bob.ask("And now?", "Now.") == "committed"
    await assert_same(machines, at)
    assert (await ann.texts(at))[-1] == "Now."
