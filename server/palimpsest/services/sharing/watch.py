"""Keeps the shared conversations and facts of a folder in step with the hub, while nobody writes them here."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.errors import HubFailed, HubIsAway, PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.sharing.log import FORMAT
from palimpsest.domain.sharing.status import HubState, HubStatus
from palimpsest.machine import utc_now
from palimpsest.services.events import ConversationChanged, HubChanged
from palimpsest.services.sharing.hub_errors import told
from palimpsest.services.sharing.presence import Presence
from palimpsest.services.sharing.purges import purge_forks
from palimpsest.services.sharing.repository_facts import RepositoryFacts
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.storage.sharing import shared, unsent
from palimpsest.storage.sharing.shared import Unsound
from palimpsest_hub.records import Identity, Team

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S: Final = 60.0
_LOOKS_PER_QUESTION: Final = 20
"""How often the teams and their members are asked for: at each of so many looks, and after each that failed."""
_NEWER: Final = "A shared conversation was continued by a newer version of Palimpsest. Install it to go on there."


@dataclass(slots=True)
class Watch:
    """Looks at all of them with one question for each team. Where the hub is away, the pauses grow."""

    sharing: Sharing
    poll_s: float
    facts: RepositoryFacts | None = None
    team_name: str | None = None
    """The team of the settings; None for the only one."""
    status: HubStatus = field(default_factory=lambda: HubStatus(HubState.CONNECTING))
    teams: dict[str, Team] = field(default_factory=dict)
    """The user's teams by id, as they were heard last."""
    behind: frozenset[ConversationId] = frozenset()
    """The conversations of which the hub has more than this store."""
    presence: Presence = field(init=False)
    _failed_at: dict[ConversationId, int] = field(default_factory=dict)
    """The heads of conversations that could not be taken in: they are not tried again before there is more."""
    _n_looks: int = 0

    def __post_init__(self) -> None:
        self.presence = Presence(self.sharing)

    async def run(self) -> None:
        pause_s = self.poll_s
        while True:
            try:
                await self.look()
                pause_s = self.poll_s
            except PalimpsestError as error:
                log.info("the hub was not looked at: %s", error.kind)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                await self._note_failure(error)
            await asyncio.sleep(pause_s)

    async def look(self) -> None:
        """Takes in what is new, and pushes what was said while the hub was away. What is shared through another hub
        waits for that."""
        await self._look_at_conversations()
        if self.facts is not None:
            await self.facts.look()

    async def _look_at_conversations(self) -> None:
        teams = await self.sharing.store.read(shared.shared_ids)
        if self._n_looks % _LOOKS_PER_QUESTION == 0:
            await self._ask_for_teams()
        identity = Identity("", "", "")
        if teams:
            with told():
                identity = await self.sharing.hub.identity()
        behind: set[ConversationId] = set()
        needs_newer = False
        for team in sorted(set(teams.values())):
            with told():
                found = await self.sharing.hub.conversations(team)
            heads = {each.id: each.head_seq for each in found if not each.is_unshared}
            ours = [each for each, of_team in teams.items() if of_team == team]
            await self.presence.note_all(each for each in found if teams.get(ConversationId(each.id)) == team)
            needs_newer = needs_newer or any(each.format > FORMAT for each in found if each.id in ours)
            for conversation_id in ours:
                if not await self._look_at(identity, conversation_id, heads.get(conversation_id, -1)):
                    behind.add(conversation_id)
        for each in await self.sharing.store.read(shared.conversations_to_purge):
            try:
                await purge_forks(self.sharing, each)
            except HubFailed as error:  # no member of its team now
                log.info("a purge waits: %s", error.kind)
        self._n_looks += 1
        for each in behind ^ self.behind:
            self.sharing.listeners.tell(ConversationChanged(each))
        self.behind = frozenset(behind)
        n_unsent = await self._count_unsent()
        state = HubState.NEWER_NEEDED if needs_newer else HubState.CONNECTED
        self._set(self._status(state, n_unsent, problem=_NEWER if needs_newer else None))

    async def _look_at(self, identity: Identity, conversation_id: ConversationId, head_seq: int) -> bool:
        """Whether the store has all that the hub had at this look, or writes itself."""
        standing = await self.sharing.store.read(shared.standing, conversation_id)
        if standing is None or standing.has_open_turn or (standing.hub, standing.member) != (identity.hub, identity.me):
            return True
        if self._failed_at.get(conversation_id) == head_seq:
            return False
        try:
            if head_seq != standing.hub_seq:
                await self.sharing.pull(conversation_id)
            if self._may_write(standing.team) and await self.sharing.has_unpushed(conversation_id):
                await self.sharing.reconcile(conversation_id)
        except Unsound as error:
            log.warning("a shared conversation does not follow from what is here: %s", error)
            self._failed_at[conversation_id] = head_seq
        except PalimpsestError as error:
            log.info("a shared conversation was not brought into step: %s", error.kind)
        now = await self.sharing.store.read(shared.standing, conversation_id)
        return now is None or now.hub_seq >= head_seq

    def _may_write(self, team: str) -> bool:
        """Whether what the hub lacks can be pushed: what a reader hides stays his own."""
        return team not in self.teams or self.teams[team].role != "reader"

    async def _ask_for_teams(self) -> None:
        await self.sharing.me()  # an unknown login is in no team either
        with told():
            self.teams = {each.id: each for each in await self.sharing.hub.teams()}
        for team in self.teams:
            await self.presence.learn(team)

    # The state of the way to the hub

    async def _note_failure(self, error: PalimpsestError) -> None:
        self._n_looks = 0
        if not isinstance(error, HubIsAway | HubFailed):
            return
        n_unsent = await self._count_unsent()
        if isinstance(error, HubIsAway):
            was_away = self.status.state is HubState.AWAY
            self._set(self._status(HubState.AWAY, n_unsent, since=self.status.since if was_away else utc_now()))
            return
        state = HubState.NEWER_NEEDED if error.needs_newer else HubState.REFUSED
        self._set(self._status(state, n_unsent, problem=str(error)))

    async def _count_unsent(self) -> int:
        n_unsent = 0
        for each, team in (await self.sharing.store.read(shared.shared_ids)).items():
            if self._may_write(team) and await self.sharing.has_unpushed(each):
                n_unsent += await self.sharing.store.read(unsent.count, each)
        return n_unsent

    def _status(
        self, state: HubState, n_unsent: int, *, since: str | None = None, problem: str | None = None
    ) -> HubStatus:
        named = [each for each in self.teams.values() if self.team_name in (None, each.name)]
        status = HubStatus(state, since, problem, n_unsent=n_unsent)
        return replace(status, team=named[0].name, role=named[0].role) if len(named) == 1 else status

    def _set(self, status: HubStatus) -> None:
        if status != self.status:
            self.status = status
            self.sharing.listeners.tell(HubChanged())
