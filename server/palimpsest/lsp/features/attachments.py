"""`attachments/estimate`, and the attachments of a `chat`."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final, TypeVar, assert_never

from lsprotocol import types as lsp

from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.features.folder_editor import FolderEditor
from palimpsest.lsp.features.parts.attachments import Attachments
from palimpsest.lsp.questions import CannotAsk, ask_user
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.chat import attachments as service
from palimpsest.services.chat.attachments import (
    FileAttachment,
    OpenEditorsAttachment,
    PictureAttachment,
    Problem,
    ProblemsAttachment,
    Said,
    SelectionAttachment,
    estimate_tokens,
    take_snapshots,
    user_content,
    window_of,
)
from palimpsest.services.chat.mentioned import Mentioning, mentioned
from palimpsest.services.chat.pages import Pages
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.pictures import MAX_BYTES
from palimpsest.services.workspace.texts import WorkspaceTexts
from palimpsest.wire.areas.attachments import (
    AttachedDiagnostic,
    Attachment,
    AttachmentEstimate,
    AttachmentType,
    EstimateAttachmentsParams,
    EstimateAttachmentsResult,
)

T = TypeVar("T")
_FETCH: Final = "Fetch"


async def estimate(ls: PalimpsestServer, params: EstimateAttachmentsParams) -> EstimateAttachmentsResult:
    conversation_id = None if params.conversation_id is None else ConversationId(params.conversation_id)
    if conversation_id is None:
        session = await ls.session(params.folder_uri)
    else:
        session = await ls.session_of(conversation_id)
    snapshots = await snapshots_of(ls, session, params.attachments)
    tokens = await estimate_tokens(session.contexts, conversation_id, snapshots)
    return EstimateAttachmentsResult(
        [
            AttachmentEstimate(each.label, n_tokens, each.problem, list(each.left_out) or None)
            for each, n_tokens in zip(snapshots, tokens, strict=True)
        ],
        sum(tokens),
    )


async def snapshots_of(
    ls: PalimpsestServer, session: FolderSession, wanted: Sequence[Attachment]
) -> list[service.Snapshot]:
    """Snapshots of the attachments as they are now."""
    return await take_snapshots(texts_of(ls, session), [_to_attachment(ls, session, each) for each in wanted])


async def content_of(
    ls: PalimpsestServer,
    session: FolderSession,
    to: ConversationId | ConversationRecord,
    text: str,
    wanted: Sequence[Attachment] = (),
) -> Said:
    """The user's message with its attachments and what it mentions. Raises InvalidRequest. `to`: a conversation, or
    the record of one that the message stores."""
    known, conversation_id = (to, to) if isinstance(to, str) else (None, to.id)
    attached = await snapshots_of(ls, session, wanted) if wanted else []
    window = await window_of(session.contexts, known)

    async def ask(question: str) -> bool:
        try:
            return await ask_user(ls, question, (_FETCH, "Cancel")) == _FETCH
        except CannotAsk:
            return False

    pages = Pages(session.folder, session.settings.web, conversation_id, ask)
    editor = ls.part(Attachments).editor(session.folder.root)
    found = await mentioned(Mentioning(session.folder, texts_of(ls, session), text, attached, window, pages, editor))
    said = user_content(text, [*attached, *found.snapshots])
    for remark in found.remarks:
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, remark))
    return said


def texts_of(ls: PalimpsestServer, session: FolderSession) -> WorkspaceTexts:
    """The files of a folder as its editors hold them. A document that is open in several counts as in the one that
    sends the request."""
    held = {**session.folder.editors.texts(), **FolderEditor(ls, session.folder.root).texts()}
    return WorkspaceTexts(WorkspaceFiles(session.folder.root), held)


def _to_attachment(ls: PalimpsestServer, session: FolderSession, wanted: Attachment) -> service.Attachment:
    """The attachment for the service. Raises InvalidRequest when a field is missing that its type needs."""
    path = None if wanted.path is None else _path_below(ls, session, wanted.path)
    match wanted.type:
        case AttachmentType.FILE:
            return FileAttachment(_needed(path, wanted, "path"))
        case AttachmentType.RANGE:
            first = _needed(wanted.start_line, wanted, "startLine")
            return FileAttachment(_needed(path, wanted, "path"), first, wanted.end_line)
        case AttachmentType.SELECTION:
            text = _needed(wanted.text, wanted, "text")
            return SelectionAttachment(path, wanted.start_line, wanted.end_line, text)
        case AttachmentType.DIAGNOSTICS:
            problems = _needed(wanted.diagnostics, wanted, "diagnostics")
            return ProblemsAttachment(tuple(_to_problem(ls, session, each) for each in problems))
        case AttachmentType.IMAGE:
            return PictureAttachment(wanted.name or "picture", _bytes(_needed(wanted.data, wanted, "data")))
        case AttachmentType.OPEN_EDITORS:
            paths = tuple(_path_below(ls, session, each) for each in _needed(wanted.paths, wanted, "paths"))
            return OpenEditorsAttachment(paths, has_contents=bool(wanted.contents))
        case _:
            assert_never(wanted.type)


def _to_problem(ls: PalimpsestServer, session: FolderSession, given: AttachedDiagnostic) -> service.Problem:
    path = _path_below(ls, session, given.path)
    return Problem(path, given.line, given.severity, given.message, given.source, given.code)


def _bytes(data: str) -> bytes:
    if len(data) > 2 * MAX_BYTES:
        raise InvalidRequest(f"A picture may have at most {MAX_BYTES:,} bytes. Attach a smaller one.")
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        raise InvalidRequest("The data of the picture is no base64, so it is not attached.") from None


def _needed(value: T | None, wanted: Attachment, name: str) -> T:
    if value is None:
        raise InvalidRequest(f"An attachment of type {wanted.type.value} needs the field {name}.")
    return value


def _path_below(ls: PalimpsestServer, session: FolderSession, written: str) -> str:
    """The path below the workspace folder, links resolved, for a URI of a file in it; else the text as written, or an
    absolute path."""
    found = ls.resolve(written) if written.startswith("file:") else None
    if found is None:
        return written
    root = session.folder.root
    return found.relative_to(root).as_posix() if found.is_relative_to(root) else str(found)
