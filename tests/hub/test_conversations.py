"""What a hub promises about conversations: one order, one writer, nothing twice, nothing forged."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

import pytest
from tests.hub.lab import AT, STORE, Lab, digest_of, message, messages, share

from palimpsest.domain.messages import Role
from palimpsest.domain.sharing.log import MOST_BYTES, EntryKind, NewEntry
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import NewConversation


async def test_members_read_what_one_of_them_pushed(lab: Lab) -> None:
    team = lab.team(ann="admin", bob="reader")
    lease, pushed = await share(team.hub("ann"), team.id, 'a "quoted"\n\x01 word \u2028\U0001f600', "an answer")
    bob = team.hub("bob")
    (shared,) = await bob.conversations(team.id)
    assert (shared.head_seq, shared.n_messages, shared.head_digest) == (2, 2, digest_of(pushed[-1]))
    assert (shared.writer, shared.writes) == (team.ids["ann"], "a turn")
    entries = await bob.entries(team.id, lease.conversation, 0)
    assert [(each.seq, each.body, each.message, each.author) for each in entries] == [
        (number, entry.body, entry.message, team.ids["ann"]) for number, entry in enumerate(pushed, start=1)
    ]
    assert await bob.entries(team.id, lease.conversation, 1) == entries[1:]


async def test_pushing_again_changes_nothing(lab: Lab) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    lease, pushed = await share(ann, team.id, "one", "two")
    note = NewEntry(EntryKind.TITLE, "k1", "another title")
    first = await ann.push(lease, [*pushed, note])
    assert await ann.push(lease, [*pushed, note]) == first
    assert first.seq == 3
    assert (await ann.conversation(team.id, lease.conversation)).title == "another title"
    await ann.share(team.id, NewConversation(lease.conversation, "a talk", "fake/model", AT))
    assert (await ann.conversation(team.id, lease.conversation)).head_seq == 3


async def test_a_gap_and_another_message_are_refused(lab: Lab) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    lease, pushed = await share(ann, team.id, "one", "two")
    late = message(lease.conversation, 3, "four", digest_of(pushed[-1]))
    with pytest.raises(HubRefused) as gap:
        await ann.push(lease, [late])
    other = message(lease.conversation, 1, "not two", digest_of(pushed[0]), Role.ASSISTANT)
    with pytest.raises(HubRefused) as diverged:
        await ann.push(lease, [other])
    assert (gap.value.kind, diverged.value.kind) == ("gap", "diverged")
    assert len(await ann.entries(team.id, lease.conversation, 0)) == 2


FORGED: list[tuple[dict[str, Any], str]] = [
    ({"body": '{"role":"user"}'}, "digest"),
    ({"digest": "0" * 64}, "digest"),
    ({"digest": None}, "digest"),
    ({"content_digest": None}, "digest"),
    ({"content_digest": "0" * 64}, "digest"),
    ({"said_at": "2020-01-01T00:00:00Z"}, "digest"),
    ({"said_at": None}, "digest"),
    ({"turn": "t2"}, "digest"),
    ({"turn": None}, "digest"),
    ({"digest_version": 2}, "digest"),
    ({"digest_version": 3}, "digest"),
    ({"message_id": None}, "gap"),
    ({"key": "3"}, "gap"),
    ({"role": "assistant"}, "malformed"),
    ({"role": None}, "malformed"),
    ({"kind": "purge"}, "forbidden"),
    ({"kind": None}, "forbidden"),
    ({"missing": "purged"}, "malformed"),
    ({"body": None}, "malformed"),
    ({"body": "x" * (MOST_BYTES + 1)}, "too_large"),
]


async def test_a_forged_message_is_refused(lab: Lab) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    lease, pushed = await share(ann, team.id, "one", "two")
    true = message(lease.conversation, 2, "three", digest_of(pushed[-1]))
    assert true.message is not None
    for change, kind in FORGED:
        inner = {name: value for name, value in change.items() if hasattr(true.message, name)}
        outer = {name: value for name, value in change.items() if name not in inner}
        with pytest.raises(HubRefused) as refused:
            await ann.push(
                lease, [dataclasses.replace(true, message=dataclasses.replace(true.message, **inner), **outer)]
            )
        assert (change, refused.value.kind) == (change, kind)
    assert (await ann.push(lease, [true])).seq == 3


async def test_the_second_version_of_digests_covers_the_author(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="writer")
    ann = team.hub("ann")
    lease, pushed = await share(ann, team.id, "one", "two")
    mine = message(lease.conversation, 2, "mine", digest_of(pushed[-1]), author=team.ids["ann"])
    as_bob = message(lease.conversation, 2, "mine", digest_of(pushed[-1]), author=team.ids["bob"])
    with pytest.raises(HubRefused, match="does not follow"):
        await ann.push(lease, [as_bob])
    assert as_bob.message is not None
    named = dataclasses.replace(as_bob, message=dataclasses.replace(as_bob.message, author=team.ids["bob"]))
    lab.owner.execute("UPDATE hub.incarnation SET restored_at = clock_timestamp() - interval '31 days'")
    with pytest.raises(HubRefused, match="Another member wrote this"):
        await ann.push(lease, [named])
    await ann.push(lease, [mine])
    without = message(lease.conversation, 3, "no author", digest_of(mine), Role.ASSISTANT)
    with pytest.raises(HubRefused, match="older than the one before"):
        await ann.push(lease, [without])
    assert (await ann.entries(team.id, lease.conversation, 2))[0].message == mine.message


async def test_a_fork_is_chained_to_its_parent(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="writer")
    ann, bob = team.hub("ann"), team.hub("bob")
    lease, pushed = await share(ann, team.id, "one", "two")
    fork = NewConversation(uuid.uuid4().hex, "fork", "m", AT, lease.conversation, 2)
    await bob.share(team.id, fork)
    behind = await bob.lease(team.id, fork.id, "store of bob", "a turn")
    assert (behind.n_messages, behind.head_digest) == (2, digest_of(pushed[1]))
    assert (await bob.push(behind, [message(fork.id, 2, "three", digest_of(pushed[1]))])).n_messages == 3
    for parent, start in ((lease.conversation, 9), (uuid.uuid4().hex, 1)):
        with pytest.raises(HubRefused) as refused:
            await bob.share(team.id, NewConversation(uuid.uuid4().hex, "x", "m", AT, parent, start))
        assert refused.value.kind == "no_parent"


async def test_one_store_writes_and_the_next_takes_over_when_its_lease_has_ended(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="writer")
    ann, bob = team.hub("ann"), team.hub("bob")
    lease, pushed = await share(ann, team.id, "one", "two")
    with pytest.raises(HubRefused, match=r"ann \d+ is writing here: a turn") as busy:
        await bob.lease(team.id, lease.conversation, "store of bob", "a turn")
    assert busy.value.kind == "busy"
    assert busy.value.until is not None
    again = await ann.lease(team.id, lease.conversation, STORE, "a restarted server")
    assert again.epoch > lease.epoch
    end_leases(lab, lease.conversation)
    taken = await bob.lease(team.id, lease.conversation, "store of bob", "a turn")
    third = message(lease.conversation, 2, "three", digest_of(pushed[-1]))
    calls = [ann.renew(again), ann.push(again, [third]), ann.say(again, "t", 1, ["x"]), ann.purge(again, 0, 2)]
    for call in calls:
        with pytest.raises(HubRefused) as lost:
            await call
        assert lost.value.kind == "lease_lost"
    assert (await bob.push(taken, [third])).seq == 3


async def test_a_lease_that_was_given_back_writes_no_more(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="writer")
    ann = team.hub("ann")
    lease, pushed = await share(ann, team.id, "one", "two")
    await ann.release(lease)
    assert (await ann.conversation(team.id, lease.conversation)).writer is None
    third = message(lease.conversation, 2, "three", digest_of(pushed[-1]))
    for each in (lease, dataclasses.replace(lease, store=None)):  # type: ignore[arg-type]
        for call in (ann.push(each, [third]), ann.say(each, "t", 1, ["x"]), ann.renew(each)):
            with pytest.raises(HubRefused, match="taken this conversation over"):
                await call
    assert (await team.hub("bob").lease(team.id, lease.conversation, "store of bob", "x")).epoch > lease.epoch


async def test_a_newer_product_leaves_older_ones_to_read(lab: Lab, newer_hub: None) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    lease, _ = await share(ann, team.id, "one", "two")
    where = (team.id, lease.conversation, STORE, lease.epoch)
    entry = '[{"kind": "title", "key": "k", "body": "new words"}]'
    await ann._calls.rows("SELECT hub.push(%s, %s, %s, %s, 2, %s::jsonb)", *where, entry)
    with pytest.raises(HubRefused, match="newer Palimpsest") as refused:
        await ann.lease(team.id, lease.conversation, STORE, "a turn")
    assert refused.value.kind == "upgrade"
    assert [each.format for each in await ann.entries(team.id, lease.conversation, 0)] == [1, 1, 2]


async def test_frames_are_shown_until_their_messages_come(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="reader")
    ann, bob = team.hub("ann"), team.hub("bob")
    lease, pushed = await share(ann, team.id, "one")
    await ann.say(lease, "t1", 1, ["a", "b"])
    await ann.say(lease, "t1", 2, ["again", "c"])
    view = await bob.live(team.id, lease.conversation)
    assert [(frame.turn, frame.seq, frame.body) for frame in view.frames] == [
        ("t1", 1, "a"),
        ("t1", 2, "b"),
        ("t1", 3, "c"),
    ]
    assert view.writer == team.ids["ann"]
    assert [frame.seq for frame in (await bob.live(team.id, lease.conversation, "t1", 2)).frames] == [3]
    await ann.push(lease, [message(lease.conversation, 1, "abc", digest_of(pushed[0]), Role.ASSISTANT)])
    assert (await bob.live(team.id, lease.conversation)).frames == ()
    await ann.say(lease, "t2", 1, ["left behind"] * 201)
    assert len((await bob.live(team.id, lease.conversation)).frames) == 201
    again = await ann.lease(team.id, lease.conversation, STORE, "a restarted server")
    assert (await bob.live(team.id, lease.conversation)).frames == ()
    too_late = "INSERT INTO hub.live VALUES (%s, %s, %s, 't2', 9, 'of a writer that was just taken over')"
    lab.owner.execute(too_late, [team.id, lease.conversation, lease.epoch])
    assert (await bob.live(team.id, lease.conversation)).frames == ()
    with pytest.raises(HubRefused) as refused:
        await ann.say(again, "t2", 2, ["x" * (64 * 1024 + 1)])
    assert refused.value.kind == "malformed"


@pytest.mark.parametrize(
    ("who", "may"), [("owner", True), ("admin", True), ("author", True), ("other", False), ("reader", False)]
)
async def test_authors_owners_and_admins_may_purge(lab: Lab, who: str, may: bool) -> None:
    team = lab.team(owner="writer", admin="admin", author="writer", other="writer", reader="reader")
    lease, pushed = await share(team.hub("owner"), team.id, "of the owner", "answer")
    await team.hub("owner").release(lease)
    author = team.hub("author")
    lease = await author.lease(team.id, lease.conversation, "store of author", "a turn")
    third = message(lease.conversation, 2, "of the author", digest_of(pushed[-1]))
    await author.push(lease, [third, NewEntry(EntryKind.SUMMARY, "k", "speaks of it")])
    await author.release(lease)
    hub = team.hub(who)

    async def purge() -> int:
        mine = await hub.lease(team.id, lease.conversation, "store of " + who, "a purge")
        return await hub.purge(mine, 2, 3)

    if may:
        assert await purge() == 5
    else:
        with pytest.raises(HubRefused):
            await purge()
    bodies = [each.body for each in await team.hub("owner").entries(team.id, lease.conversation, 2)]
    assert bodies == ([None, None, f'[2, 3, "{lease.conversation}"]'] if may else [third.body, "speaks of it"])


async def test_a_purge_keeps_the_chain_and_says_which_stores_have_followed(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="reader")
    ann, bob = team.hub("ann"), team.hub("bob")
    lease, pushed = await share(ann, team.id, "secret", "answer", "three")
    await ann.push(lease, [NewEntry(EntryKind.TITLE, "k", "about the secret")])
    for start, end in ((2, 2), (-1, 1), (2, 9)):
        with pytest.raises(HubRefused, match="no such messages"):
            await ann.purge(lease, start, end)
    seq = await ann.purge(lease, 0, 2)
    entries = await bob.entries(team.id, lease.conversation, 0)
    assert [each.message for each in entries[:3]] == [each.message for each in pushed]
    assert [each.body is None for each in entries] == [True, True, False, True, False]
    assert (await bob.conversation(team.id, lease.conversation)).title == ""
    await ann.seen(team.id, lease.conversation, STORE, seq)
    await bob.seen(team.id, lease.conversation, "store of bob", seq - 1)
    await bob.seen(team.id, lease.conversation, STORE, 1)
    found = {(each.member, each.store): each.applied_seq for each in await bob.replicas(team.id, lease.conversation)}
    a, b = team.ids["ann"], team.ids["bob"]
    assert found == {(a, STORE): seq, (b, STORE): 1, (b, "store of bob"): seq - 1}


async def test_what_is_no_longer_shared_leaves_only_its_header(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="writer")
    ann, bob = team.hub("ann"), team.hub("bob")
    lease, _ = await share(ann, team.id, "one", "two")
    header = NewConversation(lease.conversation, "a talk", "fake/model", AT)
    with pytest.raises(HubRefused, match="Another member shares"):
        await bob.share(team.id, header)
    with pytest.raises(HubRefused, match="Only its owner"):
        await bob.unshare(team.id, lease.conversation)
    await ann.unshare(team.id, lease.conversation)
    assert await bob.entries(team.id, lease.conversation, 0) == []
    assert [(each.is_unshared, each.title) for each in await bob.conversations(team.id)] == [(True, "")]
    kinds = []
    for call in (
        ann.lease(team.id, lease.conversation, STORE, "x"),
        bob.live(team.id, lease.conversation),
        ann.share(team.id, header),
    ):
        with pytest.raises(HubRefused) as refused:
            await call
        kinds.append(refused.value.kind)
    assert kinds == ["not_shared", "not_shared", "unshared"]


async def test_many_entries_go_in_pieces(lab: Lab) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    lease, _ = await share(ann, team.id)
    head = await ann.push(lease, messages(lease.conversation, [f"message {number}" for number in range(401)]))
    assert (head.seq, head.n_messages) == (401, 401)
    assert len(await ann.entries(team.id, lease.conversation, 0, 1000)) == 401


def end_leases(lab: Lab, conversation: str) -> None:
    """As if time had passed."""
    lab.owner.execute("UPDATE hub.conversation SET lease_until = now() - interval '1 s' WHERE id = %s", [conversation])


async def test_a_purge_after_one_that_a_fork_began_with(lab: Lab) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    lease, _ = await share(ann, team.id, "one", "two")
    await ann.purge(lease, 0, 2)
    fork = uuid.uuid4().hex
    await ann.share(team.id, NewConversation(fork, "a fork", "fake/model", AT, lease.conversation, 2))
    below = await ann.lease(team.id, fork, "a store", "a turn")
    await ann.push(below, [NewEntry(EntryKind.TITLE, "k", "t")])
    await ann.release(below)
    await ann.purge(lease, 0, 2)
    bodies = [each.body for each in await ann.entries(team.id, fork, 0) if each.kind == EntryKind.PURGE]
    assert bodies == [f'[0, 2, "{lease.conversation}"]'] * 2
