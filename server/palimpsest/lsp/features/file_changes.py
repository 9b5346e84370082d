"""`turn/changes`, `turn/changeTexts`, `turn/undoChanges`."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.taking_back import ChangeState
from palimpsest.lsp.features.parts.attachments import Attachments
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.tools.taking_back import ChangeNow, FileOutcome, Outcome
from palimpsest.wire.areas.file_changes import (
    FileChange,
    FileChangeKind,
    FileChangesParams,
    FileChangesResult,
    FileChangeState,
    FileChangeTexts,
    FileChangeTextsParams,
    UndoChangesParams,
    UndoChangesResult,
    UndoneFile,
    UndoOutcome,
)

_STATES: Final = {
    ChangeState.ASKED: FileChangeState.UNKNOWN,
    ChangeState.APPLIED: FileChangeState.APPLIED,
    ChangeState.TAKEN_BACK: FileChangeState.TAKEN_BACK,
}
_OUTCOMES: Final = {outcome: UndoOutcome[outcome.name] for outcome in Outcome}


async def changes(ls: PalimpsestServer, params: FileChangesParams) -> FileChangesResult:
    session = await ls.session_of(params.conversation_id)
    turn_id = None if params.turn_id is None else TurnId(params.turn_id)
    found = await session.folder.changes.listed(ConversationId(params.conversation_id), turn_id)
    return FileChangesResult([_to_change(session, each) for each in found])


async def texts(ls: PalimpsestServer, params: FileChangeTextsParams) -> FileChangeTexts:
    session = await ls.session_of(params.conversation_id)
    found = await session.folder.changes.texts(ConversationId(params.conversation_id), params.changes)
    return FileChangeTexts(found.path, found.after, found.before, found.now)


async def undo(ls: PalimpsestServer, params: UndoChangesParams) -> UndoChangesResult:
    session = await ls.session_of(params.conversation_id)
    done = await session.folder.changes.take_back(
        ConversationId(params.conversation_id),
        ls.part(Attachments).editor(session.folder.root),
        turn_id=None if params.turn_id is None else TurnId(params.turn_id),
        change_ids=params.changes,
        paths=params.paths,
    )
    return UndoChangesResult(to_files(done))


def to_files(outcomes: list[FileOutcome]) -> list[UndoneFile]:
    return [
        UndoneFile(each.path, list(each.change_ids), _OUTCOMES[each.outcome], each.problem or None) for each in outcomes
    ]


def _to_change(session: FolderSession, now: ChangeNow) -> FileChange:
    change = now.change
    return FileChange(
        id=change.id,
        turn_id=change.turn_id,
        path=change.path,
        uri=(session.folder.root / change.path).as_uri(),
        kind=FileChangeKind.CREATED if change.before is None else FileChangeKind.CHANGED,
        added=change.n_added,
        removed=change.n_removed,
        state=_STATES[now.state],
        can_take_back=now.problem is None and now.state is not ChangeState.TAKEN_BACK,
        at=change.asked_at,
        reason=now.problem,
    )
