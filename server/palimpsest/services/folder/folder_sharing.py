"""The sharing of one open folder, by the settings of now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.sharing.status import HubState, HubStatus, Writing

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.remote_turn import RemoteTurn
    from palimpsest.services.sharing.repository_facts import RepositoryFacts
    from palimpsest.services.sharing.sharing import Sharing
    from palimpsest.services.sharing.watch import Watch

_LAST_WAIT_S: Final = 5.0


@dataclass(slots=True)
class FolderSharing:
    """One watch at a time."""

    current: Sharing | None = None
    """None: no hub is set up."""
    watch: Watch | None = None
    _watching: asyncio.Task[None] | None = None

    def take(self, sharing: Sharing | None, watch: Watch | None) -> None:
        """Replaces what was, when the settings change. What ended turns still push is pushed the old way."""
        followed: list[ConversationId] = []
        if sharing is not None and self.current is not None:
            sharing.closing = self.current.closing
        if self.watch is not None:
            followed = self.watch.presence.followed()
            self.watch.presence.stop()
        if watch is not None and self.watch is not None and watch.sharing.hub is self.watch.sharing.hub:
            watch.status, watch.teams = self.watch.status, self.watch.teams
            for each in followed:
                watch.presence.look_at(each)
        self.current, self.watch = sharing, watch
        if self._watching is not None:
            self._watching.cancel()
        self._watching = None if watch is None else asyncio.create_task(watch.run(), name="watch the hub")

    def require(self) -> Sharing:
        """Raises InvalidRequest when no hub is set up."""
        if self.current is None:
            raise InvalidRequest(
                "No hub is set up, so nothing can be shared. Set `hub.url`; `palimpsest hub local start` makes a hub "
                "of your own. docs/hub.md says how."
            )
        return self.current

    def require_facts(self) -> RepositoryFacts:
        """The sharing of the folder's facts. Raises InvalidRequest when no hub is set up."""
        self.require()
        assert self.watch is not None
        assert self.watch.facts is not None
        return self.watch.facts

    @property
    def status(self) -> HubStatus:
        return HubStatus(HubState.OFF) if self.watch is None else self.watch.status

    @property
    def is_connected(self) -> bool:
        """Whether the hub answered last: then what another server of this store has not pushed yet is on its way."""
        return self.status.state is HubState.CONNECTED

    def look_at(self, conversation_id: ConversationId) -> None:
        """Somebody looks at the conversation, which is shared: what others say in it is shown as it comes."""
        if self.watch is not None:
            self.watch.presence.look_at(conversation_id)

    def writing(self, conversation_id: ConversationId) -> Writing | None:
        """Who writes the conversation on another machine; None when nobody does."""
        return None if self.watch is None else self.watch.presence.writing.get(conversation_id)

    def is_pushing(self, conversation_id: ConversationId) -> bool:
        """Whether a turn of this server tells the hub of the conversation now."""
        return self.current is not None and conversation_id in self.current.closing

    def turn_in(self, conversation_id: ConversationId) -> RemoteTurn | None:
        """The turn of another machine that shows something in the conversation now."""
        return None if self.watch is None else self.watch.presence.turns.get(conversation_id)

    def turn(self, turn_id: TurnId) -> RemoteTurn | None:
        """A turn of another machine that shows something now."""
        return None if self.watch is None else self.watch.presence.turn(turn_id)

    async def close(self) -> None:
        """Until what ended turns still push is pushed, or the hub is away, or slow: then the next opening pushes it."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self.watch is not None:
            await asyncio.gather(*self.watch.presence.stop(), return_exceptions=True)
        if self.current is not None:
            left = list(self.current.closing.values())
            if left:
                _, late = await asyncio.wait(left, timeout=_LAST_WAIT_S)
                for each in late:
                    each.cancel()
                await asyncio.gather(*left, return_exceptions=True)
