"""The composition root: the one place that knows every package."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palimpsest.app.folder_settings import FolderSettings, FolderSettingsReader
from palimpsest.app.model_clients import HINTS, ClientPool, address_of, check_key
from palimpsest.app.places import read_places, store_directory, user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.app.stored_keys import environment_keys, stored_keys
from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.data import load_frame, load_model_table
from palimpsest.data.prompts import load_prompts
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId, Role
from palimpsest.domain.models.limits import ModelTable
from palimpsest.domain.models.provider import Provider
from palimpsest.domain.offline.passages import HistoryLine, Passage
from palimpsest.domain.settings.settings import Settings, to_entries
from palimpsest.domain.tools import ToolSchema
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.context.debug_log import LOGGER_NAME
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.pinning import Pinning
from palimpsest.services.context.recall import Recall
from palimpsest.services.context.requests import Requests
from palimpsest.services.context.summaries.choice import SummarizerChoice
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.conversation.purge import resume
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.facts.accepted_edits import AcceptedEdits
from palimpsest.services.facts.folder_events import FolderEvents, Take, open_events
from palimpsest.services.facts.keeper import FactKeeping
from palimpsest.services.facts.librarian import Librarian
from palimpsest.services.facts.librarian_model import LibrarianModel
from palimpsest.services.facts.places import FactPlaces
from palimpsest.services.facts.reranking import Reranker
from palimpsest.services.folder.adoption import Left, find_left, recognise
from palimpsest.services.folder.folders import EditorsWord, Folders, FolderSession
from palimpsest.services.folder.following import Following
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.editor_models import EDITOR, EditorModels
from palimpsest.services.models.helper import Helpers, HelpingModel
from palimpsest.services.models.keys import Keys
from palimpsest.services.models.live_limits import FILE_NAME as LIVE_LIMITS_FILE
from palimpsest.services.models.live_limits import LiveLimits
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.services.offline.finding import find_passages
from palimpsest.services.offline.folder_text import FolderText
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.edit import EditTool
from palimpsest.services.tools.editors import Editors
from palimpsest.services.tools.facts import FactsTool
from palimpsest.services.tools.from_editor import EditorTools
from palimpsest.services.tools.read_conversation import conversation_tools
from palimpsest.services.tools.read_files import ReadingTools
from palimpsest.services.tools.run_command import HOLDS_ALL, MAY_ESCAPE, CommandTool
from palimpsest.services.tools.toolbox import Toolbox, ToolMaker
from palimpsest.services.turns.engine import TurnEngine
from palimpsest.services.turns.run import TurnServices
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.instructions import Instructions, read_instructions
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.conversation import conversations
from palimpsest.storage.maintenance.set_aside import open_sound_store
from palimpsest.storage.models import learned_limits
from palimpsest.storage.store import DATABASE_NAME, Store
from palimpsest.storage.turns import turns
from palimpsest_clients.offline import Find, OfflineProvider

log = logging.getLogger(__name__)

_SEARCHED_MESSAGES: Final = 5_000
"""The newest messages of a conversation that the offline provider looks through."""


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
    editor_models: EditorModels
    open_events: Callable[[Take], FolderEvents] = open_events
    """What tells that files have changed."""

    async def open_session(self, root: Path, word: EditorsWord) -> FolderSession:
        """Opens the store, closes what dead servers left open, and wires what works on it. Raises InvalidRequest when
        the user's own file or environment cannot be meant."""
        found = self._doubted(await asyncio.to_thread(self.reader.read, root, word))
        for note in found.notes:
            log.warning(note)
        directory = store_directory(read_places(found.settings).stores, root)
        store, aside = await open_sound_store(directory, found.settings.synchronous)
        try:
            return await self._open_on(found, root, store, aside)
        except BaseException:
            await store.close()  # the next request opens it anew
            raise

    async def _open_on(self, found: FolderSettings, root: Path, store: Store, aside: Path | None) -> FolderSession:
        if store.refusal is None:
            await store.run(turns.recover, store.is_alive, utc_now())
        trust = FolderTrust(found.is_trusted)
        session = await self._compose(found, root, store, Listeners(), trust, Editors(), None, None)
        following = Following(
            store,
            session.turns.running,
            lambda conversation_id: session.listeners.tell(ConversationChanged(conversation_id)),
            lambda: bool(session.editors.attached()),
        )
        if store.refusal is None:
            session.contexts.background.start(None, resume(session.purging))
        notes = [] if aside is None else [_set_aside(root, aside)]
        folder = await recognise(store, root, self.environ, is_trusted=found.is_trusted)
        if (left := await find_left(store, store.directory.parent, folder)) is not None:
            notes.append(_adoptable(root, left))
        if session.settings.run_command and not HOLDS_ALL:
            notes.append(MAY_ESCAPE)
        await following.start()
        if session.facts is not None and store.refusal is None:
            session.facts.start()
        return replace(session, following=following, notes=(*store.notes, *notes, *session.notes))

    async def renew(self, session: FolderSession, word: EditorsWord) -> FolderSession:
        """The session by what is said and written now; `session` itself when that is what it was. Its store stays,
        with the place and the mode it was opened with."""
        own_notes = session.notes[len(session.store.notes) :]
        before = FolderSettings(session.settings, session.is_trusted, session.editor_settings, own_notes)
        found = self._doubted(await asyncio.to_thread(self.reader.read_again, session.root, word, before))
        clients = await asyncio.to_thread(self.clients.get, found.settings)
        if found == before and clients == _without_offline(session.contexts.models.providers):
            return session
        session.trust.is_trusted = found.is_trusted
        renewed = await self._compose(
            found,
            session.root,
            session.store,
            session.listeners,
            session.trust,
            session.editors,
            session.turns,
            session.facts,
        )
        return replace(renewed, following=session.following, notes=(*session.store.notes, *renewed.notes))

    def _doubted(self, found: FolderSettings) -> FolderSettings:
        """With a note for each model in the settings whose name looks like a slip."""
        settings = found.settings
        entries = to_entries(settings.models), to_entries(settings.providers)
        models = Models(self.table, {}, {}, settings, model_entries=entries[0], provider_entries=entries[1])
        named = {
            "model": settings.model,
            "summarization.model": settings.context.summary_model,
            "librarian.model": settings.librarian.model,
            **{f"targets[{number}]": name for number, name in enumerate(settings.targets)},
        }
        doubts = [(key, models.doubt(name)) for key, name in named.items() if name is not None]
        notes = tuple(f"In the setting {key}: {doubt}" for key, doubt in doubts if doubt is not None)
        return replace(found, notes=(*found.notes, *notes))

    async def _compose(
        self,
        found: FolderSettings,
        root: Path,
        store: Store,
        listeners: Listeners,
        trust: FolderTrust,
        editors: Editors,
        before: TurnEngine | None,
        facts: FactKeeping | None,
    ) -> FolderSession:
        """`before`: whose running turns go on; `facts`: what goes on keeping them."""

        def changed(conversation_id: ConversationId) -> None:
            listeners.tell(ConversationChanged(conversation_id))

        settings = found.settings
        clients = await asyncio.to_thread(self.clients.get, settings)
        addresses = {name: at for name in clients if (at := address_of(self.environ, settings, name)) is not None}
        providers = {**clients, "offline": OfflineProvider(_finder(store, FolderText(root)))}
        learned = {} if before is None else before.contexts.models.learned
        learned |= {**await store.read(learned_limits, utc_now()), **learned}
        models = Models(
            self.table,
            providers,
            HINTS,
            settings,
            model_entries=to_entries(settings.models),
            provider_entries=to_entries(settings.providers),
            live=await self.live.of(clients, addresses),
            learned=learned,
            offered=self.editor_models,
        )
        files = WorkspaceFiles(root)

        async def frame_of(tools: Sequence[ToolSchema]) -> Frame:
            found = await read_instructions(files) if trust.is_trusted else Instructions()
            system = f"{self.frame.system}\n\n{found.text}" if found.text else self.frame.system
            return Frame(system, tuple(tools))

        async def frame_now() -> Frame:
            return await frame_of(toolbox.schemas())

        helpers = Helpers(models, self.tokenizers, frozenset(addresses))
        contexts = ContextEngine(
            store,
            models,
            self.tokenizers,
            settings.context,
            frame_now,
            listeners.tell,
            SummarizerChoice(helpers, settings.context, load_prompts()).choose,
            Background() if before is None else before.contexts.background,
        )
        model = _librarian_model(store, contexts, helpers, settings)
        edits = AcceptedEdits() if facts is None else facts.librarian.places.edits
        librarian = _librarian(store, files, root, model, contexts, settings, edits)
        if facts is None:
            facts = FactKeeping(root, librarian, listeners, self.open_events)
        else:
            facts.take(librarian)
        # As the folder is opened: a tool that comes with the first fact would break the prefix of what is being said.
        has_facts = (await librarian.counts()).n_open > 0
        approvals = Approvals(store, editors, trust)
        makers: list[ToolMaker] = [
            lambda _: ReadingTools(files, editors.texts).tools(),
            conversation_tools(store),
            FactsTool(lambda: facts.librarian, has_facts=has_facts),
            EditTool(files, editors, approvals, edits),
            EditorTools(editors, approvals),
        ]
        if settings.run_command:
            makers.append(CommandTool(root, files, approvals, self.environ))
        toolbox = Toolbox(makers, lambda: trust.is_trusted)

        services = TurnServices(
            store, contexts, Requests(contexts, _recall(store, model, settings)), toolbox, frame_of, changed
        )
        engine = TurnEngine(services) if before is None else TurnEngine(services, before.running)
        return FolderSession(
            root,
            store,
            contexts,
            engine,
            Conversations(store, contexts, listeners),
            listeners,
            settings,
            trust,
            found.editor,
            found.notes,
            editors,
            facts=facts,
        )


def _recall(store: Store, model: LibrarianModel, settings: Settings) -> Recall | None:
    if not settings.librarian.enabled:
        return None
    return Recall(store, Reranker(model).order if settings.librarian.rerank else None)


def _librarian_model(store: Store, contexts: ContextEngine, helpers: Helpers, settings: Settings) -> LibrarianModel:
    async def choose(conversation_id: ConversationId) -> HelpingModel | None:
        wanted, state = settings.librarian, await contexts.state(conversation_id)
        model = state.model
        # What an editor's plan includes is for the user's own questions.
        if wanted.daily_tokens == 0 or (model.provider in ("offline", EDITOR) and wanted.model is None):
            return None
        usual = helpers.models.table.librarian_model(model.provider)
        try:
            return await helpers.helper(model, wanted.model, usual and usual[0], state.asked_by)
        except PalimpsestError as error:
            log.warning("no model reads for facts: %s", error.kind)
            return None

    return LibrarianModel(store, choose, settings.librarian.daily_tokens)


def _librarian(
    store: Store,
    files: WorkspaceFiles,
    root: Path,
    model: LibrarianModel,
    contexts: ContextEngine,
    settings: Settings,
    edits: AcceptedEdits,
) -> Librarian:
    return Librarian(
        store,
        FactPlaces(store, files, edits),
        root.as_posix(),
        model,
        contexts.background,
        Pinning(contexts).rules,
        settings.librarian.enabled,
    )


def _set_aside(root: Path, aside: Path) -> str:
    database = shlex.quote(str(aside / DATABASE_NAME))
    return (
        f"The conversations of {root} were in a store that is damaged. It was set aside, unchanged, in {aside}, and an "
        f"empty one was begun. `palimpsest rescue {database} --output FOLDER` saves what it still holds."
    )


def _adoptable(root: Path, left: Left) -> str:
    command = f"palimpsest adopt {shlex.quote(str(left.directory))} {shlex.quote(str(root))}"
    return f"The conversations of {left.path}, which is not there any more, can be brought here: run `{command}`."


def load_folders(environ: Mapping[str, str] = os.environ) -> Folders:
    """The services of a server process. Raises InvalidRequest when a setting of the user's own cannot be meant."""
    settings = load_settings(user_file(), None, environ, None)
    if environ.get("CONTEXT_DEBUG", "").lower() in ("1", "true", "yes"):
        logging.getLogger(LOGGER_NAME).setLevel(logging.DEBUG)
    places = read_places(settings)
    live = LiveLimits(places.cache / LIVE_LIMITS_FILE)
    keys = Keys(environment_keys(environ), stored_keys(), check_key)
    keys.load()
    clients = ClientPool(environ, keys)
    clients.get(settings)  # here, on a thread and while nobody waits
    table = load_model_table()
    editor_models = EditorModels(table)
    composer = Composer(
        environ,
        FolderSettingsReader(user_file(), environ, trusted_folders()),
        clients,
        table,
        Tokenizers(places.cache / "vocabularies"),
        live,
        load_frame(),
        editor_models,
    )
    return Folders(
        composer.open_session,
        composer.renew,
        [live.close, clients.aclose],
        lambda root: (store_directory(places.stores, root) / DATABASE_NAME).is_file(),
        keys,
        editor_models,
    )


def _without_offline(providers: Mapping[str, Provider]) -> dict[str, Provider]:
    """Those that the pool gave: the offline one is the folder's own."""
    return {name: provider for name, provider in providers.items() if name != "offline"}


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
