"""A shared conversation that is watched here while others write it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.services.sharing.sharing import Sharing
from palimpsest.storage.sharing import shared
from palimpsest.storage.sharing.shared import Standing
from palimpsest_hub.client import LOOK_EVERY_S, MOST_FRAMES
from palimpsest_hub.errors import HubRefused, HubUnreachable
from palimpsest_hub.records import LiveView


@dataclass(frozen=True, slots=True)
class Shown:
    """What a turn of another machine has shown: text, or the name of a tool."""

    turn_id: TurnId
    seq: int
    """Grows within the turn."""
    type: str
    """As `EventType`."""
    text: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at the conversation found."""

    view: LiveView
    shown: tuple[Shown, ...]
    """What is new of the running step."""
    has_news: bool
    """Whether the log has grown: what was shown before is stored there, and is taken in before the next look."""


@dataclass(slots=True)
class Following:
    """Follows one conversation for as long as somebody iterates."""

    sharing: Sharing
    conversation_id: ConversationId
    poll_s: float | None = None
    """For hubs that cannot notify."""

    async def shown(self) -> AsyncGenerator[Sequence[Shown], None]:
        """What a running turn of another machine shows, as it comes; ends as `looks` does."""
        async with contextlib.aclosing(self.looks()) as looks:
            async for look in looks:
                if look.shown:
                    yield look.shown

    async def looks(self) -> AsyncGenerator[Look, None]:
        """What each look finds. When the log has grown, a look says so first; then what is new of the log is taken in,
        and what is shown comes behind it, so no answer is seen before its question. Ends when the conversation is
        shared no longer."""
        standing = await self.sharing.store.read(shared.standing, self.conversation_id)
        if standing is None:
            return
        turn, last, seq, seen = "", 0, -1, -LOOK_EVERY_S
        async with contextlib.aclosing(self.sharing.hub.wakings(standing.channel, self.poll_s)) as wakings:
            async for _ in wakings:
                is_whole = False
                while not is_whole:
                    try:
                        view = await self.sharing.hub.live(standing.team, self.conversation_id, turn, last)
                    except HubUnreachable:
                        break
                    except HubRefused:
                        await self.sharing.pull(self.conversation_id)
                        return
                    found: list[Shown | None] = []
                    was = turn
                    if view.frames:
                        turn, last = view.frames[-1].turn, view.frames[-1].seq
                        found = [_shown(TurnId(turn), each.seq, each.body) for each in view.frames if each.turn == turn]
                    if view.head_seq != seq:
                        yield Look(view, (), has_news=True)
                        with contextlib.suppress(PalimpsestError):  # such as a turn that runs here; its end comes first
                            await self.sharing.pull(self.conversation_id)
                            seq = view.head_seq
                    yield Look(view, tuple(each for each in found if each is not None), has_news=False)
                    if (now := asyncio.get_running_loop().time()) - seen >= LOOK_EVERY_S:
                        await self._tell_presence(standing, seq)
                        seen = now
                    is_whole = len(view.frames) < MOST_FRAMES or was not in ("", turn)  # two turns would take turns

    async def _tell_presence(self, standing: Standing, seq: int) -> None:
        """Tells the team that this store follows."""
        with contextlib.suppress(HubUnreachable, HubRefused):
            await self.sharing.hub.seen(standing.team, self.conversation_id, await self.sharing.store_id(), max(0, seq))


_LONGEST_NAME: Final = 200


def _shown(turn_id: TurnId, seq: int, body: str) -> Shown | None:
    """None for a frame of another form: a member may push what he likes."""
    try:
        kind, text, name = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return None
    return Shown(turn_id, seq, str(kind), str(text), None if name is None else str(name)[:_LONGEST_NAME])
