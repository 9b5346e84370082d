"""The Palimpsest server: one connection with an editor, and its parts.

When `initialize` is answered, only pygls, the protocol and the parts are loaded. Handlers, services, storage and
tokenizers are loaded right after it, on a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from palimpsest.__about__ import __version__
from palimpsest.lsp import features
from palimpsest.lsp.abilities import pulls_diagnostics
from palimpsest.lsp.features.feature import Feature
from palimpsest.lsp.features.parts.attachments import Attachments
from palimpsest.lsp.features.parts.changes import Changes
from palimpsest.lsp.features.parts.configuration import EditorConfiguration
from palimpsest.lsp.features.parts.fact_notes import FactNotes
from palimpsest.lsp.features.parts.mcp_news import McpNews
from palimpsest.lsp.features.parts.mentions import KnownMentions
from palimpsest.lsp.features.parts.notices import Notices
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.features.parts.offers import Offers
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.features.parts.opening import OpeningProgress
from palimpsest.lsp.features.parts.sharing_news import SharingNews
from palimpsest.lsp.runtime.phase import Phase
from palimpsest.lsp.workspace import WorkspaceServer
from palimpsest.machine.extras import missing_in
from palimpsest.wire.areas.lifecycle import ExtraMissingParams
from palimpsest.wire.version import PROTOCOL_VERSION

if TYPE_CHECKING:
    from palimpsest.services.folder.folders import Folders

PARTS: Final[tuple[type[Feature], ...]] = (
    Notices,
    KnownMentions,
    OpenChats,
    FactNotes,
    Offers,
    OfferedModels,
    Attachments,
    EditorConfiguration,
    Changes,
    SharingNews,
    McpNews,
    OpeningProgress,
)
"""The order in which hooks are called; parts are stopped in the reverse order. The open chats stop nearly last, because
they wait for turns that only this connection follows."""


class PalimpsestServer(WorkspaceServer):
    """One connection with one editor."""

    def __init__(self, load_folders: Callable[[], Folders], *, owns_folders: bool) -> None:
        """See `WorkspaceServer`."""
        super().__init__("palimpsest", __version__, load_folders, owns_folders=owns_folders)
        self.editor_name = ""
        """The name in the editor's `clientInfo`; empty when it gave none."""
        self.edits_unannounced: bool | None = None
        """Whether an editor that has not announced `workspace/applyEdit` edits documents all the same, as some do. None
        until its user asks for an edit; False when it did not make one."""
        self.features = tuple(part(self) for part in PARTS)

    def complete(self, capabilities: lsp.ServerCapabilities) -> None:
        """Announces this protocol, and diagnostics to pull where they are not pushed."""
        capabilities.experimental = {"palimpsest": {"version": PROTOCOL_VERSION}}
        if not pulls_diagnostics(self):
            capabilities.diagnostic_provider = None
        if isinstance(sync := capabilities.text_document_sync, lsp.TextDocumentSyncOptions):
            sync.will_save = sync.will_save_wait_until = (
                None  # pygls says no where an editor can, and nothing elsewhere
            )

    @property
    def is_leaving(self) -> bool:
        """Whether the connection is ending, as opposed to one request being cancelled."""
        return self.exit_code is not None or self.protocol.phase is Phase.SHUT_DOWN

    @property
    def hears_changes(self) -> bool:
        """Whether the editor takes our notifications. Other editors treat each as an unknown message, and some show a
        warning every time."""
        return self._announces("notifications")

    @property
    def offers_set_up(self) -> bool:
        """Whether the editor itself tells its user that no model is set up, where the answer stands."""
        return self._announces("setUp")

    @property
    def shows_drafts(self) -> bool:
        """Whether the editor itself shows the draft that a command makes, as a chat panel does."""
        return self._announces("drafts")

    @property
    def takes_digests(self) -> bool:
        """Whether the editor changes files that it has not opened, and compares their texts first."""
        return self._announces("digests")

    def _announces(self, what: str) -> bool:
        experimental = self.client_capabilities.experimental
        ours = experimental.get("palimpsest") if isinstance(experimental, dict) else None
        return isinstance(ours, dict) and ours.get(what) is True

    def warn(self, sentence: str) -> None:
        """Shows the user a warning: nothing failed, but something may not be as they want it. An editor that installs
        extras of the server is told which one is missing."""
        extra = missing_in(sentence)
        if extra is not None and self._announces("extras"):
            self.protocol.notify("palimpsest/extraMissing", ExtraMissingParams(extra.value, sentence))
        else:
            self.window_show_message(lsp.ShowMessageParams(type=lsp.MessageType.Warning, message=sentence))


def _initialize(ls: PalimpsestServer, params: lsp.InitializeParams) -> None:
    ls.editor_name = "" if params.client_info is None else params.client_info.name
    ls.part(EditorConfiguration).read_options(params.initialization_options)
    workspace = ls.workspace
    if (
        not workspace.folders and workspace.root_uri
    ):  # this folder is like any other: more folders may come, and this one may go
        workspace.add_folder(lsp.WorkspaceFolder(workspace.root_uri, workspace.root_uri.rpartition("/")[2]))


def _initialized(ls: PalimpsestServer, _params: lsp.InitializedParams) -> None:
    ls.start_loading()
    ls.part(EditorConfiguration).begin()


def build_server(load_folders: Callable[[], Folders], *, owns_folders: bool) -> PalimpsestServer:
    """A server with every handler registered."""
    server = PalimpsestServer(load_folders, owns_folders=owns_folders)
    server.feature(lsp.INITIALIZE)(_initialize)
    server.feature(lsp.INITIALIZED)(_initialized)
    features.register(server)
    return server
