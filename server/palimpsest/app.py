"""The composition root: the one place that knows every package. It, and `cli`, alone read the environment."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import platformdirs

from palimpsest.data import load_frame, load_model_table
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.layout import Frame
from palimpsest.domain.limits import ModelTable
from palimpsest.domain.messages import ConversationId, Role
from palimpsest.domain.provider import Provider
from palimpsest.domain.quoting.passages import HistoryLine, Passage
from palimpsest.domain.settings import ContextSettings, Settings
from palimpsest.services.clock import utc_now
from palimpsest.services.contexts import ContextEngine
from palimpsest.services.conversations import Conversations
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.finding import find_passages
from palimpsest.services.folder_text import FolderText
from palimpsest.services.folders import Folders, FolderSession
from palimpsest.services.models import Models
from palimpsest.services.tokenizers import Tokenizers
from palimpsest.services.tools import by_name
from palimpsest.services.turns import TurnEngine
from palimpsest.storage import conversations, turns
from palimpsest.storage.store import Store, open_store
from palimpsest_clients.offline import Find, OfflineProvider

if TYPE_CHECKING:
    from palimpsest_clients.anthropic import AnthropicClient
    from palimpsest_clients.openai_compatible import OpenAICompatibleClient

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


def read_places(environ: Mapping[str, str]) -> Places:
    data = environ.get("PALIMPSEST_STORAGE_PATH") or platformdirs.user_data_dir(APP, appauthor=False)
    return Places(Path(data) / "folders", Path(platformdirs.user_cache_dir(APP, appauthor=False)) / "vocabularies")


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Settings from `PALIMPSEST_*`. Raises InvalidRequest, naming the variable, for a value that cannot be meant."""

    def number(name: str, convert: Callable[[str], float], default: float) -> float:
        text = environ.get(name)
        if not text:
            return default
        try:
            return convert(text)
        except ValueError as error:
            raise InvalidRequest(f"{name} must be a number, but is {text!r}.") from error

    defaults = ContextSettings()
    limit = int(number("PALIMPSEST_CONTEXT_OUTPUT_LIMIT", int, 0))
    synchronous = environ.get("PALIMPSEST_STORAGE_SYNCHRONOUS", "NORMAL").upper()
    if synchronous not in ("NORMAL", "FULL"):
        raise InvalidRequest(f"PALIMPSEST_STORAGE_SYNCHRONOUS must be NORMAL or FULL, but is {synchronous!r}.")
    durable: Literal["NORMAL", "FULL"] = "FULL" if synchronous == "FULL" else "NORMAL"
    return Settings(
        model=environ.get("PALIMPSEST_MODEL") or None,
        context=ContextSettings(
            threshold=number("PALIMPSEST_CONTEXT_THRESHOLD", float, defaults.threshold),
            target=number("PALIMPSEST_CONTEXT_TARGET", float, defaults.target),
            preserve_recent=int(number("PALIMPSEST_CONTEXT_PRESERVE_RECENT", int, defaults.preserve_recent)),
            max_tokens=int(number("PALIMPSEST_CONTEXT_MAX_TOKENS", int, defaults.max_tokens)),
            output_limit=limit or None,
            response_max_bytes=int(number("PALIMPSEST_TOOLS_RESPONSE_MAX_BYTES", int, defaults.response_max_bytes)),
        ),
        synchronous=durable,
    )


def build_clients(environ: Mapping[str, str]) -> dict[str, AnthropicClient | OpenAICompatibleClient]:
    """The model clients whose keys are in the environment, by provider name. Keys go nowhere else."""
    clients: dict[str, AnthropicClient | OpenAICompatibleClient] = {}
    if key := environ.get("ANTHROPIC_API_KEY"):
        from palimpsest_clients.anthropic import AnthropicClient

        base_url = environ.get("ANTHROPIC_BASE_URL")
        clients["anthropic"] = AnthropicClient(key, base_url) if base_url else AnthropicClient(key)
    if key := environ.get("OPENAI_API_KEY"):
        from palimpsest_clients.openai_compatible import OpenAICompatibleClient

        base_url = environ.get("OPENAI_BASE_URL")
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

    async def open_session(self, root: Path) -> FolderSession:
        """Opens the store, closes what dead servers left open, and wires what works on it."""
        store = await open_store(store_directory(self.places.stores, root), self.settings.synchronous)
        await store.run(turns.recover, store.is_alive, utc_now())
        listeners = Listeners()

        def changed(conversation_id: ConversationId) -> None:
            listeners.tell(ConversationChanged(conversation_id))

        providers = {**self.clients, "offline": OfflineProvider(_finder(store, FolderText(root)), CONFIGURE_HINT)}
        models = Models(self.table, providers, _HINTS, self.settings)
        contexts = ContextEngine(store, models, self.tokenizers, self.settings.context, self.frame, listeners.tell)
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
    settings, places = read_settings(environ), read_places(environ)
    clients = build_clients(environ)
    composer = Composer(settings, places, load_model_table(), clients, Tokenizers(places.cache), load_frame())
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
