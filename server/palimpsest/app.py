"""The composition root: the one place that knows every package. It, and `cli`, alone read the environment."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
from palimpsest.services.clock import utc_now
from palimpsest.services.context_debug import LOGGER_NAME
from palimpsest.services.contexts import ContextEngine
from palimpsest.services.conversations import Conversations
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.finding import find_passages
from palimpsest.services.folder_text import FolderText
from palimpsest.services.folders import Folders, FolderSession
from palimpsest.services.models import Models
from palimpsest.services.summarizer_choice import SummarizerChoice
from palimpsest.services.tokenizers import Tokenizers
from palimpsest.services.tools import by_name
from palimpsest.services.turns import TurnEngine
from palimpsest.storage import conversations, turns
from palimpsest.storage.models import learned_limits
from palimpsest.storage.store import Store, open_store
from palimpsest_clients.offline import Find, OfflineProvider

if TYPE_CHECKING:
    from palimpsest_clients.anthropic import AnthropicClient
    from palimpsest_clients.openai_compatible import OpenAICompatibleClient

log = logging.getLogger(__name__)

APP: Final = "palimpsest"
CONFIGURE_HINT: Final = "No model is configured: set ANTHROPIC_API_KEY or OPENAI_API_KEY and start again."
_SEARCHED_MESSAGES: Final = 5_000
"""The newest messages of a conversation that the offline provider looks through."""
_HINTS: Final = {
    "anthropic": "set ANTHROPIC_API_KEY in the environment and start the server again",
    "openai": "set OPENAI_API_KEY (and OPENAI_BASE_URL for another service) in the environment and start again",
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
    return Places(Path(os.path.expanduser(data)) / "folders", cache / "vocabularies")


def _address(environ: Mapping[str, str], settings: Settings, provider: str) -> str | None:
    """Where the user says a provider is; None for where it always is."""
    entry = settings.providers.get(provider)
    return environ.get(f"{provider.upper()}_BASE_URL") or (None if entry is None else entry.base_url)


def build_clients(
    environ: Mapping[str, str], settings: Settings
) -> dict[str, AnthropicClient | OpenAICompatibleClient]:
    """The model clients whose keys are in the environment, by provider name. Keys go nowhere else."""
    clients: dict[str, AnthropicClient | OpenAICompatibleClient] = {}
    if key := environ.get("ANTHROPIC_API_KEY"):
        from palimpsest_clients.anthropic import AnthropicClient

        base_url = _address(environ, settings, "anthropic")
        clients["anthropic"] = AnthropicClient(key, base_url) if base_url else AnthropicClient(key)
    if key := environ.get("OPENAI_API_KEY"):
        from palimpsest_clients.openai_compatible import OpenAICompatibleClient

        base_url = _address(environ, settings, "openai")
        clients["openai"] = OpenAICompatibleClient(key, base_url) if base_url else OpenAICompatibleClient(key)
    return clients


def store_directory(stores: Path, root: Path) -> Path:
    """The store of a resolved folder: a readable name, and a hash of the folder's URI that makes it unique."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:40] or "folder"
    return stores / f"{slug}-{hashlib.sha256(root.as_uri().encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Composer:
    """Puts the parts of a folder's session together."""

    settings: Settings
    places: Places
    table: ModelTable
    clients: Mapping[str, Provider]
    tokenizers: Tokenizers
    frame: Frame
    moved: frozenset[str]
    """Providers that are reached at an address of the user's."""

    async def open_session(self, root: Path) -> FolderSession:
        """Opens the store, closes what dead servers left open, and wires what works on it."""
        store = await open_store(store_directory(self.places.stores, root), self.settings.synchronous)
        await store.run(turns.recover, store.is_alive, utc_now())
        listeners = Listeners()

        def changed(conversation_id: ConversationId) -> None:
            listeners.tell(ConversationChanged(conversation_id))

        providers = {**self.clients, "offline": OfflineProvider(_finder(store, FolderText(root)), CONFIGURE_HINT)}
        models = Models(
            self.table,
            providers,
            _HINTS,
            self.settings,
            model_entries=to_entries(self.settings.models),
            provider_entries=to_entries(self.settings.providers),
            learned=await store.read(learned_limits, utc_now()),
        )
        contexts = ContextEngine(
            store,
            models,
            self.tokenizers,
            self.settings.context,
            self.frame,
            listeners.tell,
            SummarizerChoice(models, self.tokenizers, self.settings.context, load_prompts(), self.moved).choose,
        )
        return FolderSession(
            root,
            store,
            contexts,
            TurnEngine(store, contexts, by_name(()), changed),
            Conversations(store, contexts, changed),
            listeners,
        )


def load_folders(environ: Mapping[str, str] = os.environ) -> Folders:
    """The services of a server process. Raises InvalidRequest when a setting cannot be meant."""
    settings = load_settings(user_file(), None, environ, None)
    for sentence in unknown_variables(environ):
        log.warning(sentence)
    if environ.get("CONTEXT_DEBUG", "").lower() in ("1", "true", "yes"):
        logging.getLogger(LOGGER_NAME).setLevel(logging.DEBUG)
    clients = build_clients(environ, settings)
    composer = Composer(
        settings,
        read_places(settings),
        load_model_table(),
        clients,
        Tokenizers(read_places(settings).cache),
        load_frame(),
        frozenset(name for name in clients if _address(environ, settings, name)),
    )
    return Folders(composer.open_session, [client.aclose for client in clients.values()])


def _finder(store: Store, files: FolderText) -> Find:
    """Finds passages for the offline provider: in the folder's files, and in what was said before the question."""

    async def find(conversation_id: ConversationId, question: str) -> Sequence[Passage]:
        def read() -> list[HistoryLine]:
            n_messages = conversations.get(conversation_id).n_messages
            said = conversations.read_messages(conversation_id, max(0, n_messages - _SEARCHED_MESSAGES), n_messages - 1)
            models = turns.models_of(conversation_id)
            return [
                HistoryLine(
                    message.id,
                    message.content.role,
                    message.content.text,
                    models.get(message.turn_id) if message.turn_id and message.content.role is Role.ASSISTANT else None,
                )
                for message in said
                if message.content.role is not Role.TOOL
            ]

        history = await store.read(read)
        return await asyncio.to_thread(find_passages, question, files, history)

    return find
