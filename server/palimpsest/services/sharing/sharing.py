"""Sharing the conversations of one folder: push, pull, and the right to write. `publication` begins and ends it.

The store stays whole without the hub. The hub orders who writes a shared conversation, by a lease with an epoch: a turn
begins only under it, and only on top of all that the hub has. Where two have written all the same, because the hub was
away, its order counts, and what it never had moves into a fork.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.errors import ConversationBusy, HubFailed, InvalidRequest, PalimpsestError
from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.domain.sharing.log import Entry, SharedConversation
from palimpsest.domain.sharing.status import PUSH
from palimpsest.machine import utc_now
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.conversation.pending_work import keep_at_pending_work
from palimpsest.services.conversation.purge import Purging
from palimpsest.services.events import ConversationChanged, Listeners, MovedApart
from palimpsest.services.sharing.hub_errors import told
from palimpsest.services.sharing.purges import send_waiting
from palimpsest.storage import leases
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.sharing import apart, arrivals, outgoing, shared
from palimpsest.storage.sharing.arrivals import Diverged, TakenIn
from palimpsest.storage.sharing.shared import Standing, Terms, Unsound
from palimpsest.storage.store import Store
from palimpsest.storage.turns import turns
from palimpsest_hub.client import LEASE_S, Hub
from palimpsest_hub.errors import HubRefused, HubUnreachable
from palimpsest_hub.records import Identity, Lease

log = logging.getLogger(__name__)

_PULL_AT_ONCE: Final = 500
_SHARED_NO_LONGER: Final = ("not_shared", "unshared", "forbidden")
"""Kinds of refusals."""
_ANOTHER_HUB: Final = (
    "This conversation is shared through another hub than the one of `hub.url`, or as another member of it. Set that "
    "one again, or go on in a fork."
)
_LETTING_GO_S: Final = 2.0
_PATIENCE_S: Final = 10.0
"""How long another server of the store is waited for, which brings a conversation into step."""
_LOOK_AGAIN_S: Final = 0.1
_TRIES: Final = 5
"""How often a writer takes in what others wrote meanwhile, before it gives up."""


@dataclass(slots=True)
class Taken:
    """The right to write a conversation, in the hub and in this store."""

    mine: HeldLease
    theirs: Lease
    n_pushed: int
    """The messages that the hub has."""


@dataclass(slots=True)
class Sharing:
    """The shared conversations of one store."""

    hub: Hub
    contexts: ContextEngine
    listeners: Listeners
    purges: Purging
    terms: Terms
    lease_s: int = LEASE_S
    _store_id: str = ""
    closing: dict[ConversationId, asyncio.Task[None]] = field(default_factory=dict)
    """What turns that have ended still have to push."""
    _reconciling: dict[ConversationId, asyncio.Event] = field(default_factory=dict)
    """What is being brought into step; each is set at the end of that."""
    _in_step: dict[ConversationId, tuple[object, ...]] = field(default_factory=dict)
    """The stamps (`outgoing.stamp`) at which nothing was left to push."""

    @property
    def store(self) -> Store:
        return self.contexts.store

    async def store_id(self) -> str:
        """The id by which the hub knows the store."""
        self._store_id = self._store_id or await self.store.run(shared.store_id)
        return self._store_id

    async def me(self) -> str:
        """The user's id in the hub. Raises HubIsAway, HubFailed."""
        with told():
            return await self.hub.me()

    # Taking in

    async def pull(self, conversation_id: ConversationId) -> int:
        """Takes in what the hub has and the store has not; returns how many entries. Own messages that the hub never
        had, where it has others, move into a fork. When the conversation is shared no longer, it is this store's alone.
        A hub that was restored from a backup is compared with what is here from the first entry on.

        Raises ConversationBusy while somebody writes here, HubIsAway, HubFailed, Unsound.
        """
        n_taken, is_compared = 0, False
        while (standing := await self.store.read(shared.standing, conversation_id)) is not None:
            found = await self._in_hub(standing, conversation_id)
            if found is None:
                break
            if found.incarnation != standing.incarnation or found.head_seq < standing.hub_seq:
                await self._compare_anew(conversation_id, found)
                continue
            if found.head_seq == standing.hub_seq:
                break
            with told():
                entries = await self.hub.entries(standing.team, conversation_id, standing.hub_seq, _PULL_AT_ONCE)
            try:
                hub_seq = await self._take_in(conversation_id, entries)
            except Diverged as diverged:
                await self.move_apart(conversation_id, diverged.at)
                continue
            except Unsound:
                if is_compared:
                    raise
                is_compared = True
                await self._compare_anew(conversation_id, found)
                continue
            n_taken += len(entries)
            await self._tell_seen(standing, conversation_id, hub_seq)
            if not entries or hub_seq < entries[-1].seq or hub_seq >= found.head_seq:
                break  # the rest is for a newer version, or there is none
        return n_taken

    async def _compare_anew(self, conversation_id: ConversationId, found: SharedConversation) -> None:
        """Raises ConversationBusy: what a turn that runs here pushes counts as compared."""

        def compare() -> None:
            lease, _ = turns.take(self.store.writer(utc_now()), conversation_id, arrivals.TAKING_IN)
            shared.compare_anew(conversation_id, found)
            leases.release(lease)

        await self.store.run(compare)

    async def _take_in(self, conversation_id: ConversationId, entries: Sequence[Entry]) -> int:
        """The last entry that was taken in. Raises ConversationBusy, Diverged, Unsound."""

        def follow(taken: TakenIn) -> None:
            for each in taken.changed:
                self.contexts.forget(each)
                self.changed(each)

        writer = self.store.writer(utc_now())
        taken = await self.store.commit(lambda: arrivals.take_in(writer, conversation_id, entries), follow)
        if taken.has_purged:
            await self.purges.finish()
        return taken.hub_seq

    async def _tell_seen(self, standing: Standing, conversation_id: ConversationId, seq: int) -> None:
        with contextlib.suppress(HubUnreachable, HubRefused):
            await self.hub.seen(standing.team, conversation_id, await self.store_id(), seq)

    async def _in_hub(self, standing: Standing, conversation_id: ConversationId) -> SharedConversation | None:
        """The conversation as the hub has it; None when it is shared no longer, which is noted: it was unshared, or
        this member has left the team. Raises HubIsAway, and HubFailed also for another hub than the one it is shared
        through and for a member whom the hub does not know: then nothing changes."""
        with told():
            try:
                found = await self.hub.conversation(standing.team, conversation_id)
            except HubRefused as refused:
                if refused.kind not in _SHARED_NO_LONGER:
                    raise
                found = None
            identity = await self.hub.identity() if found is None else Identity(found.hub, found.incarnation, found.me)
        self._require_same(identity, standing)
        if found is not None and not found.is_unshared:
            return found
        await self.store.run(shared.detach, conversation_id)
        self.changed(conversation_id)
        return None

    async def require_same_hub(self, standing: Standing) -> None:
        """Raises HubFailed when the conversation is shared through another hub than this one, or as another member;
        HubIsAway."""
        with told():
            self._require_same(await self.hub.identity(), standing)

    @staticmethod
    def _require_same(identity: Identity, standing: Standing) -> None:
        if (identity.hub, identity.me) != (standing.hub, standing.member):
            raise HubFailed(_ANOTHER_HUB)

    async def move_apart(self, conversation_id: ConversationId, at: MessageId) -> None:
        """Moves the messages from `at` on, which the hub does not have, into a fork. Raises ConversationBusy."""

        def move() -> ConversationId:
            lease, _ = turns.take(self.store.writer(utc_now()), conversation_id, "moving messages apart")
            fork = apart.move_apart(lease, at, utc_now())
            leases.release(lease)
            return fork

        self.has_moved(conversation_id, await self.store.run(move), at)

    def has_moved(self, conversation_id: ConversationId, fork: ConversationId, at: MessageId) -> None:
        """Tells that the messages from `at` on are in a fork now."""
        self.make_findable()
        self.contexts.forget(conversation_id)
        self.changed(conversation_id)
        self.changed(fork)
        self.listeners.tell(MovedApart(conversation_id, fork, at))

    # Pushing

    async def _push(self, taken: Taken) -> None:
        """Pushes what the hub lacks. Raises HubUnreachable, HubRefused, Unsound."""
        conversation_id = taken.mine.conversation_id
        while True:
            batch = await self.store.read(outgoing.unpushed, conversation_id, taken.n_pushed)
            if not batch.entries:
                return
            head = await self.hub.push(taken.theirs, batch.entries)
            await self.store.run(shared.note_pushed, conversation_id, batch.entries, head.seq)
            taken.n_pushed = head.n_messages
            if batch.is_all:
                return

    async def has_unpushed(self, conversation_id: ConversationId) -> bool:
        """Whether something was said or done here that the hub lacks."""
        if conversation_id in self.closing:
            return False
        stamp = await self.store.read(outgoing.stamp, conversation_id)
        if self._in_step.get(conversation_id) == stamp:
            return False
        if await self.store.read(outgoing.has_unpushed, conversation_id):
            return True
        self._in_step[conversation_id] = stamp
        return False

    async def reconcile(self, conversation_id: ConversationId) -> bool:
        """Takes in what there is, and pushes what is left: after sharing, and after the hub was away. False when
        somebody writes now, here or elsewhere: then later. Whoever wants to write here meanwhile waits for it."""
        await self._reconciled(conversation_id)
        over = self._reconciling[conversation_id] = asyncio.Event()
        try:
            with contextlib.suppress(ConversationBusy):
                await self.pull(conversation_id)
                if (taken := await self._take(conversation_id, PUSH)) is not None:
                    await self._push_and_give_back(taken)
                return True
            return False
        finally:
            del self._reconciling[conversation_id]
            over.set()

    async def _push_and_give_back(self, taken: Taken) -> None:
        try:
            with told():
                await self._push(taken)
        finally:
            await self._give_back(taken.mine, taken.theirs)

    async def _reconciled(self, conversation_id: ConversationId) -> None:
        while (over := self._reconciling.get(conversation_id)) is not None:
            await over.wait()

    # Writing

    async def take(self, conversation_id: ConversationId, holder: str) -> Taken | None:
        """The right to write, in this store first and then in the hub, on top of all that the hub has; None for a
        conversation that is not shared. Of the servers of one store only the one that holds the store's own lease asks
        the hub, which knows the store and not the server.

        What another server of the store brings into step now is waited for.

        Raises ConversationBusy, HubIsAway, HubFailed.
        """
        until = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            await self._reconciled(conversation_id)
            try:
                return await self._take(conversation_id, holder)
            except ConversationBusy as busy:
                if busy.holder not in (PUSH, arrivals.TAKING_IN) or asyncio.get_running_loop().time() > until:
                    raise
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _take(self, conversation_id: ConversationId, holder: str) -> Taken | None:
        if (closing := self.closing.get(conversation_id)) is not None:
            await asyncio.wait([closing])
        for _ in range(_TRIES):
            if (standing := await self.store.read(shared.standing, conversation_id)) is None:
                return None
            mine = await self.take_here(conversation_id, holder)
            theirs: Lease | None = None
            is_answered = False
            try:
                theirs = await self._lease(standing, conversation_id, holder)
                is_answered = True
                if theirs is None:  # it is this store's alone from now on
                    await self._give_back(mine, None)
                    return None
                if await self._is_on_top(theirs) and not await send_waiting(self, theirs):
                    return Taken(mine, theirs, theirs.n_messages)
            except BaseException as error:
                if is_answered or isinstance(error, PalimpsestError):
                    await self._give_back(mine, theirs)
                else:  # cancelled: the hub may have granted it all the same
                    self.close_later(conversation_id, asyncio.create_task(self._let_go(standing, mine)))
                raise
            await self._give_back(mine, theirs)
            await self.pull(conversation_id)
        raise ConversationBusy("others, who write here all the time,")

    async def _let_go(self, standing: Standing, mine: HeldLease) -> None:
        """Gives both leases back, the hub's first: it knows the store, and another server of the store may ask for it
        as soon as it has the store's own. The user may try again at once, so a hub that does not answer is not waited
        for: its lease ends by itself."""
        try:
            async with asyncio.timeout(_LETTING_GO_S):
                await _is_done(self.hub.let_go(standing.team, mine.conversation_id, await self.store_id()))
        except TimeoutError:
            log.info("the hub did not hear that a lease is given back")
        finally:
            await self._give_back(mine, None)

    async def _lease(self, standing: Standing, conversation_id: ConversationId, holder: str) -> Lease | None:
        """The hub's lease; None for a conversation that is shared no longer. Raises what `take` raises."""
        with told():
            try:
                return await self.hub.lease(standing.team, conversation_id, await self.store_id(), holder, self.lease_s)
            except HubRefused as refused:
                if refused.kind not in _SHARED_NO_LONGER or await self._in_hub(standing, conversation_id) is not None:
                    raise
                return None

    async def _is_on_top(self, theirs: Lease) -> bool:
        """Whether what would be written now follows on what the hub has. A hub that was restored from a backup, and may
        have been written to since, is compared anew by the next pull."""
        at = ConversationId(theirs.conversation)
        standing = await self.store.read(shared.standing, at)
        if standing is None or standing.incarnation != theirs.incarnation or standing.hub_seq != theirs.head_seq:
            return False
        if (
            theirs.n_messages == 0
            or await self.store.read(shared.digest_of, at, theirs.n_messages - 1) == theirs.head_digest
        ):
            return True
        with told():
            found = await self.hub.conversation(theirs.team, at)
        await self.store.run(shared.compare_anew, at, found)
        return False

    async def take_here(self, conversation_id: ConversationId, holder: str) -> HeldLease:
        """The store's own lease; given back at once when the caller was cancelled while it was being taken."""

        def take() -> tuple[HeldLease, bool]:
            shared.keep_terms(conversation_id, self.terms)
            return turns.take(self.store.writer(utc_now()), conversation_id, holder)

        held: list[HeldLease] = []
        is_over = False

        def hear(taken: tuple[HeldLease, bool]) -> None:
            held.append(taken[0])
            if is_over:  # nobody waits for it any more
                self.contexts.leases.give_back(taken[0], self.changed)

        try:
            mine, _ = await self.store.commit(take, hear)
        except BaseException:
            is_over = True
            for each in held:
                self.contexts.leases.give_back(each, self.changed)
            raise
        return mine

    @contextlib.asynccontextmanager
    async def taken(self, conversation_id: ConversationId, holder: str) -> AsyncIterator[Taken]:
        """The right to write, for the block. Raises what `take` raises, and InvalidRequest for what is not shared."""
        taken = await self.take(conversation_id, holder)
        if taken is None:
            raise InvalidRequest("This conversation is not shared.")
        try:
            yield taken
        finally:
            await self._give_back(taken.mine, taken.theirs)

    async def _give_back(self, mine: HeldLease, theirs: Lease | None) -> None:
        # Asked for first: a caller who is cancelled once more does not wait for the hub.
        given = self.contexts.leases.give_back(mine, self.changed)
        if theirs is not None:
            await _is_done(self.hub.release(theirs))
        if given is not None:
            await asyncio.wait([given])

    async def give_back(self, taken: Taken) -> None:
        """Gives both leases back, when nothing was begun under them."""
        await self._give_back(taken.mine, taken.theirs)

    # What a turn tells: none of these calls raises what the hub raises

    async def release(self, taken: Taken) -> None:
        """Gives the hub's lease back; one that cannot be given back ends by itself."""
        await _is_done(self.hub.release(taken.theirs))

    async def renew(self, taken: Taken) -> bool:
        """Whether the hub's lease is still held."""
        return await _is_done(self.hub.renew(taken.theirs, self.lease_s))

    async def say(self, taken: Taken, turn_id: TurnId, first: int, frames: Sequence[str]) -> bool:
        """Whether the hub has shown the frames to those who follow."""
        return await _is_done(self.hub.say(taken.theirs, turn_id, first, frames))

    async def push_step(self, taken: Taken) -> bool:
        """Whether the hub has all that is stored."""
        return await _is_done(self._push(taken))

    def close_later(self, conversation_id: ConversationId, work: asyncio.Task[None]) -> None:
        """The next writer waits for what a turn that has ended still pushes."""

        def forget(done: asyncio.Task[None]) -> None:
            if self.closing.get(conversation_id) is done:
                del self.closing[conversation_id]

        self.closing[conversation_id] = work
        work.add_done_callback(forget)

    # Told to the folder

    def make_findable(self) -> None:
        """Does what is noted to be done: messages that were copied or moved are not in the indexes yet."""
        self.contexts.background.start(None, keep_at_pending_work(self.store))

    def changed(self, conversation_id: ConversationId) -> None:
        self.listeners.tell(ConversationChanged(conversation_id))


async def _is_done(call: Awaitable[None]) -> bool:
    """Whether the call came through: the hub may be away, or may say no."""
    try:
        await call
    except (HubUnreachable, HubRefused, PalimpsestError) as error:
        log.info("the hub did not take a call: %s", type(error).__name__)
        return False
    except Exception:  # a turn goes on, and the lease is given back, whatever is wrong
        log.exception("a call of the hub has failed")
        return False
    return True
