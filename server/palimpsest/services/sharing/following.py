"""A shared conversation that is watched here while others write it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.storage.sharing import shared
from palimpsest_hub.errors import HubRefused, HubUnreachable


@dataclass(frozen=True, slots=True)
class Shown:
    """What a turn of another machine has shown: text, or the name of a tool."""

    turn_id: TurnId
    type: str
    """As `EventType`."""
    text: str
    name: str | None


@dataclass(slots=True)
class Following:
    """Follows one conversation for as long as somebody iterates."""

    sharing: Sharing
    conversation_id: ConversationId
    poll_s: float | None = None
    """For hubs that cannot notify."""

    async def shown(self) -> AsyncGenerator[Sequence[Shown], None]:
        """What a running turn of another machine shows, as it comes. What is committed is taken in beside it, and told
        as a change of the conversation. Ends when the conversation is shared no longer."""
        standing = await self.sharing.store.read(shared.standing, self.conversation_id)
        if standing is None:
            return
        turn, last, seq = "", 0, -1
        async with contextlib.aclosing(self.sharing.hub.wakings(standing.channel, self.poll_s)) as wakings:
            async for _ in wakings:
                try:
                    view = await self.sharing.hub.live(standing.team, self.conversation_id, turn, last)
                except HubUnreachable:
                    continue
                except HubRefused:
                    await self.sharing.pull(self.conversation_id)
                    return
                if view.frames:
                    turn, last = view.frames[-1].turn, view.frames[-1].seq
                    found = [_shown(TurnId(each.turn), each.body) for each in view.frames if each.turn == turn]
                    if shown := [each for each in found if each is not None]:
                        yield shown
                if view.head_seq != seq:
                    with contextlib.suppress(PalimpsestError):  # such as a turn that runs here; its end comes first
                        await self.sharing.pull(self.conversation_id)
                        seq = view.head_seq


def _shown(turn_id: TurnId, body: str) -> Shown | None:
    """None for a frame of another form: a member may push what he likes."""
    try:
        kind, text, name = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return None
    return Shown(turn_id, str(kind), str(text), None if name is None else str(name))
