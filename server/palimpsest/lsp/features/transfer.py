"""`conversation/export`, `conversation/import`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pygls.uris import to_fs_path

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_conversation
from palimpsest.services.conversation.transfer import Transfers
from palimpsest.wire.areas.transfer import ExportParams, ExportResult, ImportOutcome, ImportParams, ImportResult

_MAX_ANSWER_BYTES: Final = 16 << 20
"""A larger export must go to a file: both ends hold an answer in memory."""


async def export(ls: PalimpsestServer, params: ExportParams) -> ExportResult:
    session = await ls.session_of(params.conversation_id)
    transfers, conversation_id = Transfers(session.conversations), ConversationId(params.conversation_id)
    if params.path is not None:
        path = _absolute(params.path)
        done = await transfers.export_to(conversation_id, path, overwrites=bool(params.overwrite))
        return ExportResult(done.n_messages, done.size_bytes, path=str(path))
    done = await transfers.export(conversation_id)
    if done.size_bytes > _MAX_ANSWER_BYTES:
        raise InvalidRequest(
            f"This conversation is larger than {_MAX_ANSWER_BYTES >> 20} MiB. Export it to a file: give a path."
        )
    return ExportResult(done.n_messages, done.size_bytes, jsonl=done.text)


async def import_(ls: PalimpsestServer, params: ImportParams) -> ImportResult:
    session = await ls.session(params.folder_uri)
    transfers = Transfers(session.conversations)
    if params.path is not None and params.jsonl is None:
        done = await transfers.import_file(_absolute(params.path))
    elif params.jsonl is not None and params.path is None:
        done = await transfers.import_text(params.jsonl)
    else:
        raise InvalidRequest("Say what to import: either the path of a file, or its text as jsonl.")
    info = to_conversation(done.record, session.folder, None)
    return ImportResult(info, ImportOutcome(done.outcome.value), done.note)


def _absolute(path_or_uri: str) -> Path:
    found = to_fs_path(path_or_uri) if path_or_uri.startswith("file:") else path_or_uri
    path = Path(found or "")
    if not path.is_absolute() or "\0" in str(path):
        raise InvalidRequest("Name the file by an absolute path or a file: URI.")
    return path
