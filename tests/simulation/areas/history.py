"""What changes a conversation but for chatting: summaries, roll backs, forks, purges, rules, names, facts learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.simulation.areas.chat import Drafts
from tests.simulation.operations import Kind, Op, of_conversation
from tests.simulation.scheduler import name_of
from tests.simulation.world import Request, Server, Woken, World

from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.folder.session import FolderSession
from palimpsest.storage.context import rules as commanded_rules
from palimpsest.storage.conversation import hidden_ranges, message_log

_MOST_CONVERSATIONS: Final = 5
_LONGEST_LOOKED: Final = 150
"""Steps in which something may begin to be read."""


@dataclass(eq=False, slots=True)
class Purge:
    """Asked for, and not known to have been carried out."""

    server: Server
    n_failed: int
    """Statements that the disk had refused by then."""
    begun_at: int
    """The step."""


class Purges(list[Purge]):
    """The purges whose text may still be in the files."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def take_stock(self) -> None:
        """Nothing is under way. What no death and no disk stopped is over; so is everything that a server has found to
        be gone on with which was opened since."""
        opened_at = {root: self.world.newest_opening(root) for root in self.world.homes}
        self[:] = [
            each
            for each in self
            if (each.server.killed_at is not None or each.n_failed != self.world.disk.n_failed)
            and opened_at[each.server.root] <= (each.server.killed_at or each.begun_at)
        ]


async def _end_of(session: FolderSession, at: ConversationId) -> int:
    return (await session.contexts.state(at)).n_messages


def _range_of(op: Op, end: int, share: float, most: float) -> tuple[MessageId, MessageId] | None:
    """Some messages of a conversation of `end`, at most that part of them; None but for that share of the numbers."""
    v = op.chance("range")
    if v.random() > share or end == 0:
        return None
    start = v.randrange(end)
    return MessageId(start), MessageId(min(end, start + 1 + v.randrange(max(1, int(most * end)))))


async def _summarize(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    wanted = _range_of(op, await _end_of(session, at), 0.6, 1.0)
    await session.conversations.summarize(at, wanted)


async def _rollback(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    end, v = await _end_of(session, at), op.chance("to")
    if op.kind == "rewind":
        to = MessageId(v.randrange(end)) if end else None
    else:
        to = None if v.random() < 0.3 or not end else MessageId(max(0, end - 1 - v.randrange(9)))
    await session.conversations.roll_back(at, to)


async def _fork(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    end = await _end_of(session, at)
    if end and len(world.conversations) < _MOST_CONVERSATIONS:
        hidden = await session.folder.store.read(hidden_ranges.read, at)
        taken_back = await session.folder.store.read(commanded_rules.withdrawals, at)
        child = await session.conversations.fork(at, MessageId(op.b % end), None)
        world.conversations.append(child.id)
        shown = await session.folder.store.read(message_log.read_visible, child.id, 0)
        if any(each.start <= message.id < each.end for message in shown for each in hidden):
            world.problem("fork shows what was hidden", f"{len(shown)} shown")
        known = await session.folder.store.read(commanded_rules.withdrawals, child.id)
        still = await session.folder.store.read(
            commanded_rules.withdrawals, at
        )  # a purge may have taken some meanwhile
        if any(each.message_id < child.fork_at and each in still and each not in known for each in taken_back):
            world.problem("fork forgets what was taken back", f"{len(known)} of {len(taken_back)}")


async def _undo(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    await session.conversations.undo(at)


async def _redo(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    await session.conversations.redo(at)


async def _expand(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    found = [piece.summary.id for piece in (await session.contexts.state(at)).pieces if isinstance(piece, SummaryPiece)]
    if found:
        change = session.conversations.expand if op.kind == "expand" else session.conversations.regenerate
        await change(at, found[op.b % len(found)])


async def _purge(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    await purge_those(world, request, session, at, _range_of(op, await _end_of(session, at), 0.8, 0.3))


async def purge_those(
    world: World,
    request: Request,
    session: FolderSession,
    at: ConversationId,
    wanted: tuple[MessageId, MessageId] | None,
) -> None:
    purges = world.part(Purges)
    purges.append(purge := Purge(request.server, world.disk.n_failed, world.loop.n_steps))
    await session.purging.purge(at, wanted, is_confirmed=True)
    purges.remove(purge)


async def _pin(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    pinning = RuleCommands(session.contexts)
    if op.kind == "pin":
        await pinning.pin(at, f"Keep promise {op.b % 4}.")
    elif entries := (await pinning.rules(at)).whole.open_entries():
        await pinning.withdraw(at, str(entries[op.b % len(entries)].id))


async def _name(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    conversations = session.conversations
    match op.b % 3:
        case 0:
            await conversations.rename(at, f"Pumps {op.number}")
        case 1:
            drafts = world.part(Drafts)
            drafts.n_begun += 1
            await conversations.set_draft(at, f"What if {op.number}")
        case _:
            await conversations.archive(at, is_archived=op.b % 2 == 0)


async def _layout(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    await session.conversations.set_layout(at, (None, "log", "librarian")[op.b % 3])


async def _extract(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    await session.folder.facts.librarian.extract_and_store(at)


def _overtake(world: World, op: Op) -> None:
    """A server that reads in the background gets no processor for a while, and another takes back what is read."""
    v = op.chance("overtake")
    public = [server for server in world.servers if not server.is_private]
    if len(public) < 2:  # for the next time
        world.request(op.kind, world.add_server(), lambda request: _open(world, request))
        return
    for _ in range(_LONGEST_LOOKED):
        if _read_now(public) or not world.loop.step():
            break
    for _ in range(v.randrange(30)):
        world.loop.step(may_wait=False)
    if not (found := _read_now(public)):
        return
    reader, at = found[op.b % len(found)]

    async def carry_out(request: Request) -> None:
        session = await world.open_folder(request.server)
        if v.random() < 0.5:
            await session.conversations.roll_back(at, None)
        else:
            end = await _end_of(session, at)
            last = MessageId(max(0, end - 1 - v.randrange(4))), MessageId(end)
            await purge_those(world, request, session, at, last)

    world.loop.nodes.remove(reader.node)
    request = world.request(op.kind, next(server for server in public if server is not reader), carry_out)
    for _ in range(_LONGEST_LOOKED):
        if request.is_answered or not world.loop.step(may_wait=False):
            break
    world.loop.nodes.insert(0, reader.node)
    calls = (call for lane in reader.node.lanes for call in (*lane.calls, *lane.done))
    n_looks = sum(name_of(call.function) == name_of(hidden_ranges.last_hidden) for call in calls)
    world.woken[reader.node] = Woken(reader.node.n_steps, n_looks)


async def _open(world: World, request: Request) -> None:
    await world.open_folder(request.server)


def _read_now(servers: Sequence[Server]) -> list[tuple[Server, ConversationId]]:
    """What is read while nobody waits, for facts or for a summary written ahead, of conversations without a turn."""
    found: list[tuple[Server, ConversationId]] = []
    for server in servers:
        if (session := server.session) is not None:
            written = {turn.conversation_id for turn in session.folder.running.values()}
            read = [each.conversation_id for each in session.folder.background._tasks.values()]
            found += [(server, each) for each in read if each is not None and each not in written]
    return found


KINDS: Final = {
    "summarize": of_conversation(6, _summarize),
    "rollback": of_conversation(6, _rollback),
    "rewind": of_conversation(3, _rollback),
    "fork": of_conversation(3, _fork),
    "undo": of_conversation(3, _undo),
    "redo": of_conversation(2, _redo),
    "expand": of_conversation(4, _expand),
    "regenerate": of_conversation(2, _expand),
    "purge": of_conversation(5, _purge),
    "pin": of_conversation(3, _pin),
    "withdraw": of_conversation(1, _pin),
    "name": of_conversation(1, _name),
    "layout": of_conversation(1, _layout),
    "extract": of_conversation(3, _extract),
    "overtake": Kind(6, _overtake, is_late=True),
}
