"""An open workspace folder (`OpenFolder`), and its services by the settings of one moment (`FolderSession`)."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.settings.settings import Settings
from palimpsest.domain.web import Fetch, fetch_nothing
from palimpsest.services.background import Background
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.conversation.documents import ChatDocuments
from palimpsest.services.conversation.purge import Purging
from palimpsest.services.costs import Remembered, Spending
from palimpsest.services.events import ConversationChanged, Listeners, McpChanged
from palimpsest.services.facts.accepted_edits import AcceptedEdits
from palimpsest.services.facts.folder_events import FolderEvents, Take, open_events
from palimpsest.services.facts.folder_facts import FolderFacts
from palimpsest.services.folder.folder_sharing import FolderSharing
from palimpsest.services.folder.other_servers import Following
from palimpsest.services.leases import Leases
from palimpsest.services.mcp.servers import McpServers
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.tools.current_files import CurrentFiles
from palimpsest.services.tools.editors import Editors
from palimpsest.services.tools.taking_back import FileChanges
from palimpsest.services.turns.engine import TurnEngine
from palimpsest.services.turns.running import RunningTurn
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.store import Store

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing


@dataclass(eq=False, slots=True)
class OpenFolder:
    """Everything that lives as long as the folder is open, also when its settings change."""

    root: Path
    """Resolved."""
    store: Store
    trust: FolderTrust = field(default_factory=FolderTrust)
    open_events: Callable[[Take], FolderEvents] = open_events
    """The source of events about changed files."""
    user_commands: Path | None = None
    """The folder of the user's own commands, which need not exist; None: there are none."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The environment of the server, for programs that are started here."""
    fetch_page: Fetch = fetch_nothing
    """Fetches a page of the web that a message mentions."""
    agreed_hosts: set[tuple[ConversationId, str]] = field(default_factory=set)
    """The hosts whose pages the user agreed to fetch, each for the messages of one conversation."""
    listeners: Listeners = field(default_factory=Listeners)
    editors: Editors = field(default_factory=Editors)
    """The editors that have the folder open."""
    background: Background = field(default_factory=Background)
    """Background work."""
    running: dict[TurnId, RunningTurn] = field(default_factory=dict)
    """The running turns of this server. Each keeps the settings of its beginning."""
    asked_by: dict[ConversationId, EditorId | None] = field(default_factory=dict)
    """The editor that asked for the newest turn of each conversation here; work on its facts is for that editor."""
    sharing: FolderSharing = field(default_factory=FolderSharing)
    edits: AcceptedEdits = field(default_factory=AcceptedEdits)
    spent: Remembered = field(default_factory=Remembered)
    learned_limits: dict[str, int] = field(default_factory=dict)
    """Limits of models that errors of services named; see `Models.learned`."""
    mcp: McpServers = field(init=False)
    """The servers of the Model Context Protocol. The code that opens the folder says which there are."""
    leases: Leases = field(init=False)
    following: Following = field(init=False)
    """The watch on other servers. The code that opens the folder starts it."""
    facts: FolderFacts = field(init=False)
    """The facts. The code that opens the folder sets the librarian and starts them."""

    changes: FileChanges = field(init=False)
    """The edits of files that the user accepted."""

    def __post_init__(self) -> None:
        current = CurrentFiles(WorkspaceFiles(self.root), self.editors)
        self.changes = FileChanges(self.store, current, self.edits, self.listeners)
        self.mcp = McpServers(self.root, self.store, self.trust, lambda: self.listeners.tell(McpChanged()))
        self.leases = Leases(self.store, self.background)
        self.following = Following(self.store, self.running, self.changed, lambda: bool(self.editors.attached()))
        self.facts = FolderFacts(self.root, self.store, self.listeners, self.open_events)

    def changed(self, conversation_id: ConversationId) -> None:
        """Publish that the conversation has changed."""
        self.listeners.tell(ConversationChanged(conversation_id))

    @property
    def documents(self) -> ChatDocuments:
        return ChatDocuments(self.root, self.store)

    @property
    def is_idle(self) -> bool:
        """Whether no turn, no background work and no work on facts is running."""
        return not self.running and self.background.is_idle and self.facts.is_idle

    async def interrupt_turns(self) -> None:
        """Stop every turn, and wait until its partial answer is committed."""
        running = list(self.running.values())
        for turn in running:
            turn.interrupt()
        await asyncio.gather(*(turn.task for turn in running if turn.task is not None), return_exceptions=True)

    async def close(self) -> None:
        """Stop everything that runs, keep partial answers, then close the store."""
        await self.interrupt_turns()
        await self.mcp.close()
        await self.sharing.close()
        await self.facts.close()
        await self.following.close()
        await self.background.close()
        await self.store.close()


@dataclass(frozen=True, slots=True)
class FolderSession:
    """An open folder with the settings of one moment. When they change, another session replaces it for the same
    folder. Get a session for each request, and do not keep it."""

    folder: OpenFolder
    contexts: ContextEngine
    turns: TurnEngine
    conversations: Conversations
    settings: Settings = field(default_factory=Settings)
    editor_settings: Mapping[str, Any] = field(default_factory=dict)
    """The part of the editor's settings that counts."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about the folder's settings."""

    @property
    def spending(self) -> Spending:
        """The account of what models cost."""
        return Spending(self.folder.store, self.contexts.models, self.settings.monthly_budget, self.folder.spent)

    @property
    def purging(self) -> Purging:
        """The purges of the folder's conversations."""
        everywhere = None
        if (sharing := self.folder.sharing.current) is not None:
            from palimpsest.services.sharing.purges import purge  # which imports the hub's package, an extra

            everywhere = functools.partial(purge, sharing)
        return Purging(self.contexts, self.folder.listeners, self.folder.documents, everywhere)

    @property
    def sharing(self) -> Sharing | None:
        """The sharing of the folder's conversations; None when no hub is set up."""
        return self.folder.sharing.current
