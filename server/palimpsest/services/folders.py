"""The workspace folders that are open in this process, each with its store and everything that works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.domain.errors import NotFound
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.services.contexts import ContextEngine
from palimpsest.services.conversations import Conversations
from palimpsest.services.events import Listeners
from palimpsest.services.turns import TurnEngine
from palimpsest.storage.store import Store


@dataclass(frozen=True, slots=True)
class FolderSession:
    """One open workspace folder."""

    root: Path
    """Resolved."""
    store: Store
    contexts: ContextEngine
    turns: TurnEngine
    conversations: Conversations
    listeners: Listeners

    async def close(self) -> None:
        """Stops what runs, keeping what it said, then closes the store."""
        await self.turns.cancel_all()
        await self.store.close()


@dataclass(slots=True)
class Folders:
    """Opens each folder once, when it is first needed."""

    open_session: Callable[[Path], Awaitable[FolderSession]]
    shared: Sequence[Callable[[], Awaitable[None]]] = ()
    """Closes what the folders share, after the last of them."""
    _sessions: dict[Path, asyncio.Task[FolderSession]] = field(default_factory=dict)

    async def get(self, root: Path) -> FolderSession:
        """The session of a resolved folder. Raises NotFound or StoreError when it cannot be opened; the next call
        tries anew."""
        opening = self._sessions.get(root)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            opening = self._sessions[root] = asyncio.create_task(self._open(root))
        return await asyncio.shield(opening)

    async def _open(self, root: Path) -> FolderSession:
        if not await asyncio.to_thread(root.is_dir):
            raise NotFound(f"The folder {root} does not exist. Open one that does.")
        return await self.open_session(root)

    async def with_conversation(self, roots: Iterable[Path], conversation_id: ConversationId) -> FolderSession:
        """The session among `roots` that holds the conversation. Raises NotFound."""
        for root in roots:
            session = await self.get(root)
            if await session.conversations.holds(conversation_id):
                return session
        raise NotFound(f"There is no conversation {conversation_id!r} in the open folders. List them and choose one.")

    async def with_turn(self, roots: Iterable[Path], turn_id: TurnId) -> FolderSession:
        """The session among `roots` that holds the turn. Raises NotFound."""
        for root in roots:
            session = await self.get(root)
            if await session.conversations.holds_turn(turn_id):
                return session
        raise NotFound(f"There is no turn {turn_id!r} in the open folders. Read the conversation to see its messages.")

    async def close(self) -> None:
        """Closes every folder, at once."""
        opened = await asyncio.gather(*self._sessions.values(), return_exceptions=True)
        self._sessions.clear()
        sessions = [session for session in opened if isinstance(session, FolderSession)]
        await asyncio.gather(*(session.close() for session in sessions))
        await asyncio.gather(*(close() for close in self.shared))
