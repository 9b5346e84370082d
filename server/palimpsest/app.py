"""The composition root: the one place that knows every package. It, and `cli`, alone read the environment."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

import platformdirs

from palimpsest.configuration import USER_FILE, load_settings, unknown_variables
from palimpsest.data import load_frame, load_model_table
from palimpsest.data.prompts import load_prompts
from palimpsest.domain.layout import Frame
from palimpsest.domain.limits import ModelTable
from palimpsest.domain.messages import ConversationId, Role
from palimpsest.domain.provider import Provider
from palimpsest.domain.quoting.passages import HistoryLine, Passage
from palimpsest.domain.settings import Settings, to_entries
from palimpsest.folder_settings import FolderSettings, FolderSettingsReader
from palimpsest.services.approvals import Approvals
from palimpsest.services.background import Background
from palimpsest.services.clock import utc_now
from palimpsest.services.command_tool import CommandTool
from palimpsest.services.context_debug import LOGGER_NAME
from palimpsest.services.contexts import ContextEngine
from palimpsest.services.conversation_tools import conversation_tools
from palimpsest.services.conversations import Conversations
from palimpsest.services.edit_tool import EditTool
from palimpsest.services.editor_tools import EditorTools
from palimpsest.services.editors import Editors
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.finding import find_passages
from palimpsest.services.folder_text import FolderText
from palimpsest.services.folders import EditorsWord, Folders, FolderSession
from palimpsest.services.instructions import Instructions, read_instructions
from palimpsest.services.live_limits import FILE_NAME as LIVE_LIMITS_FILE
from palimpsest.services.live_limits import LiveLimits
from palimpsest.services.models import Models
from palimpsest.services.reading_tools import ReadingTools
from palimpsest.services.summarizer_choice import SummarizerChoice
from palimpsest.services.tokenizers import Tokenizers
from palimpsest.services.tools import Toolbox, ToolMaker
from palimpsest.services.trust import FolderTrust
from palimpsest.services.turns import TurnEngine
from palimpsest.services.workspace_files import WorkspaceFiles
from palimpsest.storage import conversations, turns
from palimpsest.storage.models import learned_limits
from palimpsest.storage.store import Store, open_store
from palimpsest.trust import trusted_folders
from palimpsest_clients.offline import Find, OfflineProvider

log = logging.getLogger(__name__)

APP: Final = "palimpsest"
CONFIGURE_HINT: Final = "No model is configured: set ANTHROPIC_API_KEY or OPENAI_API_KEY and start again."
_SEARCHED_MESSAGES: Final = 5_000
"""The newest messages of a conversation that the offline provider looks through."""
_HINTS: Final = {
    "anthropic": "set ANTHROPIC_API_KEY in the environment and start the server again",
    "openai": "set OPENAI_API_KEY (and OPENAI_BASE_URL for another service) in the environment and start again",
    "gemini": "set GEMINI_API_KEY in the environment and start the server again",
    "ollama": "set OLLAMA_HOST (such as localhost:11434) in the environment and start again",
}


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are kept on this machine."""

    stores: Path
    cache: Path


def user_file() -> Path:
    """Where the user's own settings stand; it may be missing."""
    return Path(platformdirs.user_config_dir(APP, appauthor=False)) / USER_FILE


def read_places(settings: Settings) -> Places:
    data = settings.storage_path or platformdirs.user_data_dir(APP, appauthor=False)
    cache = Path(platformdirs.user_cache_dir(APP, appauthor=False))
    return Places(Path(os.path.expanduser(data)) / "folders", cache)


def _address(environ: Mapping[str, str], settings: Settings, provider: str) -> str | None:
    """Where the user says a provider is; None for where it always is."""
    entry = settings.providers.get(provider)
    return environ.get(f"{provider.upper()}_BASE_URL") or (None if entry is None else entry.base_url)


class ModelClient(Provider, Protocol):
    """A model client of `palimpsest_clients`."""

    async def aclose(self) -> None:
        """Closes its connections."""
        ...


def build_clients(environ: Mapping[str, str], settings: Settings) -> dict[str, ModelClient]:
    """The model clients that the environment names, by provider. Keys go nowhere else."""
    clients: dict[str, ModelClient] = {}
    if key := environ.get("ANTHROPIC_API_KEY"):
        from palimpsest_clients.anthropic import AnthropicClient

        base_url = _address(environ, settings, "anthropic")
        clients["anthropic"] = AnthropicClient(key, base_url) if base_url else AnthropicClient(key)
    if key := environ.get("OPENAI_API_KEY"):
        if base_url := _address(environ, settings, "openai"):
            from palimpsest_clients.openai_compatible import OpenAICompatibleClient

            clients["openai"] = OpenAICompatibleClient(key, base_url)
        else:
            from palimpsest_clients.openai import OpenAIClient

            clients["openai"] = OpenAIClient(key)
    if key := environ.get("GEMINI_API_KEY") or environ.get("GOOGLE_API_KEY"):
        from palimpsest_clients.gemini import GeminiClient

        base_url = _address(environ, settings, "gemini")
        clients["gemini"] = GeminiClient(key, base_url) if base_url else GeminiClient(key)
    if host := environ.get("OLLAMA_HOST") or _address(environ, settings, "ollama"):
        from palimpsest_clients.ollama import OllamaClient, address_of

        clients["ollama"] = OllamaClient(address_of(host))
    return clients


def store_directory(stores: Path, root: Path) -> Path:
    """The store of a resolved folder: a readable name, and a hash of the folder's URI that makes it unique."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:40] or "folder"
    return stores / f"{slug}-{hashlib.sha256(root.as_uri().encode()).hexdigest()[:16]}"


@dataclass(slots=True)
class ClientPool:
    """The model clients of a process. Folders whose settings name the same addresses share theirs."""

    environ: Mapping[str, str]
    _built: dict[frozenset[tuple[str, str | None]], Mapping[str, Provider]] = field(default_factory=dict)
    _closers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, settings: Settings) -> Mapping[str, Provider]:
        """By provider. Slow where an address is new; may be called in any thread."""
        addresses = frozenset((name, entry.base_url) for name, entry in settings.providers.items())
        with self._lock:
            if addresses not in self._built:
                clients = build_clients(self.environ, settings)
                self._built[addresses] = clients
                self._closers += [client.aclose for client in clients.values()]
            return self._built[addresses]

    async def aclose(self) -> None:
        await asyncio.gather(*(close() for close in self._closers))


@dataclass(frozen=True, slots=True)
class Composer:
    """Puts the parts of a folder's session together."""

    environ: Mapping[str, str]
    reader: FolderSettingsReader
    clients: ClientPool
    table: ModelTable
    tokenizers: Tokenizers
    live: LiveLimits
    frame: Frame

    async def open_session(self, root: Path, word: EditorsWord) -> FolderSession:
        """Opens the store, closes what dead servers left open, and wires what works on it. Raises InvalidRequest when
        the user's own file or environment cannot be meant."""
        found = await asyncio.to_thread(self.reader.read, root, word)
        for note in found.notes:
            log.warning(note)
        store = await open_store(store_directory(read_places(found.settings).stores, root), found.settings.synchronous)
        await store.run(turns.recover, store.is_alive, utc_now())
        trust = FolderTrust(found.is_trusted)
        return await self._compose(found, root, store, Listeners(), trust, Editors(), None)

    async def renew(self, session: FolderSession, word: EditorsWord) -> FolderSession:
        """The session by what is said and written now; `session` itself when that is what it was. Its store stays,
        with the place and the mode it was opened with."""
        before = FolderSettings(session.settings, session.is_trusted, session.editor_settings, session.notes)
        found = await asyncio.to_thread(self.reader.read_again, session.root, word, before)
        if found == before:
            return session
        session.trust.is_trusted = found.is_trusted
        return await self._compose(
            found, session.root, session.store, session.listeners, session.trust, session.editors, session.turns
        )

    async def _compose(
        self,
        found: FolderSettings,
        root: Path,
        store: Store,
        listeners: Listeners,
        trust: FolderTrust,
        editors: Editors,
        before: TurnEngine | None,
    ) -> FolderSession:
        """`before`: whose running turns go on."""

        def changed(conversation_id: ConversationId) -> None:
            listeners.tell(ConversationChanged(conversation_id))

        settings = found.settings
        clients = await asyncio.to_thread(self.clients.get, settings)
        addresses = {name: at for name in clients if (at := _address(self.environ, settings, name)) is not None}
        providers = {**clients, "offline": OfflineProvider(_finder(store, FolderText(root)), CONFIGURE_HINT)}
        models = Models(
            self.table,
            providers,
            _HINTS,
            settings,
            model_entries=to_entries(settings.models),
            provider_entries=to_entries(settings.providers),
            live=await self.live.of(clients, addresses),
            learned=await store.read(learned_limits, utc_now()),
        )
        contexts = ContextEngine(
            store,
            models,
            self.tokenizers,
            settings.context,
            self.frame,
            listeners.tell,
            SummarizerChoice(models, self.tokenizers, settings.context, load_prompts(), frozenset(addresses)).choose,
            Background() if before is None else before.contexts.background,
        )
        files = WorkspaceFiles(root)
        approvals = Approvals(store, editors, trust)
        makers: list[ToolMaker] = [
            lambda _: ReadingTools(files, editors.texts).tools(),
            conversation_tools(store),
            EditTool(files, editors, approvals),
            EditorTools(editors, approvals),
        ]
        if settings.run_command:
            makers.append(CommandTool(root, files, approvals, self.environ))
        toolbox = Toolbox(makers, lambda: trust.is_trusted)

        async def frame_now() -> Frame:
            found = await read_instructions(files) if trust.is_trusted else Instructions()
            system = f"{self.frame.system}\n\n{found.text}" if found.text else self.frame.system
            return Frame(system, toolbox.schemas())

        contexts.frame = await frame_now()
        if before is None:
            engine = TurnEngine(store, contexts, toolbox, changed, frame_now)
        else:
            engine = replace(before, contexts=contexts, toolbox=toolbox, frame_now=frame_now)
        return FolderSession(
            root,
            store,
            contexts,
            engine,
            Conversations(store, contexts, changed),
            listeners,
            settings,
            trust,
            found.editor,
            found.notes,
            editors,
        )


def load_folders(environ: Mapping[str, str] = os.environ) -> Folders:
    """The services of a server process. Raises InvalidRequest when a setting of the user's own cannot be meant."""
    settings = load_settings(user_file(), None, environ, None)
    for sentence in unknown_variables(environ):
        log.warning(sentence)
    if environ.get("CONTEXT_DEBUG", "").lower() in ("1", "true", "yes"):
        logging.getLogger(LOGGER_NAME).setLevel(logging.DEBUG)
    places = read_places(settings)
    live = LiveLimits(places.cache / LIVE_LIMITS_FILE)
    clients = ClientPool(environ)
    clients.get(settings)  # here, on a thread and while nobody waits
    composer = Composer(
        environ,
        FolderSettingsReader(user_file(), environ, trusted_folders()),
        clients,
        load_model_table(),
        Tokenizers(places.cache / "vocabularies"),
        live,
        load_frame(),
    )
    return Folders(composer.open_session, composer.renew, [live.close, clients.aclose])


def _finder(store: Store, files: FolderText) -> Find:
    """Finds passages for the offline provider: in the folder's files, and in what was said before the question."""

    async def find(conversation_id: ConversationId, question: str) -> Sequence[Passage]:
        def read() -> list[HistoryLine]:
            n_messages = conversations.get(conversation_id).n_messages
            said = conversations.read_messages(conversation_id, max(0, n_messages - _SEARCHED_MESSAGES), n_messages - 1)
            models = turns.models_of(conversation_id)
            hidden = conversations.hidden_ranges(conversation_id)
            return [
                HistoryLine(
                    message.id,
                    message.content.role,
                    message.content.text,
                    models.get(message.turn_id) if message.turn_id and message.content.role is Role.ASSISTANT else None,
                )
                for message in said
                if message.content.role is not Role.TOOL
                and not any(each.start <= message.id < each.end for each in hidden)
            ]

        history = await store.read(read)
        return await asyncio.to_thread(find_passages, question, files, history)

    return find
