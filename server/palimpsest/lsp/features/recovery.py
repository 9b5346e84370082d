"""`turn/continue`, `turn/retry`, `recovery/list`, `recovery/resolve`."""

from __future__ import annotations

import attrs

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.turns.recovery import BatchCall, Rerun, Resolution
from palimpsest.lsp.features.chat import follow_to_the_end, result_of
from palimpsest.lsp.features.file_changes import to_files
from palimpsest.lsp.features.parts.attachments import Attachments
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.progress import Token
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.turns import recovery as services
from palimpsest.services.turns.recovery import MAX_SHOWN, Hides, Recovery
from palimpsest.wire.areas.file_changes import UndoneFile
from palimpsest.wire.areas.recovery import (
    AnswerBreak,
    BrokenAnswer,
    CallFate,
    GoOnParams,
    ListRecoveryParams,
    ListRecoveryResult,
    OpenToolCall,
    ResolveParams,
)
from palimpsest.wire.areas.turns import ChatResult


async def go_on(ls: PalimpsestServer, params: GoOnParams) -> ChatResult:
    meant = await _meant(ls, params)
    return await _rerun(ls, meant, Resolution.CONTINUE, params.partial_result_token, params.work_done_token)


async def retry(ls: PalimpsestServer, params: GoOnParams) -> ChatResult:
    meant = await _meant(ls, params)
    files = await _taken_back(ls, meant, Resolution.RETRY) if params.take_back_changes else None
    done = await _rerun(ls, meant, Resolution.RETRY, params.partial_result_token, params.work_done_token)
    return attrs.evolve(done, files=files)


async def _taken_back(
    ls: PalimpsestServer, meant: tuple[FolderSession, TurnId, ConversationId], choice: Hides
) -> list[UndoneFile]:
    """What became of the files that the answer edited, before it is hidden."""
    session, turn_id, conversation_id = meant
    start = await Recovery(session.turns).first_hidden_by(turn_id, choice)
    if start is None:
        return []
    editor = ls.part(Attachments).editor(session.folder.root)
    return to_files(await session.folder.changes.take_back_range(conversation_id, start, None, editor))


async def _meant(ls: PalimpsestServer, params: GoOnParams) -> tuple[FolderSession, TurnId, ConversationId]:
    """The turn to continue, and its session. Raises InvalidRequest when the request names none and the conversation has
    none."""
    if params.turn_id is not None:
        return await _of_turn(await ls.session_of_turn(params.turn_id), TurnId(params.turn_id))
    if params.conversation_id is None:
        raise InvalidRequest(
            "Name a turn by `turnId`, or by `conversationId` the conversation whose last turn is meant."
        )
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    return session, await Recovery(session.turns).last_turn(conversation_id), conversation_id


async def _of_turn(session: FolderSession, turn_id: TurnId) -> tuple[FolderSession, TurnId, ConversationId]:
    return session, turn_id, (await session.conversations.outcome(turn_id)).turn.conversation_id


async def list_broken(ls: PalimpsestServer, params: ListRecoveryParams) -> ListRecoveryResult:
    uris = [root.as_uri() for root in ls.roots()] if params.folder_uri is None else [params.folder_uri]
    sessions = [await ls.session(uri) for uri in uris]
    return ListRecoveryResult(
        [_to_broken(each) for session in sessions for each in await Recovery(session.turns).unresolved()]
    )


async def resolve(ls: PalimpsestServer, params: ResolveParams) -> ChatResult:
    session = await ls.session_of_turn(params.turn_id)
    choice = Resolution(params.action.value)
    turn_id, files = TurnId(params.turn_id), None
    meant = await _of_turn(session, turn_id)
    if params.take_back_changes and (choice is Resolution.RETRY or choice is Resolution.DISCARD):
        files = await _taken_back(ls, meant, choice)
    if choice is Resolution.CONTINUE or choice is Resolution.RETRY:
        done = await _rerun(ls, meant, choice, params.partial_result_token, params.work_done_token)
    else:
        await Recovery(session.turns).resolve(turn_id, choice, "turn" if params.as_draft else "answer")
        done = await result_of(session, await session.conversations.outcome(turn_id), None)
    return attrs.evolve(done, files=files)


async def _rerun(
    ls: PalimpsestServer,
    meant: tuple[FolderSession, TurnId, ConversationId],
    how: Rerun,
    token: Token | None,
    work_done: Token | None,
) -> ChatResult:
    session, turn_id, conversation_id = meant
    starting = session.turns.go_on(turn_id, how, conversation_id, ls.part(OfferedModels).id)
    return await follow_to_the_end(ls, session, conversation_id, starting, token, work_done)


def _to_broken(broken: services.BrokenAnswer) -> BrokenAnswer:
    turn = broken.turn
    return BrokenAnswer(
        conversation_id=turn.conversation_id,
        title=broken.title,
        turn_id=turn.id,
        user_message_id=turn.user_message_id,
        class_=AnswerBreak(broken.how.value),
        text=broken.text,
        text_length=broken.n_characters,
        last_seq=turn.last_seq,
        model=turn.model,
        ended_at=broken.ended_at,
        error_kind=None if turn.error_kind is None else turn.error_kind.value,
        error_message=turn.error_message,
        tool_batch=[_to_call(each) for each in broken.batch] or None,
    )


def _to_call(call: BatchCall) -> OpenToolCall:
    fate = CallFate[call.fate.name]
    return OpenToolCall(
        call.call.call_id,
        call.call.name,
        call.call.arguments[:MAX_SHOWN],
        fate,
        call.result.text[:MAX_SHOWN] if fate is CallFate.FINISHED else None,
    )
