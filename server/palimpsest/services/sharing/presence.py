"""Who writes the shared conversations of a folder on other machines, and what they show."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.sharing.log import SharedConversation
from palimpsest.domain.sharing.status import Writing, doing
from palimpsest.domain.turns.states import TURN
from palimpsest.services.events import ConversationChanged, PresenceChanged
from palimpsest.services.sharing.following import Following, Look
from palimpsest.services.sharing.hub_errors import told
from palimpsest.services.sharing.remote_turn import RemoteTurn
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.storage.sharing import members, shared
from palimpsest.storage.sharing.members import SOMEBODY, KnownMembers
from palimpsest.storage.turns import turn_records
from palimpsest_hub.errors import HubRefused

log = logging.getLogger(__name__)

_MOST_FOLLOWED: Final = 2
"""Each takes a connection to the hub, of which a login has twelve. Of the others it is known at the next look of the
watch who writes."""


@dataclass(slots=True)
class Presence:
    """Follows the conversations that were looked at last."""

    sharing: Sharing
    writing: dict[ConversationId, Writing] = field(default_factory=dict)
    """By others, now."""
    turns: dict[ConversationId, RemoteTurn] = field(default_factory=dict)
    """The turns of others that run now and have shown something."""
    _following: dict[ConversationId, asyncio.Task[None]] = field(default_factory=dict)
    """The one that was looked at last comes last."""
    _known: KnownMembers | None = None

    # Names

    async def learn(self, team: str) -> None:
        """Takes up the names of the team's members now. Raises HubIsAway, HubFailed."""
        me = await self.sharing.me()
        with told():
            names = {each.id: each.name for each in await self.sharing.hub.members(team)}
        known = await self._members()
        if known.me != me or not names.items() <= known.names.items():
            await self.sharing.store.run(members.note, me, names)
            self._known = None

    async def _members(self) -> KnownMembers:
        if self._known is None:
            self._known = await self.sharing.store.read(members.read)
        return self._known

    async def named(self, team: str, member: str) -> str:
        """The name of a member of the team."""
        if member not in (await self._members()).names:
            with contextlib.suppress(PalimpsestError):
                await self.learn(team)
        return (await self._members()).names.get(member, SOMEBODY)

    async def is_me(self, member: str) -> bool:
        return (await self._members()).me == member

    # Following

    def look_at(self, conversation_id: ConversationId) -> None:
        """Somebody looks at the conversation, which is shared."""
        task = self._following.pop(conversation_id, None)
        if task is None or task.done():
            task = asyncio.create_task(self._follow(conversation_id), name=f"follow {conversation_id}")
        self._following[conversation_id] = task
        idle = [each for each in self._following if not self._is_followed(each)]
        for each in idle[: max(0, len(self._following) - _MOST_FOLLOWED)]:
            if each != conversation_id:
                self._following.pop(each).cancel()

    def followed(self) -> list[ConversationId]:
        return list(self._following)

    def turn(self, turn_id: TurnId) -> RemoteTurn | None:
        return next((each for each in self.turns.values() if each.id == turn_id), None)

    def _is_followed(self, conversation_id: ConversationId) -> bool:
        turn = self.turns.get(conversation_id)
        return turn is not None and turn.is_followed

    def stop(self) -> list[asyncio.Task[None]]:
        """Ends all following, and returns what is still ending."""
        tasks = list(self._following.values())
        self._following.clear()
        for each in tasks:
            each.cancel()
        return tasks

    async def _follow(self, conversation_id: ConversationId) -> None:
        try:
            async with contextlib.aclosing(Following(self.sharing, conversation_id).looks()) as looks:
                async for look in looks:
                    await self._take(conversation_id, look)
        except (PalimpsestError, HubRefused) as error:
            log.info("a shared conversation is followed no longer: %s", getattr(error, "kind", ""))
        finally:
            self._end(conversation_id)

    async def _take(self, conversation_id: ConversationId, look: Look) -> None:
        view = look.view
        standing = await self.sharing.store.read(shared.standing, conversation_id)
        if standing is None:
            return
        running = self.turns.get(conversation_id)
        if running is not None and look.has_news:
            running.store_shown()
        if look.shown and view.writer_store != await self.sharing.store_id():
            if running is None or running.id != look.shown[-1].turn_id:
                self._end(conversation_id)
                name = SOMEBODY if view.writer is None else await self.named(standing.team, view.writer)
                running = self.turns[conversation_id] = RemoteTurn(look.shown[-1].turn_id, conversation_id, name)
            running.show(look.shown)
        if running is not None and not look.has_news:
            is_stored = await self.sharing.store.read(turn_records.has_turn, running.id)
            if is_stored or view.writer is None:
                self._end(conversation_id)
        await self._note(conversation_id, standing.team, view.writer, view.writer_store, view.writes)

    def _end(self, conversation_id: ConversationId) -> None:
        """The turn of another machine has ended, or is followed no longer."""
        if (turn := self.turns.pop(conversation_id, None)) is not None:
            turn.over.set()
            if (writing := self.writing.get(conversation_id)) is not None:
                self._set(conversation_id, replace(writing, turn_id=None))
            self.sharing.listeners.tell(ConversationChanged(conversation_id))

    # Who writes

    async def note_all(self, found: Iterable[SharedConversation]) -> None:
        """Takes up who writes the conversations that are not followed."""
        for each in found:
            conversation_id = ConversationId(each.id)
            following = self._following.get(conversation_id)
            if following is None or following.done():
                await self._note(conversation_id, each.team, each.writer, each.writer_store, each.writes)

    async def _note(
        self, conversation_id: ConversationId, team: str, writer: str | None, store: str | None, work: str | None
    ) -> None:
        new: Writing | None = None
        if writer is not None and store != await self.sharing.store_id():
            turn = self.turns.get(conversation_id)
            name, is_self = await self.named(team, writer), await self.is_me(writer)
            new = Writing(name, doing(work or TURN), is_self, None if turn is None else turn.id)
        self._set(conversation_id, new)

    def _set(self, conversation_id: ConversationId, new: Writing | None) -> None:
        if self.writing.get(conversation_id) == new:
            return
        if new is None:
            del self.writing[conversation_id]
        else:
            self.writing[conversation_id] = new
        self.sharing.listeners.tell(PresenceChanged(conversation_id))
