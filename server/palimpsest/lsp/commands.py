"""`mentions/complete`, `command/run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.errors import answers
from palimpsest.wire.commands import (
    CompleteMentionsParams,
    CompleteMentionsResult,
    MentionItem,
    MentionKind,
    RunCommandParams,
    RunCommandResult,
)

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folders import FolderSession
    from palimpsest.services.mentions import Mentions


def register(server: PalimpsestServer) -> None:
    known: dict[Path, Mentions] = {}

    @answers
    async def complete(ls: PalimpsestServer, params: CompleteMentionsParams) -> CompleteMentionsResult:
        session = await _session(ls, params.conversation_id, params.folder_uri)
        from palimpsest.services.mentions import Mentions
        from palimpsest.services.workspace_files import WorkspaceFiles

        if session.root not in known:
            known[session.root] = Mentions(WorkspaceFiles(session.root))
        found = await known[session.root].complete(params.text, _to_characters(params.text, params.position))
        return CompleteMentionsResult(
            start=_n_units(params.text[: found.start]),
            items=[
                MentionItem(MentionKind(item.kind.value), item.label, item.insert_text, item.detail, item.path)
                for item in found.items
            ],
            is_incomplete=found.is_incomplete,
        )

    server.feature("palimpsest/mentions/complete")(complete)
    server.feature("palimpsest/command/run")(run)


@answers
async def run(ls: PalimpsestServer, params: RunCommandParams) -> RunCommandResult:
    session = await _session(ls, params.conversation_id, params.folder_uri)
    from palimpsest.services.commanding import Commanding

    conversation_id = None if params.conversation_id is None else ConversationId(params.conversation_id)
    reply = await Commanding(session, conversation_id, ls.editor_models.id).run(params.text)
    return RunCommandResult(reply.text, reply.conversation_id)


async def _session(ls: PalimpsestServer, conversation_id: str | None, folder_uri: str | None) -> FolderSession:
    return await ls.session(folder_uri) if conversation_id is None else await ls.session_of(conversation_id)


def _to_characters(text: str, n_units: int) -> int:
    """The number of characters that `n_units` UTF-16 code units of the text are; 0 and the end are its limits."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * max(n_units, 0)].decode("utf-16-le", "ignore"))


def _n_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
