"""The facts of one folder, shared with those who work on the same repository.

The store says what is to be pushed, so nothing is lost while the hub is away. Whether a fact holds is found out here,
on this checkout, by the check that every fact has; the answer stays here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.sharing.facts import FACTS_ARE_OFF, author_name
from palimpsest.domain.sharing.repository import RepositoryIdentity
from palimpsest.machine import utc_now
from palimpsest.services.conversation.pending_work import keep_at_pending_work
from palimpsest.services.facts.folder_facts import FolderFacts
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.hub_errors import told
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.storage.sharing import arriving_facts, outgoing_facts, shared_facts
from palimpsest.storage.sharing.arriving_facts import Arrival
from palimpsest.storage.sharing.outgoing_facts import LeftOutBecause, Outgoing
from palimpsest.storage.sharing.shared_facts import Share
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import FactChange, Member, NewFact, Repository, Team

log = logging.getLogger(__name__)

NEW: Final = "new"
"""The choice of a repository that the team does not have yet."""
_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class FactsPlan:
    """The effect of sharing the facts of a folder."""

    team: Team
    readers: tuple[Member, ...]
    identity: RepositoryIdentity
    repository: Repository | None
    """The same repository in the team; None when the team has none, or when it is not certain which one it is."""
    alike: tuple[Repository, ...]
    """Those of which one part is equal: the user says whether it is one of them."""
    n_facts: int
    n_cleaned: int
    """The statements that are shared without a secret or a place of this machine."""
    left_out: Mapping[LeftOutBecause, int]

    @property
    def is_certain(self) -> bool:
        """Whether no choice is needed."""
        is_whole = bool(self.identity.root_commit and self.identity.remote)
        return self.repository is not None or (is_whole and not self.alike)


@dataclass(slots=True)
class RepositoryFacts:
    """The shared facts of one open folder."""

    sharing: Sharing
    here: FolderFacts
    identify: Callable[[], Awaitable[RepositoryIdentity | None]]
    """Asks for the repository of the folder; None when it is of none. Raises InvalidRequest for a folder that is not
    trusted."""
    is_on: bool
    """The setting `hub.facts`."""
    _may_write: bool = True
    _is_confirmed: bool = False
    """Whether the folder was found to be of the repository for which the user confirmed the sharing."""
    _mark: str = ""
    """The store's mark when everything was pushed."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def share_now(self) -> Share | None:
        """None when the facts of this folder are not shared."""
        return await self.sharing.store.read(shared_facts.share)

    async def plan(self, team: Team) -> FactsPlan:
        """Shares nothing. Raises InvalidRequest, HubIsAway, HubFailed."""
        identity = await self._identity()
        readers = tuple(await publication.readers(self.sharing, team.id))
        with told():
            found = await self.sharing.hub.repositories(team.id)
        same = next((each for each in found if identity.is_same(each.root_commit, each.remote)), None)
        alike = tuple(each for each in found if each != same and identity.is_alike(each.root_commit, each.remote))
        there = await self._outgoing(identity)
        left_out = {why: n for why, n in there.left_out.items() if n}
        return FactsPlan(team, readers, identity, same, alike, there.n_open, there.n_cleaned, left_out)

    async def share(self, plan: FactsPlan, choice: str | None) -> None:
        """Begins to share, if the setting `hub.facts` is true. `choice`: the beginning of the id of one of the
        repositories of the plan, or `NEW`; None where it is certain. Raises InvalidRequest, HubIsAway, HubFailed."""
        if not self.is_on:
            raise InvalidRequest(FACTS_ARE_OFF)
        repository = await self._chosen(plan, choice)
        with told():
            at = await self.sharing.hub.identity()
        new = Share(at.hub, at.incarnation, at.me, plan.team.id, repository, plan.identity, 0)
        await self.sharing.store.run(shared_facts.begin, new)
        self._is_confirmed, self._mark, self._may_write = True, "", True
        await self.look()

    async def unshare(self) -> bool:
        """Ends the sharing here: nothing is pushed or taken in any more. What the team has it keeps, and so does this
        folder. False when nothing was shared."""
        async with self._lock:
            if await self.share_now() is None:
                return False
            await self.sharing.store.run(shared_facts.end)
        self.here.changed()
        return True

    async def look(self) -> None:
        """Takes in what is new, and pushes what the hub lacks. Raises HubIsAway, HubFailed."""
        async with self._lock:
            share = await self.share_now()
            if share is None or not self.is_on or not await self._is_still_it(share):
                return
            with told():
                at = await self.sharing.hub.identity()
                if (at.hub, at.me) != (share.hub, share.member):
                    return  # they are shared through another hub, or by another member: they wait for that
                found = await self.sharing.hub.repositories(share.team)
                head = next((each.head_seq for each in found if each.id == share.repository), None)
                if head is None:
                    log.info("the facts of this folder are not shared now: the team's repository is not there")
                    return
                if head < share.hub_seq or at.incarnation != share.incarnation:
                    await self.sharing.store.run(shared_facts.begin_again, at.incarnation)
                    await self._push(share)
                    head = -1
                if head != share.hub_seq:
                    await self._pull(share)
                await self._push(share)

    # --------------------------------------------------------------------------------------------------------- parts

    async def _identity(self) -> RepositoryIdentity:
        identity = await self.identify()
        if identity is None or identity.is_empty:
            raise InvalidRequest(
                "Facts are shared with those who work on the same git repository, and this folder is of none that has "
                "a commit or a remote on another machine."
            )
        return identity

    async def _is_still_it(self, share: Share) -> bool:
        """Looked at once: a folder does not become another repository while it is open, as a rule."""
        if not self._is_confirmed:
            try:
                identity = await self.identify()
            except InvalidRequest:
                return False
            self._is_confirmed = identity is not None and identity.still_is(share.identity)
            if not self._is_confirmed:
                log.info("no facts are shared: this folder is not of the repository for which sharing was confirmed")
        return self._is_confirmed

    async def _chosen(self, plan: FactsPlan, choice: str | None) -> str:
        if plan.repository is not None and choice is None:
            return plan.repository.id
        found = [each for each in (plan.repository, *plan.alike) if each is not None and choice]
        found = [each for each in found if each.id.startswith(choice or NEW)]
        if len(found) == 1:
            return found[0].id
        if choice == NEW or (choice is None and plan.is_certain):
            with told():
                return await self.sharing.hub.repository(plan.team.id, plan.identity.root_commit, plan.identity.remote)
        raise InvalidRequest("It is not certain which repository this is. Look at /share facts, and name one.")

    async def _outgoing(self, identity: RepositoryIdentity) -> Outgoing:
        return await self.sharing.store.search(outgoing_facts.outgoing, self.sharing.terms.cleaner, identity)

    async def _push(self, share: Share) -> None:
        store = self.sharing.store
        mark = await store.read(shared_facts.mark)
        if mark == self._mark:
            return
        there = await self._outgoing(share.identity)
        if there.twins:
            await store.run(outgoing_facts.drop_twins, there.twins)
            self.here.changed()
        if there.changes and self._may_write:
            new = [NewFact(each.key, each.standing.value, each.body) for each in there.changes]
            try:
                await self.sharing.hub.push_facts(share.team, share.repository, new)
            except HubRefused as refused:
                if refused.kind != "forbidden":
                    raise
                self._may_write = False  # a reader takes in, and pushes nothing
            else:
                await store.run(outgoing_facts.note_pushed, there.changes, share)
        is_done = not there.twins and not (there.changes and self._may_write)
        self._mark = mark if is_done else ""

    async def _pull(self, share: Share) -> None:
        hub, store = self.sharing.hub, self.sharing.store
        names: dict[str, str] = {}
        after = (await store.read(shared_facts.share) or share).hub_seq
        while changes := await hub.facts(share.team, share.repository, after, _AT_ONCE):
            if not names:
                names = {each.id: author_name(each.name) for each in await hub.members(share.team)}
            arrivals = [_arrival(each, share.member, names) for each in changes]
            taken = await store.run(arriving_facts.take, arrivals, self.sharing.terms.cleaner, share, utc_now())
            after = changes[-1].seq
            if taken.paths:
                await self.here.look_at(set(taken.paths))
            if taken.is_changed:
                self.here.changed()
            if taken.has_forgotten:
                self.sharing.contexts.background.start(None, keep_at_pending_work(store))


def _arrival(change: FactChange, me: str, names: Mapping[str, str]) -> Arrival:
    name = None if change.author == me else names.get(change.author, author_name(""))
    return Arrival(change.seq, change.key, change.standing, change.author, name, change.body)
