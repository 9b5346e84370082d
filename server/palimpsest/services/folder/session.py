"""A workspace folder that is open: what lives as long as it is, and what follows from the settings of one moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.background import Background
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.conversation.documents import ChatDocuments
from palimpsest.services.conversation.purge import Purging
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.facts.accepted_edits import AcceptedEdits
from palimpsest.services.facts.folder_events import FolderEvents, Take, open_events
from palimpsest.services.facts.folder_facts import FolderFacts
from palimpsest.services.folder.other_servers import Following
from palimpsest.services.leases import Leases
from palimpsest.services.tools.editors import Editors
from palimpsest.services.turns.engine import TurnEngine
from palimpsest.services.turns.running import RunningTurn
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.store import Store


@dataclass(eq=False, slots=True)
class OpenFolder:
    """What lives as long as the folder is open, whatever its settings become."""

    root: Path
    """Resolved."""
    store: Store
    trust: FolderTrust = field(default_factory=FolderTrust)
    open_events: Callable[[Take], FolderEvents] = open_events
    """What tells that files have changed."""
    listeners: Listeners = field(default_factory=Listeners)
    editors: Editors = field(default_factory=Editors)
    """Those that have the folder open."""
    background: Background = field(default_factory=Background)
    """What is done while nobody waits."""
    running: dict[TurnId, RunningTurn] = field(default_factory=dict)
    """The turns that this server runs; each ends with the settings it began with."""
    edits: AcceptedEdits = field(default_factory=AcceptedEdits)
    learned_limits: dict[str, int] = field(default_factory=dict)
    """What models take at most, as their services have said; see `Models.learned`."""
    leases: Leases = field(init=False)
    following: Following = field(init=False)
    """What other servers do with the folder. Whoever opens the folder starts it."""
    facts: FolderFacts = field(init=False)
    """Whoever opens the folder gives it a librarian and starts it."""

    def __post_init__(self) -> None:
        self.leases = Leases(self.store, self.background)
        self.following = Following(self.store, self.running, self.changed, lambda: bool(self.editors.attached()))
        self.facts = FolderFacts(self.root, self.store, self.listeners, self.open_events)

    def changed(self, conversation_id: ConversationId) -> None:
        """Tells that something in the conversation has changed."""
        self.listeners.tell(ConversationChanged(conversation_id))

    @property
    def is_idle(self) -> bool:
        """Whether no turn runs, nothing is done in the background, and no fact is being learned or looked at."""
        return not self.running and self.background.is_idle and self.facts.is_idle

    async def interrupt_turns(self) -> None:
        """Stops every turn, and waits until what they said is committed."""
        running = list(self.running.values())
        for turn in running:
            turn.interrupt()
        await asyncio.gather(*(turn.task for turn in running if turn.task is not None), return_exceptions=True)

    async def close(self) -> None:
        """Stops what runs, keeping what it said, then closes the store."""
        await self.interrupt_turns()
        await self.facts.close()
        await self.following.close()
        await self.background.close()
        await self.store.close()


@dataclass(frozen=True, slots=True)
class FolderSession:
    """An open folder with the settings of one moment. When those change, another session takes its place, around the
    same folder. Whoever needs one asks for it and does not keep it."""

    folder: OpenFolder
    contexts: ContextEngine
    turns: TurnEngine
    conversations: Conversations
    settings: Settings = field(default_factory=Settings)
    editor_settings: Mapping[str, Any] = field(default_factory=dict)
    """What counts of what the editor said."""
    notes: tuple[str, ...] = ()
    """What the user should know about the folder's settings, in sentences."""

    @property
    def purging(self) -> Purging:
        """Purges of the folder's conversations."""
        return Purging(self.contexts, self.folder.listeners, ChatDocuments(self.folder.root, self.folder.store))
