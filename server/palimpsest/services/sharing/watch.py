"""Keeps the shared conversations and facts of a folder in step with the hub, while nobody writes them here."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.services.sharing.hub_errors import told
from palimpsest.services.sharing.repository_facts import RepositoryFacts
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.storage.sharing import shared
from palimpsest.storage.sharing.shared import Unsound
from palimpsest_hub.records import Identity

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S: Final = 60.0


@dataclass(slots=True)
class Watch:
    """Looks at all of them with one question for each team. Where the hub is away, the pauses grow."""

    sharing: Sharing
    poll_s: float
    facts: RepositoryFacts | None = None
    _failed_at: dict[ConversationId, int] = field(default_factory=dict)
    """The heads of conversations that could not be taken in: they are not tried again before there is more."""

    async def run(self) -> None:
        pause_s = self.poll_s
        while True:
            try:
                await self.look()
                pause_s = self.poll_s
            except PalimpsestError as error:
                log.info("the hub was not looked at: %s", error.kind)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def look(self) -> None:
        """Takes in what is new, and pushes what was said while the hub was away. What is shared through another hub
        waits for that."""
        await self._look_at_conversations()
        if self.facts is not None:
            await self.facts.look()

    async def _look_at_conversations(self) -> None:
        teams = await self.sharing.store.read(shared.shared_ids)
        if not teams:
            return
        with told():
            identity = await self.sharing.hub.identity()
        for team in sorted(set(teams.values())):
            with told():
                found = await self.sharing.hub.conversations(team)
            heads = {each.id: each.head_seq for each in found if not each.is_unshared}
            for conversation_id in [each for each, of_team in teams.items() if of_team == team]:
                await self._look_at(identity, conversation_id, heads.get(conversation_id, -1))

    async def _look_at(self, identity: Identity, conversation_id: ConversationId, head_seq: int) -> None:
        standing = await self.sharing.store.read(shared.standing, conversation_id)
        if standing is None or standing.has_open_turn or (standing.hub, standing.member) != (identity.hub, identity.me):
            return
        if self._failed_at.get(conversation_id) == head_seq:
            return
        try:
            if head_seq != standing.hub_seq:
                await self.sharing.pull(conversation_id)
            if await self.sharing.has_unpushed(conversation_id):
                await self.sharing.reconcile(conversation_id)
        except Unsound as error:
            log.warning("a shared conversation does not follow from what is here: %s", error)
            self._failed_at[conversation_id] = head_seq
        except PalimpsestError as error:
            log.info("a shared conversation was not brought into step: %s", error.kind)
