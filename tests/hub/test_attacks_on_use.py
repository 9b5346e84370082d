"""Attacks on what can be shared, opened and counted, by somebody who did not write the sharing: each test says the harm
that it would do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hub.lab import AT, TestTeam
from tests.hub.machines import Machine, share
from tests.hub.test_sharing_under_attack import lose, unreachable
from tests.services.scripted import Bench, calls, open_bench, says

from palimpsest.domain.errors import HubFailed, HubIsAway
from palimpsest.domain.messages import ConversationId, MessageId, canonical_json
from palimpsest.domain.sharing.log import EntryKind, NewEntry, key_of
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.conversation.transfer import Transfers
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.dry_run import dry_run
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.services.sharing.watch import Watch
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage.conversation import conversations
from palimpsest.storage.sharing import unsent
from palimpsest.storage.sharing.shared import Terms
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.migration import set_up


@pytest.fixture
async def withholding(machines: list[Machine], team: TestTeam, tmp_path: Path) -> AsyncIterator[tuple[Bench, Sharing]]:
    """Another store of ann's, with a tool, that shares no results."""

    async def look(_: str) -> ToolOutput:
        return ToolOutput("the port is 4711 " * 600)

    ann, _ = machines
    bench = await open_bench(tmp_path / "c", tools=(Tool(ToolSchema("look", "Looks.", {"type": "object"}), look),))
    folder = bench.session.folder
    terms = Terms(ann.sharing.terms.cleaner, shares_results=False)
    sharing = Sharing(team.hub("ann"), bench.session.contexts, folder.listeners, ann.sharing.purges, terms)
    bench.session.turns.services = replace(bench.session.turns.services, sharing=sharing)
    yield bench, sharing
    await folder.close()


def transfers_of(bench: Bench) -> Transfers:
    return Transfers(bench.session.conversations)


def assert_all_answered(machine: Machine) -> None:
    seen = machine.bench.provider.seen[-1].messages
    called = [call.call_id for content in seen for call in content.calls]
    assert called == [result.call_id for content in seen for result in content.results] != []


# Conversations that cannot be shared, opened or continued


@pytest.mark.parametrize("after", [1, 3])
async def test_a_fork_of_what_a_shared_fork_inherited(machines: list[Machine], team: TestTeam, after: int) -> None:
    """A fork of a shared fork, made at a message that the first fork inherited, can never be shared: 'not shared with
    this team', although both are."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.ask("Two?", "Two.")
    await ann.settle()
    fork = (await ann.bench.session.conversations.fork(at, MessageId(3), "f")).id
    await publication.share(ann.sharing, fork, team.id)
    ann.bench.conversation_id = fork
    await ann.ask("In it?", "In it.")
    await ann.settle()
    second = (await ann.bench.session.conversations.fork(fork, MessageId(after), "g")).id
    ann.bench.conversation_id = second
    await ann.ask("In the second?", "In the second.")
    shared_id = await publication.share(ann.sharing, second, team.id)
    await publication.open_shared(bob.sharing, team.id, shared_id)
    assert (await bob.texts(shared_id))[-1] == "In the second."


async def test_a_shared_fork_of_an_unshared_parent(machines: list[Machine], team: TestTeam) -> None:
    """After /unshare of its parent a shared fork is offered to all and opened by none, even where its messages are."""
    ann, bob = machines
    at = await share(machines, team)
    fork = (await ann.bench.session.conversations.fork(at, None, "f")).id
    ann.bench.conversation_id = fork
    await ann.ask("In the fork?", "Yes, in it. " * 30)
    await publication.share(ann.sharing, fork, team.id)
    await ann.settle()
    await publication.unshare(ann.sharing, at)
    await Watch(bob.sharing, 1).look()
    assert fork in {each.id for each in await publication.offered(bob.sharing, team.id)}
    await publication.open_shared(bob.sharing, team.id, ConversationId(fork))


async def test_a_copy_of_withheld_results(
    machines: list[Machine], team: TestTeam, withholding: tuple[Bench, Sharing]
) -> None:
    """Who shares again what came with withheld results gets a copy with calls that have no result: the model's service
    refuses every turn in it (also after export and import)."""
    _, bob = machines
    bench, sharing = withholding
    at = bench.conversation_id
    bench.provider.replies += [calls(("1", "look", "{}")), says("Found.")]
    assert await bench.ask("Which port?") == "committed"
    assert await publication.share(sharing, at, team.id) == at
    await publication.open_shared(bob.sharing, team.id, at)
    await publication.unshare(sharing, at)
    await Watch(bob.sharing, 1).look()
    bob.bench.conversation_id = await publication.share(bob.sharing, at, team.id)
    assert await bob.ask("And his?", "His.") == "committed"
    assert_all_answered(bob)


async def test_withheld_results_in_another_store(
    machines: list[Machine], team: TestTeam, withholding: tuple[Bench, Sharing], tmp_path: Path
) -> None:
    """An export of such a conversation has calls without a result."""
    _, bob = machines
    bench, sharing = withholding
    at = bench.conversation_id
    bench.provider.replies += [calls(("1", "look", "{}")), says("Found.")]
    assert await bench.ask("Which port?") == "committed"
    await publication.share(sharing, at, team.id)
    await publication.open_shared(bob.sharing, team.id, at)
    text = (await transfers_of(bob.bench).export(at)).text
    other = await open_bench(tmp_path / "d")
    other.conversation_id = (await transfers_of(other).import_text(text)).record.id
    assert (await transfers_of(other).export(other.conversation_id)).text == text
    other.provider.replies.append(says("His."))
    assert await other.ask("And his?") == "committed"
    called = [call.call_id for content in other.provider.seen[-1].messages for call in content.calls]
    assert called == [each.call_id for content in other.provider.seen[-1].messages for each in content.results] != []
    await other.session.folder.close()


async def test_withheld_results_after_a_restore(
    machines: list[Machine], team: TestTeam, withholding: tuple[Bench, Sharing]
) -> None:
    """After a restore another store pushes withheld results as purged ones: whoever opens the conversation then has
    calls without a result, and the model's service refuses his turns."""
    ann, bob = machines
    bench, sharing = withholding
    at = bench.conversation_id
    bench.provider.replies += [says("First."), calls(("1", "look", "{}")), says("Found.")]
    assert await bench.ask("First?") == "committed"
    assert await publication.share(sharing, at, team.id) == at
    assert await bench.ask("Which port?") == "committed"
    await asyncio.gather(*list(sharing.closing.values()))
    await publication.open_shared(bob.sharing, team.id, at)
    lose(team, at, 2)
    set_up(team.lab.admin, is_restored=True)
    await bob.sharing.reconcile(at)
    ann.bench.conversation_id = await publication.open_shared(ann.sharing, team.id, at)
    assert await ann.ask("And hers?", "Hers.") == "committed"
    assert_all_answered(ann)


async def test_a_lost_answer_to_sharing(machines: list[Machine], team: TestTeam) -> None:
    """The hub goes away between sharing a copy and its answer: asked again, a second copy is shared; the first one
    stays offered to all, empty, and its owner's machine has it as a conversation that is not shared."""
    ann, _ = machines
    await ann.ask("Look at /home/ann/heron/a.py", "Yes.")
    conversation = ann.sharing.hub.conversation
    ann.sharing.hub.conversation = unreachable  # type: ignore[method-assign, assignment]
    with pytest.raises(HubIsAway):
        await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    ann.sharing.hub.conversation = conversation  # type: ignore[method-assign]
    await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    assert len(await publication.offered(ann.sharing, team.id)) == 1


async def test_a_refused_share_leaves_copies(machines: list[Machine], team: TestTeam) -> None:
    """Each try that the hub refuses (a reader's) or does not hear leaves one more copy in the list of conversations."""
    ann, _ = machines
    await ann.ask("Look at /home/ann/heron/a.py", "Yes.")
    team.set_role("ann", "reader")
    for _ in range(2):
        with pytest.raises(HubFailed):
            await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    assert len(await ann.bench.store.read(conversations.list_all)) == 1


async def test_a_cancel_while_the_hub_grants_the_lease(machines: list[Machine], team: TestTeam) -> None:
    """A take that is cancelled after the hub granted the lease, before its answer was read, locks all others out of the
    conversation for 30 s: nothing gives that lease back."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    real, is_granted = ann.sharing.hub.lease, asyncio.Event()

    async def slow(*arguments: object) -> object:
        await real(*arguments)  # type: ignore[arg-type]
        is_granted.set()
        return await asyncio.Event().wait()

    ann.sharing.hub.lease = slow  # type: ignore[method-assign, assignment]
    task = asyncio.create_task(ann.sharing.take(at, "x"))
    await is_granted.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await bob.ask("Mine?", "Yes.") == "committed"


# Sums


@pytest.mark.parametrize("who", [0, 1])
async def test_a_shared_fork_without_messages_of_its_own(machines: list[Machine], team: TestTeam, who: int) -> None:
    """A shared fork counts all that it inherited as unsent, for ever, on every machine; so each look of each machine
    takes the hub's lease of it, and disturbs who wants to write."""
    ann, bob = machines
    at = await share(machines, team)
    fork = (await ann.bench.session.conversations.fork(at, None, "f")).id
    await publication.share(ann.sharing, fork, team.id)
    await publication.open_shared(bob.sharing, team.id, fork)
    machine = machines[who]
    await machine.sharing.reconcile(fork)
    assert await machine.bench.store.read(unsent.count, fork) == 0
    assert not await machine.sharing.has_unpushed(fork)


async def test_the_dry_run_names_what_is_taken_out_of_a_forks_beginning(
    machines: list[Machine], team: TestTeam
) -> None:
    """A fork of a conversation that is not shared goes out as a whole copy; the dry run looks only at the fork's own
    messages, so the keys and paths in the rest are not named."""
    ann, _ = machines
    await ann.ask("Look at /home/ann/heron/a.py", "Yes.")
    fork = (await ann.bench.session.conversations.fork(ann.bench.conversation_id, None, "f")).id
    found = await dry_run(ann.sharing, fork, team.id)
    assert found.plan.is_copy
    assert list(found.plan.cleaned) == [0]


async def test_the_dry_run_counts_bytes(machines: list[Machine], team: TestTeam) -> None:
    """The dry run says 10 kB where 25 kB leave: `n_bytes` is the characters of a Python dict's repr."""
    ann, _ = machines
    await ann.ask("é" * 5000, "鷺" * 5000)
    found = await dry_run(ann.sharing, ann.bench.conversation_id, team.id)
    await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    sent = await ann.sharing.hub.entries(team.id, ann.bench.conversation_id, 0)
    assert found.n_bytes >= 0.9 * sum(len((each.body or "").encode()) for each in sent if each.message is not None)


async def test_the_dry_run_without_results(
    machines: list[Machine], team: TestTeam, withholding: tuple[Bench, Sharing]
) -> None:
    """With `hub.share_tool_results` off the dry run counts the withheld results among the bytes that are shared."""
    bench, sharing = withholding
    bench.provider.replies += [calls(("1", "look", "{}")), says("Found.")]
    assert await bench.ask("Which port?") == "committed"
    assert (await dry_run(sharing, bench.conversation_id, team.id)).n_bytes < 9000


# Hostile text, small


async def test_a_hostile_title_has_no_end(machines: list[Machine], team: TestTeam) -> None:
    """A writer's title of 500,000 characters (up to 1 MiB; own ones have 60) goes into every store and list."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    lease = await bob.sharing.hub.lease(team.id, at, "another store", "x")
    with pytest.raises(HubRefused, match="300 characters"):
        await bob.sharing.hub.push(lease, [NewEntry(EntryKind.TITLE, "k", "t" * 500_000)])
    await bob.sharing.hub.release(lease)
    await ann.sharing.pull(at)
    assert len((await ann.bench.store.read(conversations.get, at)).title) <= 300


async def test_a_summary_below_the_lowest_level(machines: list[Machine], team: TestTeam) -> None:
    """A writer's summary of level -3 is stored; `doctor` reports a damaged store on every machine for ever."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    said = {"start_message_id": 0, "end_message_id": 2, "level": -3, "kind": "summary", "text": "x", "author": "a"}
    said |= dict.fromkeys(("original_tokens", "duration_ms", "input_tokens", "output_tokens"), 1)
    body = canonical_json(said | {"created_at": AT, "children": []})
    lease = await bob.sharing.hub.lease(team.id, at, "another store", "x")
    await bob.sharing.hub.push(lease, [NewEntry(EntryKind.SUMMARY, key_of(body), body)])
    await bob.sharing.hub.release(lease)
    await ann.sharing.pull(at)
    await ann.assert_sound()
