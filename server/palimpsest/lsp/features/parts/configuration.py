"""The editor's statements about its folders (settings, trust), passed to the services.

They come in `initializationOptions.palimpsest`, in answers to `workspace/configuration`, and in notifications. Requests
wait for them (`settled`), so that the first request already finds the user's settings. For an editor that does not
answer, requests wait a moment, once; a late answer still counts.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.lsp.features.feature import Feature
from palimpsest.lsp.features.parts.notices import Notices
from palimpsest.values import Mismatch
from palimpsest.wire.areas.trust import EditorOptions
from palimpsest.wire.codec.convert import from_json

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer

SECTION: Final = "palimpsest"
_WAIT_S: Final = 3.0


class EditorConfiguration(Feature):
    """The statements of one connection's editor. Anything it leaves out stays as it was: an editor without settings
    does not reset those of another editor on the same server."""

    wait_s: float = _WAIT_S
    """The seconds that requests wait for an answer to `workspace/configuration`."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._options = EditorOptions()
        self._problem: str | None = None
        """The problem with the options, for the user."""
        self._has_begun = False
        self._introduced: set[Path] = set()
        """Folders whose trust was passed to the services. That happens once each."""
        self._with_settings: set[Path] = set()
        """Folders that the editor has sent settings for."""
        self._questions = itertools.count(1)
        self._newest_question = 0
        self.telling: dict[asyncio.Task[None], None] = {}
        """The tasks that requests wait for."""
        self._asking: dict[asyncio.Task[None], None] = {}

    def read_options(self, options: Any) -> None:
        """Reads `initializationOptions`, but not the options of other servers. Invalid options trust no folder."""
        given = options.get(SECTION) if isinstance(options, dict) else None
        self._problem = None
        try:
            self._options = from_json({} if given is None else given, EditorOptions)
        except Mismatch as error:
            self._options = EditorOptions(trust=False)
            sentences = "; ".join(error.sentences(f"initializationOptions.{SECTION}"))
            self._problem = f"{sentences}. No folder is trusted, and these options have no effect."

    def begin(self) -> None:
        """Passes the options to the services, and requests the settings. Calling it again is a no-op."""
        if self._has_begun:
            return
        self._has_begun = True
        if self._problem is not None:
            self._server.warn(self._problem)
        workspace = self._server.client_capabilities.workspace
        changes = None if workspace is None else workspace.did_change_configuration
        if changes is not None and changes.dynamic_registration:
            wanted = lsp.Registration(
                id=f"{SECTION}.settings",
                method=lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
                register_options=lsp.DidChangeConfigurationRegistrationOptions(section=SECTION),
            )
            self._server.client_register_capability(lsp.RegistrationParams(registrations=[wanted]))
        self.tell()

    def change_settings(self, settings: Any) -> None:
        """Takes a change of the editor's settings. Only editors without `workspace/configuration` send them along."""
        pushed = settings.get(SECTION) if isinstance(settings, dict) else None
        if not self._can_ask() and pushed is not None:
            self._options = EditorOptions(self._options.trust, pushed)
        self.tell()

    def change_trust(self, folder_uri: str, *, is_trusted: bool) -> None:
        root = self._server.resolve(folder_uri)
        if root is not None:
            self._introduced.add(root)
            self._follow(self._say(root, is_trusted=is_trusted))

    def tell(self) -> None:
        """Passes the options to the services for the open folders, and requests the editor's settings."""
        self._follow(self._tell())

    async def settled(self) -> None:
        """Waits until the editor's statements count, or the wait has been long enough."""
        self.begin()  # some editors never send `initialized`
        if self.telling:
            await asyncio.wait(list(self.telling))

    async def on_stop(self) -> None:
        tasks = [*self.telling, *self._asking]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _tell(self) -> None:
        try:
            uris = self._server.folder_uris()
        except InvalidRequest:
            return
        given = self._checked(self._options.settings)
        for root in uris:
            is_new = root not in self._introduced
            self._introduced.add(root)
            await self._say(
                root,
                is_trusted=self._trusts(root) if is_new else None,
                settings=given if is_new or not self._can_ask() else None,
            )
        if self._can_ask():
            self._newest_question = next(self._questions)
            asking = self._keep(self._asking, self._ask(uris, self._newest_question))
            await asyncio.wait({asking}, timeout=self.wait_s)

    async def _ask(self, uris: Mapping[Path, str], number: int) -> None:
        items = [lsp.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in uris.values()]
        try:
            values = await self._server.workspace_configuration_async(lsp.ConfigurationParams(items=items))
        except JsonRpcException:
            return
        if number != self._newest_question or len(values) != len(items):
            return
        for root, value in zip(uris, values, strict=True):
            settings = self._checked(self._options.settings if value is None else value)
            if settings is None and value is None and root in self._with_settings:
                settings = {}  # the editor has removed its settings
            await self._say(root, settings=settings)

    async def _say(
        self, root: Path, *, is_trusted: bool | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        if settings is not None:
            self._with_settings.add(root)
        try:
            folders = await asyncio.shield(self._server.start_loading())
            session = await folders.hear(root, is_trusted=is_trusted, settings=settings)
        except PalimpsestError:
            return  # every request fails with it too, and reports it
        if session is not None:
            self._server.part(Notices).on_session(session)

    def _trusts(self, root: Path) -> bool | None:
        trust = self._options.trust
        return root in map(self._server.resolve, trust) if isinstance(trust, list) else trust

    def _checked(self, settings: Any) -> Mapping[str, Any] | None:
        """The settings unchanged; None, with a warning to the user, when they are no object. Lua's empty table arrives
        as a list."""
        if isinstance(settings, Mapping) or settings is None:
            return settings
        if settings == []:
            return {}
        self._server.warn(f"The editor's settings under `{SECTION}` must be an object. They stay as they were.")
        return None

    def _can_ask(self) -> bool:
        workspace = self._server.client_capabilities.workspace
        return workspace is not None and bool(workspace.configuration)

    def _follow(self, work: Coroutine[Any, Any, None]) -> None:
        self._keep(self.telling, work)

    def _keep(self, tasks: dict[asyncio.Task[None], None], work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        def end(task: asyncio.Task[None]) -> None:
            del tasks[task]
            if not task.cancelled() and (error := task.exception()) is not None:
                self._server.report_server_error(error, EditorConfiguration)

        task = asyncio.create_task(work)
        tasks[task] = None
        task.add_done_callback(end)
        return task
