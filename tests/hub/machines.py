"""Machines of members that share conversations through a real hub."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tests.hub.lab import TestTeam
from tests.services.scripted import Bench, open_bench, says
from tests.waiting import WAIT_S

from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.services.conversation.documents import ChatDocuments
from palimpsest.services.conversation.pending_work import do_pending_work
from palimpsest.services.conversation.purge import Purging
from palimpsest.services.maintenance.health import examine
from palimpsest.services.sharing import publication, purges
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.storage.conversation import message_log
from palimpsest.storage.maintenance.health import Verdict
from palimpsest.storage.sharing.shared import Terms


@dataclass(slots=True)
class Machine:
    """A member's store with a session, and its way to the hub."""

    name: str
    bench: Bench
    sharing: Sharing

    async def ask(self, text: str, answer: str) -> str:
        self.bench.provider.replies.append(says(answer))
        return await self.bench.ask(text)

    async def settle(self) -> None:
        """Until what a turn that has ended still pushes is pushed."""
        await asyncio.gather(*list(self.sharing.closing.values()))

    async def purge(self, conversation_id: ConversationId, start: int, end: int) -> None:
        purging = replace(self.sharing.purges, everywhere=functools.partial(purges.purge, self.sharing))
        await purging.purge(conversation_id, (MessageId(start), MessageId(end)), is_confirmed=True)

    async def texts(self, conversation_id: ConversationId | None = None) -> list[str]:
        at = conversation_id or self.bench.conversation_id
        return [each.content.text for each in await self.bench.store.read(message_log.read, at, 0)]

    async def assert_sound(self) -> None:
        await do_pending_work(self.bench.store)
        report = await examine(self.bench.store.directory)
        found = [each for each in report.findings if each.verdict is not Verdict.OK]
        assert found == [], found


async def open_machine(name: str, team: TestTeam, directory: Path, stack: AsyncExitStack) -> Machine:
    """The machine of a member, until `stack` is closed."""
    bench = await open_bench(directory)
    folder = bench.session.folder
    stack.push_async_callback(folder.close)
    contexts = bench.session.contexts
    documents = ChatDocuments(folder.store.directory, folder.store)
    purges = Purging(contexts, folder.listeners, documents)
    terms = Terms(Cleaner(f"/home/{name}/heron", f"/home/{name}"))
    sharing = Sharing(team.hub(name), contexts, folder.listeners, purges, terms)
    turns = bench.session.turns
    turns.services = replace(turns.services, sharing=sharing)
    return Machine(name, bench, sharing)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits for it."""
    async with asyncio.timeout(WAIT_S):
        while not await condition():  # noqa: ASYNC110 - nothing wakes who waits for a row of the hub
            await asyncio.sleep(0.01)


async def share(machines: list[Machine], team: TestTeam) -> ConversationId:
    """A conversation of a question and an answer, which both have."""
    ann, bob = machines
    await ann.ask("Where does the heron stand?", "In the reeds.")
    at = await publication.share(ann.sharing, ann.bench.conversation_id, team.id)
    bob.bench.conversation_id = await publication.open_shared(bob.sharing, team.id, at)
    return at


async def assert_same(machines: list[Machine], at: ConversationId) -> None:
    for machine in machines:
        await machine.settle()
        await machine.sharing.reconcile(at)
    for machine in machines:
        await machine.sharing.pull(at)
    one, two = [await machine.bench.store.read(message_log.read, at, 0) for machine in machines]
    assert one == two
    for machine in machines:
        await machine.assert_sound()
