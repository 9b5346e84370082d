"""`mentions/complete`, `command/run`, and each slash command as a command of `workspace/executeCommand`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, Final

from lsprotocol import types as lsp

from palimpsest.domain.command_names import CommandName
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.errors import answers
from palimpsest.lsp.features.mentions import mentions_of
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Scope
from palimpsest.services.folder.session import FolderSession
from palimpsest.wire.areas.commands import (
    CompleteMentionsParams,
    CompleteMentionsResult,
    MentionItem,
    MentionKind,
    RunCommandParams,
    RunCommandResult,
)


async def complete(ls: PalimpsestServer, params: CompleteMentionsParams) -> CompleteMentionsResult:
    session = await _session(ls, params.conversation_id, params.folder_uri)
    mentions = mentions_of(ls, session.folder.root)
    found = await mentions.complete(params.text, _to_characters(params.text, params.position), session.folder)
    return CompleteMentionsResult(
        start=_n_units(params.text[: found.start]),
        items=[
            MentionItem(MentionKind(item.kind.value), item.label, item.insert_text, item.detail, item.path)
            for item in found.items
        ],
        is_incomplete=found.is_incomplete,
    )


async def run(ls: PalimpsestServer, params: RunCommandParams) -> RunCommandResult:
    await (await ls.folders()).look_for_keys()
    session = await _session(ls, params.conversation_id, params.folder_uri)
    conversation_id = None if params.conversation_id is None else ConversationId(params.conversation_id)
    reply = await run_command(Scope(session, conversation_id, ls.part(OfferedModels).id), params.text)
    return RunCommandResult(reply.text, reply.conversation_id, reply.turn_id, reply.draft or None)


def _executed(what: str, to_text: Callable[[str], str]) -> Callable[..., Awaitable[Any]]:
    """A slash command for editors that chat in a document, or by a key or a menu. `what`: the field of the argument of
    which `to_text` makes the command as it is typed."""

    @answers
    async def execute(ls: Any, *arguments: Any) -> Any:  # pygls reads these annotations to call the command
        given = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], dict) else {}
        texts = {key: given[key] for key in (what, "conversationId", "uri", "folderUri") if given.get(key)}
        if len(arguments) > 1 or not all(isinstance(each, str) for each in texts.values()):
            raise InvalidRequest(
                f"The command takes one argument: {{{what}, conversationId, uri, folderUri}}, all texts."
            )
        text = to_text(texts.get(what, ""))
        if "uri" in texts:
            await ls.folders()
            return await (await ls.part(OpenChats).get(texts["uri"])).run(text)
        params = RunCommandParams(text, texts.get("conversationId"), texts.get("folderUri"))
        done = await run(ls, params)
        if not ls.hears_changes:  # an editor without our notifications shows no answer of a command
            ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, done.text))
        answer = {"text": done.text, "conversationId": done.conversation_id, "turnId": done.turn_id}
        return answer | ({} if done.draft is None else {"draft": done.draft})

    return execute


def _slash(name: CommandName) -> Callable[..., Awaitable[Any]]:
    return _executed("argument", lambda argument: f"/{name} {argument}".rstrip())


slash: Final = SimpleNamespace(**{name: _slash(name) for name in CommandName})
"""Each slash command as a function, by its name."""
run_text: Final = _executed("text", str)
"""Any command, also one of the user's own, and the prompts of MCP servers."""


async def _session(ls: PalimpsestServer, conversation_id: str | None, folder_uri: str | None) -> FolderSession:
    return await ls.session(folder_uri) if conversation_id is None else await ls.session_of(conversation_id)


def _to_characters(text: str, n_units: int) -> int:
    """The number of characters in the first `n_units` UTF-16 code units of the text, clamped to the text."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * max(n_units, 0)].decode("utf-16-le", "ignore"))


def _n_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
