"""Attacks on whose words go where, by somebody who did not write the sharing: each test says the harm that it would
do."""

from __future__ import annotations

import uuid

import pytest
from tests.hub.lab import AT, Lab, TestTeam, message, messages
from tests.hub.machines import Machine, assert_same, share
from tests.hub.test_sharing_under_attack import hub_texts, lose, share_a_summarized_fork, unreachable

from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.domain.messages import ConversationId, Role
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.watch import Watch
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.migration import set_up
from palimpsest_hub.records import NewConversation


async def say_alone(machines: list[Machine], team: TestTeam, question: str, answer: str) -> ConversationId:
    """Bob leaves the team, asks that in what he shared with Ann, comes back and opens it; the conversation."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await bob.sharing.hub.set_membership(team.id, team.ids["bob"], "left")
    assert await bob.ask(question, answer) == "committed"
    team.set_role("bob", "writer")
    await publication.open_shared(bob.sharing, team.id, at)
    await bob.sharing.reconcile(at)
    return at


# Private words go out


async def test_another_team_takes_a_conversation_by_its_id(machines: list[Machine], team: TestTeam, lab: Lab) -> None:
    """Who knows the id of a conversation that Bob has (a former team-mate) shares an empty one of that id in another
    team; Bob opens it from the list, and all that he and the first team said is pushed to that team."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    await publication.unshare(ann.sharing, at)
    await Watch(bob.sharing, 1).look()
    assert await bob.ask("Alone?", "Alone.") == "committed"
    other = lab.team(mallory="writer")
    lab.owner.execute("INSERT INTO hub.membership VALUES (%s, %s, 'writer')", [other.id, team.ids["bob"]])
    mallory = other.hub("mallory")
    await mallory.share(other.id, NewConversation(at, "a nice talk", "fake/model", AT))
    try:
        await publication.open_shared(bob.sharing, other.id, at)
        await bob.sharing.reconcile(at)
    except PalimpsestError:
        pass
    texts = "\n".join(each.body or "" for each in await mallory.entries(other.id, at, 0))
    assert "reeds" not in texts
    assert "Alone" not in texts


async def test_what_was_said_alone_behind_old_digests_goes_out(machines: list[Machine], team: TestTeam) -> None:
    """Bob leaves the team, talks alone, comes back and opens the conversation: what he said alone is pushed to the
    team, when nothing was said since it was shared (all digests are of version 1)."""
    at = await say_alone(machines, team, "Ann is to be let go?", "Privately, yes.")
    assert "Privately" not in await hub_texts(machines[0], team, at)


async def test_a_place_said_alone_stops_the_conversation(machines: list[Machine], team: TestTeam) -> None:
    """The same with a path or key in it: the conversation is `Unsound` for Bob from then on, nothing he says is
    pushed."""
    at = await say_alone(machines, team, "Look at /home/bob/heron/a.py", "I did.")
    assert await machines[1].ask("And now?", "Now.") == "committed"
    await assert_same(machines, at)


# Purged words stay, or come back


async def test_a_restored_hub_has_purged_words_again(machines: list[Machine], team: TestTeam) -> None:
    """A hub restored from a backup older than a purge has the purged words again for good, although every store knows
    that they were purged: whoever opens the conversation then reads them."""
    ann, _ = machines
    at = await share(machines, team)
    await ann.settle()
    n_entries = (await ann.sharing.hub.conversation(team.id, at)).head_seq
    sql = "SELECT seq, body FROM hub.entry WHERE conversation = %s AND body IS NOT NULL"
    rows = team.lab.owner.execute(sql, [at]).fetchall()
    await ann.purge(at, 0, 2)
    await assert_same(machines, at)
    lose(team, at, n_entries)
    for seq, body in rows:
        sql = "UPDATE hub.entry SET body = %s, gone = NULL WHERE conversation = %s AND seq = %s"
        team.lab.owner.execute(sql, [body, at, seq])
    set_up(team.lab.admin, is_restored=True)
    for machine in machines:
        await Watch(machine.sharing, 1).look()
        await machine.sharing.reconcile(at)
    assert "reeds" not in await hub_texts(ann, team, at)


async def test_a_purge_that_waits_is_forgotten_with_the_membership(machines: list[Machine], team: TestTeam) -> None:
    """Bob purges his password while the hub is away, and is out of the team for a moment: the purge is never sent, also
    not when he is back in it; the hub and his team keep the password."""
    ann, bob = machines
    at = await share(machines, team)
    assert await bob.ask("My password is swordfish", "Noted.") == "committed"
    await bob.settle()
    lease = bob.sharing.hub.lease
    bob.sharing.hub.lease = unreachable  # type: ignore[method-assign, assignment]
    await bob.purge(at, 2, 4)
    bob.sharing.hub.lease = lease  # type: ignore[method-assign]
    team.set_role("bob", "left")
    await Watch(bob.sharing, 1).look()
    team.set_role("bob", "writer")
    await publication.open_shared(bob.sharing, team.id, at)
    await bob.sharing.reconcile(at)
    assert "swordfish" not in await hub_texts(ann, team, at)


async def test_a_purge_in_an_unshared_parent_misses_its_shared_fork(machines: list[Machine], team: TestTeam) -> None:
    """After /unshare of a conversation whose fork is shared, a purge in it purges here and never tells the hub: the
    fork's summaries there repeat the purged words, and others keep them."""
    ann, _ = machines
    at, fork = await share_a_summarized_fork(ann, team)
    await publication.unshare(ann.sharing, at)
    await ann.purge(at, 0, 2)
    await ann.sharing.reconcile(fork)
    assert "Xanthippe" not in await hub_texts(ann, team, fork)


async def test_a_fork_by_another_team_purges_its_parent(machines: list[Machine], team: TestTeam, lab: Lab) -> None:
    """Who knows the id of a conversation that is Bob's alone shares one of that id, and a fork of it, in another team
    of Bob's, and purges it there: when Bob opens the fork, his own words are deleted for good."""
    bob = machines[1]
    assert await bob.ask("My own words?", "Yours.") == "committed"
    other = lab.team(mallory="writer")
    lab.owner.execute("INSERT INTO hub.membership VALUES (%s, %s, 'writer')", [other.id, team.ids["bob"]])
    mallory, at, fork = other.hub("mallory"), bob.bench.conversation_id, uuid.uuid4().hex
    await mallory.share(other.id, NewConversation(at, "", "fake/model", AT))
    lease = await mallory.lease(other.id, at, "hers", "x")
    await mallory.push(lease, messages(at, ["hers", "too"]))
    await mallory.share(other.id, NewConversation(fork, "", "fake/model", AT, at, 2))
    await mallory.purge(lease, 0, 2)
    with pytest.raises(InvalidRequest, match="not shared with this team"):
        await publication.open_shared(bob.sharing, other.id, ConversationId(fork))
    assert await bob.texts(at) == ["My own words?", "Yours."]


# A member who speaks SQL


async def test_a_purge_of_ones_own_result_takes_the_answer_before_it(machines: list[Machine], team: TestTeam) -> None:
    """A writer pushes a message of the role `tool` behind Ann's newest answer and purges his own message: every store,
    Ann's too, widens that to the exchange and deletes her answer for good. No right to purge it was ever checked."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    lease = await bob.sharing.hub.lease(team.id, at, "another store", "x")
    await bob.sharing.hub.push(lease, [message(at, 2, "x", lease.head_digest, Role.TOOL)])
    await bob.sharing.hub.purge(lease, 2, 3)
    await bob.sharing.hub.release(lease)
    await ann.sharing.pull(at)
    assert (await ann.texts(at))[:2] == ["Where does the heron stand?", "In the reeds."]


async def test_a_made_up_format_locks_everybody_out(machines: list[Machine], team: TestTeam) -> None:
    """A writer pushes nothing with format 2147483647: from then on nobody can write the conversation, and its owner can
    purge nothing in it ('Install the newest version')."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    lease = await bob.sharing.hub.lease(team.id, at, "another store", "x")
    sql = "SELECT * FROM hub.push(%s, %s, %s, %s, %s, '[]'::jsonb)"
    with pytest.raises(HubRefused, match="palimpsest hub setup"):
        await bob.sharing.hub._calls.rows(sql, team.id, at, lease.store, lease.epoch, 2**31 - 1)
    await bob.sharing.hub.release(lease)
    await ann.purge(at, 0, 2)


async def test_old_messages_change_their_author_after_a_restore(machines: list[Machine], team: TestTeam) -> None:
    """After a restore what Ann had said before she shared (version 1) comes back under the name of whoever pushes it
    first, who may purge it then; `restored_by` is empty. The page promises 'under their names'."""
    ann, bob = machines
    await ann.ask("One?", "One.")
    await ann.ask("Two?", "Two.")
    at = await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    await publication.open_shared(bob.sharing, team.id, at)
    await ann.settle()
    lose(team, at, 2)
    set_up(team.lab.admin, is_restored=True)
    await bob.sharing.reconcile(at)
    entries = await ann.sharing.hub.entries(team.id, at, 0)
    assert {each.author for each in entries if each.message is not None} == {team.ids["ann"]}
