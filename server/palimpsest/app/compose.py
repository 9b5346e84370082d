"""The composition root: the only module that imports every package."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from palimpsest.app.folder_settings import FolderSettings, FolderSettingsReader
from palimpsest.app.hubs import HubPool
from palimpsest.app.mcp_connections import connect
from palimpsest.app.model_clients import ClientPool, check_key
from palimpsest.app.places import commands_folder, read_places, store_directory, user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.app.stored_keys import stored_keys
from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.app.web_pages import fetch_page
from palimpsest.data import load_frame, load_model_table
from palimpsest.data.prompts import load_prompts
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.errors import InvalidRequest, NotFound, PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.models.limits import ModelTable
from palimpsest.domain.models.provider import Provider
from palimpsest.domain.settings.settings import Settings, to_entries
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.sharing.repository import RepositoryIdentity
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.upgrade import TellUpgrade
from palimpsest.domain.web import Fetch
from palimpsest.machine import utc_now
from palimpsest.machine.extras import Extra, missing
from palimpsest.services.context.debug_log import LOGGER_NAME
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.recall import Recall
from palimpsest.services.context.requests import Requests
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.context.summaries.choice import SummarizerChoice
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.conversation.purge import Purging, resume
from palimpsest.services.costs import Spending
from palimpsest.services.events import ContextEvent
from palimpsest.services.facts.folder_events import FolderEvents, Take, open_events
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.services.facts.librarian import Librarian
from palimpsest.services.facts.model import LibrarianModel
from palimpsest.services.facts.places import FactPlaces
from palimpsest.services.folder.adoption import Left, find_left, recognise
from palimpsest.services.folder.folders import EditorsWord, Folders
from palimpsest.services.folder.session import FolderSession, OpenFolder
from palimpsest.services.mcp.connection import Connect
from palimpsest.services.mcp.servers import McpSetup
from palimpsest.services.mcp.tools import McpTools
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.editor_models import EDITOR, EditorModels
from palimpsest.services.models.helper import Helpers, HelpingModel
from palimpsest.services.models.keys import Keys
from palimpsest.services.models.live_limits import FILE_NAME as LIVE_LIMITS_FILE
from palimpsest.services.models.live_limits import LiveLimits
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.services.offline.answering import Search
from palimpsest.services.offline.folder_index import FolderIndex
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.edit import EditTool
from palimpsest.services.tools.facts import FactsTool
from palimpsest.services.tools.foreign_words import ForeignWords
from palimpsest.services.tools.from_editor import EditorTools
from palimpsest.services.tools.read_conversation import conversation_tools
from palimpsest.services.tools.read_files import ReadingTools
from palimpsest.services.tools.run_command import HOLDS_ALL, MAY_ESCAPE, CommandTool
from palimpsest.services.tools.toolbox import Toolbox, ToolMaker, TurnScope
from palimpsest.services.turns.engine import TurnEngine
from palimpsest.services.turns.run import TurnServices
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.instructions import Instructions, read_instructions
from palimpsest.services.workspace.repository import identify
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.facts import facts
from palimpsest.storage.maintenance.set_aside import open_sound_store
from palimpsest.storage.models import learned_limits
from palimpsest.storage.store import Store
from palimpsest.storage.turns import turns
from palimpsest_clients.offline import OfflineProvider

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Composer:
    """Composes the session of a folder."""

    environ: Mapping[str, str]
    reader: FolderSettingsReader
    clients: ClientPool
    table: ModelTable
    tokenizers: Tokenizers
    live: LiveLimits
    frame: Frame
    editor_models: EditorModels
    hubs: HubPool
    open_events: Callable[[Take], FolderEvents] = open_events
    """The source of events about changed files."""
    connect: Connect | None = None
    """Connects with servers of the Model Context Protocol; None: there are none."""
    fetch_page: Fetch = fetch_page
    """Fetches a page of the web."""

    async def open_session(self, root: Path, word: EditorsWord, tell: TellUpgrade) -> FolderSession:
        """Open the store, close the turns of dead servers, and compose the services. Raises InvalidRequest for an error
        in the user's own file or environment."""
        found = self._doubted(await asyncio.to_thread(self.reader.read, root, word))
        for note in found.notes:
            log.warning(note)
        directory = store_directory(read_places(found.settings).stores, root)
        store, aside = await open_sound_store(directory, found.settings.synchronous, tell)
        try:
            return await self._open_on(found, root, store, aside)
        except BaseException:
            await store.close()  # the next request opens it again
            raise

    async def _open_on(self, found: FolderSettings, root: Path, store: Store, aside: Path | None) -> FolderSession:
        if store.refusal is None:
            await store.run(turns.recover, store.writer(utc_now()))
        folder = OpenFolder(
            root,
            store,
            FolderTrust(found.is_trusted),
            self.open_events,
            commands_folder(self.reader.user_file),
            self.environ,
            self.fetch_page,
        )
        if store.refusal is None:
            await folder.changes.load()  # before facts are checked
        session = await self._session(found, folder)
        if store.refusal is None:
            folder.background.start(None, resume(session.purging))
        notes = [] if aside is None else [_set_aside(root, aside)]
        recognised = await recognise(store, root, self.environ, is_trusted=found.is_trusted)
        if (left := await find_left(store, store.directory.parent, recognised)) is not None:
            notes.append(_adoptable(root, left))
        if session.settings.run_command and not HOLDS_ALL:
            notes.append(MAY_ESCAPE)
        await folder.following.start()
        if store.refusal is None:
            folder.facts.start()
        return replace(session, notes=(*store.notes, *notes, *session.notes))

    async def renew(self, session: FolderSession, word: EditorsWord) -> FolderSession:
        """The session by the current settings; `session` itself when they are unchanged. The store stays open, with its
        place and its mode."""
        folder = session.folder
        own_notes = session.notes[len(folder.store.notes) :]
        before = FolderSettings(session.settings, folder.trust.is_trusted, session.editor_settings, own_notes)
        found = self._doubted(await asyncio.to_thread(self.reader.read_again, folder.root, word, before))
        clients = await asyncio.to_thread(self.clients.get, found.settings)
        if found == before and clients == _without_offline(session.contexts.models.providers):
            return session
        folder.trust.is_trusted = found.is_trusted
        renewed = await self._session(found, folder)
        return replace(renewed, notes=(*folder.store.notes, *renewed.notes))

    def _doubted(self, found: FolderSettings) -> FolderSettings:
        """The notes, with one for each model in the settings whose name looks misspelled."""
        settings = found.settings
        entries = to_entries(settings.models), to_entries(settings.providers)
        models = Models(self.table, {}, {}, settings, model_entries=entries[0], provider_entries=entries[1])
        named = {
            "model": settings.model,
            "summarization.model": settings.context.summary_model,
            "librarian.model": settings.librarian.model,
            **{f"targets[{number}]": name for number, name in enumerate(settings.targets)},
        }
        has_no_way = settings.hub.url is not None and not self.hubs.is_installed()
        doubts = [(key, models.doubt(name)) for key, name in named.items() if name is not None]
        notes = tuple(f"In the setting {key}: {doubt}" for key, doubt in doubts if doubt is not None)
        return replace(found, notes=(*found.notes, *notes, *([missing(Extra.HUB)] if has_no_way else [])))

    async def _session(self, found: FolderSettings, folder: OpenFolder) -> FolderSession:
        settings, store = found.settings, folder.store
        clients = await asyncio.to_thread(self.clients.get, settings)
        entries = self.clients.entries(settings)
        addresses = {name: entries[name].address for name in clients if name in entries and entries[name].is_moved}
        models = await self._models(settings, folder, clients, addresses)
        files = WorkspaceFiles(folder.root)
        toolbox = await self._toolbox(settings, folder, files)

        async def frame_of(tools: Sequence[ToolSchema]) -> Frame:
            instructions = await read_instructions(files) if folder.trust.is_trusted else Instructions()
            system = f"{self.frame.system}\n\n{instructions.text}" if instructions.text else self.frame.system
            return Frame(system, tuple(tools))

        async def frame_now() -> Frame:
            return await frame_of(toolbox.schemas())

        spending = Spending(
            store, models, settings.monthly_budget, folder.spent, functools.partial(_tell_of_budget, folder)
        )
        helpers = Helpers(models, self.tokenizers, frozenset(addresses), spending.keep, spending.require_quietly)
        contexts = ContextEngine(
            folder.leases,
            models,
            self.tokenizers,
            settings.context,
            frame_now,
            folder.listeners.tell,
            SummarizerChoice(helpers, settings.context, load_prompts()).choose,
        )
        model = _librarian_model(folder, contexts, helpers, settings)
        places, rules = FactPlaces(store, files, folder.edits), RuleCommands(contexts).rules
        keeper = FactKeeper(store, places, model, rules, folder.facts.changed)
        folder.facts.take(
            Librarian(keeper, folder.root.as_posix(), folder.background, settings.librarian.enabled),
        )
        requests = Requests(contexts, _recall(store, model, settings))
        self._share(settings, folder, contexts)
        await folder.mcp.take(None if self.connect is None else McpSetup(settings.mcp, self.environ, self.connect))
        approvals = Approvals(store, folder.editors, folder.trust)

        async def may_spend(scope: TurnScope) -> None:
            await spending.require(functools.partial(approvals.ask, scope), scope.conversation_id)

        services = TurnServices(
            *(store, contexts, requests, toolbox, frame_of, folder.changed, folder.sharing.current, may_spend)
        )
        return FolderSession(
            folder,
            contexts,
            TurnEngine(services, folder.running, folder.asked_by),
            Conversations(store, contexts, folder.listeners),
            settings,
            found.editor,
            found.notes,
        )

    def _share(self, settings: Settings, folder: OpenFolder, contexts: ContextEngine) -> None:
        """Gives the folder its way to the hub of the settings."""
        hub = self.hubs.get(settings.hub)
        if hub is None:
            folder.sharing.take(None, None)
            return
        from palimpsest.services.sharing.repository_facts import RepositoryFacts
        from palimpsest.services.sharing.sharing import Sharing
        from palimpsest.services.sharing.watch import Watch
        from palimpsest.storage.sharing.shared import Terms

        async def identify_repository() -> RepositoryIdentity | None:
            if not folder.trust.is_trusted:
                raise InvalidRequest(
                    "Trust this folder first (`palimpsest trust`, or your editor's own trust) and open it again: git "
                    "is asked which repository it is of, and a repository can name programs that git runs."
                )
            return await asyncio.to_thread(identify, folder.root, self.environ)

        cleaner = Cleaner(folder.root.as_posix(), Path.home().as_posix())
        terms = Terms(cleaner, settings.hub.share_tool_results)
        purges = Purging(contexts, folder.listeners, folder.documents)
        sharing = Sharing(hub, contexts, folder.listeners, purges, terms)
        repository_facts = RepositoryFacts(sharing, folder.facts, identify_repository, settings.hub.facts)
        folder.sharing.take(sharing, Watch(sharing, settings.hub.poll_s, repository_facts, settings.hub.team))

    async def _models(
        self,
        settings: Settings,
        folder: OpenFolder,
        clients: Mapping[str, Provider],
        addresses: Mapping[str, str],
    ) -> Models:
        learned = folder.learned_limits
        learned |= {**await folder.store.read(learned_limits, utc_now()), **learned}
        search = Search(folder.store, FolderIndex(folder.root), has_facts=settings.librarian.enabled)
        return Models(
            self.table,
            {**clients, "offline": OfflineProvider(search.find)},
            self.clients.hints(settings),
            settings,
            model_entries=to_entries(settings.models),
            provider_entries=to_entries(settings.providers),
            live=await self.live.of(clients, addresses),
            learned=learned,
            offered=self.editor_models,
            addresses=self.clients.addresses(settings),
        )

    async def _toolbox(self, settings: Settings, folder: OpenFolder, files: WorkspaceFiles) -> Toolbox:
        store, editors = folder.store, folder.editors
        # Decided when the folder is opened: a tool that came with the first fact would break the prefix of requests.
        has_facts = (await store.read(facts.counts)).n_open > 0
        approvals = Approvals(store, editors, folder.trust)
        makers: list[ToolMaker] = [
            lambda _: ReadingTools(files, editors.texts).tools(),
            conversation_tools(store),
            FactsTool(lambda: folder.facts.keeper, has_facts=has_facts),
            EditTool(files, editors, approvals, folder.edits),
            EditorTools(editors, approvals),
            McpTools(folder.mcp, approvals),
        ]
        if settings.run_command:
            makers.append(CommandTool(folder.root, files, approvals, self.environ))
        return Toolbox(makers, lambda: folder.trust.is_trusted, ForeignWords(approvals).require, folder.mcp.settled)


def _tell_of_budget(folder: OpenFolder, conversation_id: ConversationId, sentence: str) -> None:
    folder.listeners.tell(ContextEvent(conversation_id, ContextEventType.BUDGET, utc_now(), error=sentence))


def _recall(store: Store, model: LibrarianModel, settings: Settings) -> Recall | None:
    if not settings.librarian.enabled:
        return None
    return Recall(store, model.order if settings.librarian.rerank else None)


def _librarian_model(
    folder: OpenFolder, contexts: ContextEngine, helpers: Helpers, settings: Settings
) -> LibrarianModel:
    async def choose(conversation_id: ConversationId) -> HelpingModel | None:
        wanted, model = settings.librarian, (await contexts.state(conversation_id)).model
        # The user's plan at the editor is for the user's own questions.
        if wanted.daily_tokens == 0 or (model.provider in ("offline", EDITOR) and wanted.model is None):
            return None
        usual = helpers.models.table.librarian_model(model.provider)
        try:
            return await helpers.helper(model, wanted.model, usual and usual[0], folder.asked_by.get(conversation_id))
        except NotFound as error:  # no model is set up that could
            log.info("no model reads for facts: %s", error)
            return None
        except PalimpsestError as error:
            log.warning("no model reads for facts: %s", error.kind)
            return None

    return LibrarianModel(folder.store, choose, settings.librarian.daily_tokens)


def _set_aside(root: Path, aside: Path) -> str:
    database = shlex.quote(str(aside / DATABASE_NAME))
    return (
        f"The conversations of {root} were in a damaged store. It was moved, unchanged, to {aside}, and an "
        f"empty one was created. `palimpsest rescue {database} --output FOLDER` saves its messages."
    )


def _adoptable(root: Path, left: Left) -> str:
    command = f"palimpsest adopt {shlex.quote(str(left.directory))} {shlex.quote(str(root))}"
    return f"The folder {left.path} no longer exists. To bring its conversations here, run `{command}`."


def load_folders(environ: Mapping[str, str] = os.environ) -> Folders:
    """The services of a server process. Raises InvalidRequest for an invalid setting of the user's own."""
    settings = load_settings(user_file(), None, environ, None)
    if environ.get("CONTEXT_DEBUG", "").lower() in ("1", "true", "yes"):
        logging.getLogger(LOGGER_NAME).setLevel(logging.DEBUG)
    places = read_places(settings)
    live = LiveLimits(places.cache / LIVE_LIMITS_FILE)
    keys = Keys(environ, stored_keys(), check_key)
    keys.load()
    clients = ClientPool(environ, keys)
    clients.get(settings)  # here, on a thread, before anybody waits
    table = load_model_table()
    editor_models = EditorModels()
    hubs = HubPool(environ, places)
    composer = Composer(
        environ,
        FolderSettingsReader(user_file(), environ, trusted_folders()),
        clients,
        table,
        Tokenizers(places.cache / "vocabularies"),
        live,
        load_frame(),
        editor_models,
        hubs,
        connect=connect,
    )
    return Folders(
        composer.open_session,
        composer.renew,
        keys,
        editor_models,
        clients,
        [live.close, clients.aclose, hubs.aclose],
        lambda root: (store_directory(places.stores, root) / DATABASE_NAME).is_file(),
    )


def _without_offline(providers: Mapping[str, Provider]) -> dict[str, Provider]:
    """The providers of the pool, without the offline one, which belongs to the folder."""
    return {name: provider for name, provider in providers.items() if name != "offline"}
