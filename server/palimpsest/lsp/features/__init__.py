"""The methods and commands of the server, and the functions that answer them.

`HANDLERS` is the only list. pygls computes the server's capabilities from it, so it is read before `initialize` is
answered; the modules that it names are not. Each module is imported at the first use of one of its functions, or by
`load`.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp

from palimpsest.domain.command_names import CommandName
from palimpsest.domain.errors import NO_HANDLES, StoreError, is_out_of_handles
from palimpsest.lsp.errors import answers, to_rpc

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer

Handler = Callable[..., Any]

HANDLERS: Final[dict[str, str]] = {
    # Our requests and notifications.
    "palimpsest/adoption/list": "adoption:list_left",
    "palimpsest/adoption/resolve": "adoption:resolve",
    "palimpsest/approval/list": "tools:list_approvals",
    "palimpsest/approval/revoke": "tools:revoke_approval",
    "palimpsest/attachments/estimate": "attachments:estimate",
    "palimpsest/chat": "chat:chat",
    "palimpsest/command/run": "commands:run",
    "palimpsest/conversation/archive": "history:archive",
    "palimpsest/conversation/create": "conversations:create",
    "palimpsest/conversation/export": "transfer:export",
    "palimpsest/conversation/fork": "history:fork",
    "palimpsest/conversation/import": "transfer:import_",
    "palimpsest/conversation/layout": "history:set_layout",
    "palimpsest/conversation/list": "conversations:list_all",
    "palimpsest/conversation/listShared": "sharing:list_shared",
    "palimpsest/conversation/members": "sharing:members",
    "palimpsest/conversation/openShared": "sharing:open_shared",
    "palimpsest/conversation/purge": "purge:purge",
    "palimpsest/conversation/purge/plan": "purge:plan",
    "palimpsest/conversation/picture": "conversations:picture",
    "palimpsest/conversation/read": "conversations:read",
    "palimpsest/conversation/rename": "history:rename",
    "palimpsest/conversation/rollback": "history:rollback",
    "palimpsest/conversation/search": "search:search",
    "palimpsest/conversation/share": "sharing:share",
    "palimpsest/conversation/unshare": "sharing:unshare",
    "palimpsest/credentials/check": "credentials:check",
    "palimpsest/credentials/list": "credentials:list_services",
    "palimpsest/credentials/set": "credentials:set_credentials",
    "palimpsest/didChangeEditorModels": "editor_models:did_change_editor_models",
    "palimpsest/didChangeTrust": "configuration:did_change_trust",
    "palimpsest/draft/set": "history:set_draft",
    "palimpsest/editorModel/delta": "editor_models:hear_delta",
    "palimpsest/facts/forget": "facts.requests:forget_fact",
    "palimpsest/facts/forgotten": "facts.requests:list_forgotten",
    "palimpsest/facts/list": "facts.requests:list_facts",
    "palimpsest/facts/pin": "facts.requests:pin_fact",
    "palimpsest/facts/restore": "facts.requests:restore_fact",
    "palimpsest/facts/share": "facts.sharing:share_facts",
    "palimpsest/facts/search": "facts.requests:search_facts",
    "palimpsest/facts/unshare": "facts.sharing:unshare_facts",
    "palimpsest/facts/update": "facts.requests:update_fact",
    "palimpsest/facts/verify": "facts.requests:verify_fact",
    "palimpsest/hub/status": "sharing:status",
    "palimpsest/costs": "costs:costs",
    "palimpsest/rules/list": "rules:list_rules",
    "palimpsest/rules/pin": "rules:pin",
    "palimpsest/rules/withdraw": "rules:withdraw",
    "palimpsest/mcp/approve": "mcp:approve",
    "palimpsest/mcp/restart": "mcp:restart",
    "palimpsest/mcp/servers": "mcp:list_servers",
    "palimpsest/mentions/complete": "commands:complete",
    "palimpsest/model/list": "models:list_models",
    "palimpsest/model/status": "models:status",
    "palimpsest/model/switch": "models:switch",
    "palimpsest/prepareContext": "context:prepare_context",
    "palimpsest/context/at": "context:context_at",
    "palimpsest/recovery/list": "recovery:list_broken",
    "palimpsest/recovery/resolve": "recovery:resolve",
    "palimpsest/stats": "context:stats",
    "palimpsest/summarize": "context:summarize",
    "palimpsest/summary/expand": "history:expand",
    "palimpsest/summary/list": "context:list_summaries",
    "palimpsest/summary/redo": "history:redo",
    "palimpsest/summary/regenerate": "history:regenerate",
    "palimpsest/summary/undo": "history:undo",
    "palimpsest/tools/register": "tools:register_tools",
    "palimpsest/turn/attach": "chat:attach",
    "palimpsest/turn/cancel": "chat:cancel",
    "palimpsest/turn/changes": "file_changes:changes",
    "palimpsest/turn/changeTexts": "file_changes:texts",
    "palimpsest/turn/retryNow": "chat:retry_now",
    "palimpsest/turn/continue": "recovery:go_on",
    "palimpsest/turn/retry": "recovery:retry",
    "palimpsest/turn/undoChanges": "file_changes:undo",
    "palimpsest/usage": "context:usage",
    # Requests and notifications of the standard.
    lsp.TEXT_DOCUMENT_CODE_ACTION: "contributions:code_actions",
    lsp.TEXT_DOCUMENT_CODE_LENS: "contributions:code_lenses",
    lsp.TEXT_DOCUMENT_COMPLETION: "chat_documents.shown:complete",
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: "contributions:pull",
    lsp.TEXT_DOCUMENT_DID_CHANGE: "documents:did_change",
    lsp.TEXT_DOCUMENT_DID_CLOSE: "documents:did_close",
    lsp.TEXT_DOCUMENT_DID_OPEN: "documents:did_open",
    lsp.TEXT_DOCUMENT_DID_SAVE: "documents:did_save",
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: "chat_documents.shown:folding",
    lsp.TEXT_DOCUMENT_HOVER: "contributions:hover",
    lsp.WORKSPACE_DIAGNOSTIC: "contributions:pull_all",
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: "configuration:did_change_configuration",
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: "documents:did_change_watched_files",
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: "configuration:did_change_workspace_folders",
    lsp.WORKSPACE_DID_RENAME_FILES: "documents:did_rename_files",
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: "facts.actions:facts_document",
    # Commands of `workspace/executeCommand`. A purge by slash command is missing: `palimpsest.conversation.purge` asks
    # first.
    "palimpsest.adoption.list": "request_commands:list_left",
    "palimpsest.adoption.resolve": "request_commands:resolve_left",
    "palimpsest.approval.list": "request_commands:list_approvals",
    "palimpsest.approval.revoke": "confirmed_commands:revoke_approval",
    "palimpsest.chat.expand": "chat_documents.commands:expand",
    "palimpsest.chat.fork": "chat_documents.commands:fork",
    "palimpsest.chat.open": "chat_documents.commands:open_",
    "palimpsest.chat.send": "chat_documents.commands:send",
    "palimpsest.chat.show": "chat_documents.commands:show",
    "palimpsest.chat.stop": "chat_documents.commands:stop",
    "palimpsest.code.ask": "code:ask",
    "palimpsest.code.explain": "code:explain",
    "palimpsest.code.fix": "code:fix",
    "palimpsest.code.tests": "code:tests",
    "palimpsest.command.run": "commands:run_text",
    "palimpsest.conversation.archive": "request_commands:archive",
    "palimpsest.conversation.import": "request_commands:import_",
    "palimpsest.conversation.list": "request_commands:list_conversations",
    "palimpsest.conversation.purge": "confirmed_commands:purge",
    "palimpsest.credentials.list": "request_commands:list_services",
    "palimpsest.credentials.set": "confirmed_commands:set_credentials",
    "palimpsest.fact.ask": "facts.actions:ask",
    "palimpsest.fact.forget": "facts.actions:forget",
    "palimpsest.fact.pin": "facts.actions:pin",
    "palimpsest.fact.unpin": "facts.actions:unpin",
    "palimpsest.fact.restore": "facts.actions:restore",
    "palimpsest.fact.update": "facts.actions:update",
    "palimpsest.fact.verify": "facts.actions:verify",
    "palimpsest.facts.show": "facts.actions:show_facts",
    **{f"palimpsest.command.{each}": f"commands:slash.{each}" for each in CommandName if each is not CommandName.PURGE},
}
"""`module:function` by method or command: a module of this package, and the function's place in it. The name of a
method has a slash, that of a command has none."""

FACTS_SCHEME: Final = "palimpsest-facts"
"""The scheme of the document that lists a folder's facts: `palimpsest-facts:/facts.md?FOLDER-URI`."""
SOURCE: Final = "palimpsest"
"""The source of our diagnostics."""
_OPTIONS: Final[dict[str, Any]] = {
    lsp.TEXT_DOCUMENT_CODE_ACTION: lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, "palimpsest"]),
    lsp.TEXT_DOCUMENT_CODE_LENS: lsp.CodeLensOptions(resolve_provider=False),
    lsp.TEXT_DOCUMENT_COMPLETION: lsp.CompletionOptions(trigger_characters=["/", "@"]),
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: lsp.DiagnosticOptions(
        inter_file_dependencies=False, workspace_diagnostics=True, identifier=SOURCE
    ),
    lsp.WORKSPACE_DID_RENAME_FILES: lsp.FileOperationRegistrationOptions(
        [lsp.FileOperationFilter(lsp.FileOperationPattern("**"), "file")]
    ),
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: lsp.TextDocumentContentOptions([FACTS_SCHEME]),
}
"""The options of methods in the server's capabilities."""

_found: dict[str, Handler] = {}
"""The functions that were imported already, by target. All connections share it; any thread may add to it."""


def load() -> None:
    """Imports every module in the table. Call it on a thread."""
    for target in HANDLERS.values():
        find(target)


def find(target: str) -> Handler:
    """The function of a target, its module imported. Raises StoreError when no file handle is left to read the module;
    a later call may succeed."""
    found = _found.get(target)
    if found is None:
        module, _, name = target.partition(":")
        try:
            found = attrgetter(name)(importlib.import_module(f"{__name__}.{module}"))
        except OSError as error:
            if is_out_of_handles(error):
                raise StoreError(NO_HANDLES) from error
            raise
        _found[target] = found
    return found


def register(server: PalimpsestServer) -> None:
    """Registers every method and command with pygls."""
    for name, target in HANDLERS.items():
        if "/" in name:
            server.feature(name, _OPTIONS.get(name))(_method(name, target))
        else:
            server.command(name)(_command(target))


def _method(name: str, target: str) -> Handler:
    """A handler that looks up what its method is when a message comes: our own methods are not declared before
    `initialize` is answered."""
    request, notification = _request(target), _notification(target)

    def take(ls: PalimpsestServer, params: Any) -> Any:
        known = ls.protocol.methods.find(name)
        is_request = known is not None and known.is_request
        return request(ls, params) if is_request else notification(ls, params)

    return take


def _request(target: str) -> Handler:
    """A handler that imports its module on a thread, so that other messages are taken meanwhile."""

    @answers
    async def answer(ls: PalimpsestServer, params: Any) -> Any:
        function = _found.get(target)
        if function is None:
            function = await asyncio.to_thread(find, target)
        return await function(ls, params)

    return answer


def _notification(target: str) -> Handler:
    """A handler that runs before the next message is read. Its module is small, or imported at the start."""

    def hear(ls: PalimpsestServer, params: Any) -> Any:
        return find(target)(ls, params)

    return hear


def _command(target: str) -> Handler:
    """A command that begins before the next message is read: it may depend on a document's current text."""

    def begin(ls: Any, *arguments: Any) -> Any:  # pygls reads these annotations to call the command
        try:
            function = find(target)
        except StoreError as error:
            raise to_rpc(error) from error
        return function(ls, *arguments)

    return begin
