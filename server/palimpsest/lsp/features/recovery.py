"""`turn/continue`, `turn/retry`, `recovery/list`, `recovery/resolve`, and offering them when a folder is opened."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.lsp.errors import answers
from palimpsest.lsp.features.chat import follow_to_the_end, result_of
from palimpsest.wire.areas.recovery import (
    AnswerBreak,
    BrokenAnswer,
    CallFate,
    GoOnParams,
    ListRecoveryParams,
    ListRecoveryResult,
    OpenToolCall,
    RecoveryAction,
    ResolveParams,
)
from palimpsest.wire.areas.turns import ChatResult
from palimpsest.wording import counted

if TYPE_CHECKING:
    from palimpsest.domain.turns.recovery import BatchCall, Rerun
    from palimpsest.lsp.progress import Token
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.session import FolderSession
    from palimpsest.services.turns import recovery as services

log = logging.getLogger(__name__)

_CHOICES: Final = {
    "Continue": RecoveryAction.CONTINUE,
    "Keep": RecoveryAction.KEEP,
    "Discard": RecoveryAction.DISCARD,
    "Retry": RecoveryAction.RETRY,
}


def register(server: PalimpsestServer) -> None:
    server.feature("palimpsest/turn/continue")(go_on)
    server.feature("palimpsest/turn/retry")(retry)
    server.feature("palimpsest/recovery/list")(list_broken)
    server.feature("palimpsest/recovery/resolve")(resolve)


@answers
async def go_on(ls: PalimpsestServer, params: GoOnParams) -> ChatResult:
    meant = await _meant(ls, params)
    from palimpsest.domain.turns.recovery import Resolution

    return await _rerun(ls, meant, Resolution.CONTINUE, params.partial_result_token, params.work_done_token)


@answers
async def retry(ls: PalimpsestServer, params: GoOnParams) -> ChatResult:
    meant = await _meant(ls, params)
    from palimpsest.domain.turns.recovery import Resolution

    return await _rerun(ls, meant, Resolution.RETRY, params.partial_result_token, params.work_done_token)


async def _meant(ls: PalimpsestServer, params: GoOnParams) -> tuple[FolderSession, TurnId, ConversationId]:
    """The turn to go on from, and where. Raises InvalidRequest where none is named, or nothing was said yet."""
    if params.turn_id is not None:
        return await _of_turn(await ls.session_of_turn(params.turn_id), TurnId(params.turn_id))
    if params.conversation_id is None:
        raise InvalidRequest("Say which turn, by `turnId`, or which conversation's last one, by `conversationId`.")
    session = await ls.session_of(params.conversation_id)
    from palimpsest.services.turns.recovery import Recovery

    conversation_id = ConversationId(params.conversation_id)
    return session, await Recovery(session.turns).last_turn(conversation_id), conversation_id


async def _of_turn(session: FolderSession, turn_id: TurnId) -> tuple[FolderSession, TurnId, ConversationId]:
    return session, turn_id, (await session.conversations.outcome(turn_id)).turn.conversation_id


@answers
async def list_broken(ls: PalimpsestServer, params: ListRecoveryParams) -> ListRecoveryResult:
    uris = [root.as_uri() for root in ls.roots()] if params.folder_uri is None else [params.folder_uri]
    sessions = [await ls.session(uri) for uri in uris]
    from palimpsest.services.turns.recovery import Recovery

    return ListRecoveryResult(
        [_to_broken(each) for session in sessions for each in await Recovery(session.turns).unresolved()]
    )


@answers
async def resolve(ls: PalimpsestServer, params: ResolveParams) -> ChatResult:
    session = await ls.session_of_turn(params.turn_id)
    from palimpsest.domain.turns.recovery import Resolution
    from palimpsest.services.turns.recovery import Recovery

    choice = Resolution(params.action.value)
    turn_id = TurnId(params.turn_id)
    if choice is Resolution.CONTINUE or choice is Resolution.RETRY:
        meant = await _of_turn(session, turn_id)
        return await _rerun(ls, meant, choice, params.partial_result_token, params.work_done_token)
    await Recovery(session.turns).resolve(turn_id, choice, "turn" if params.as_draft else "answer")
    return await result_of(session, await session.conversations.outcome(turn_id), None)


async def _rerun(
    ls: PalimpsestServer,
    meant: tuple[FolderSession, TurnId, ConversationId],
    how: Rerun,
    token: Token | None,
    work_done: Token | None,
) -> ChatResult:
    session, turn_id, conversation_id = meant
    starting = session.turns.go_on(turn_id, how, conversation_id, ls.editor_models.id)
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
    from palimpsest.services.turns.recovery import MAX_SHOWN

    fate = CallFate[call.fate.name]
    return OpenToolCall(
        call.call.call_id,
        call.call.name,
        call.call.arguments[:MAX_SHOWN],
        fate,
        call.result.text[:MAX_SHOWN] if fate is CallFate.FINISHED else None,
    )


class Offers:
    """Tells the user of one connection what broke off in a folder, when that is first used: by a question where the
    editor can ask one, else by a sentence. Nothing waits for the answer, and no answer chooses nothing."""

    def __init__(self, server: PalimpsestServer) -> None:
        self._server = server
        self._offered: dict[Path, asyncio.Task[None]] = {}

    def make(self, session: FolderSession) -> None:
        """Once a folder."""
        if session.folder.root not in self._offered:
            self._offered[session.folder.root] = asyncio.create_task(self._offer(session), name="offer recovery")

    def forget(self, root: Path) -> None:
        """The editor has closed the folder: when it is opened again, what broke off meanwhile is offered."""
        if (offered := self._offered.pop(root, None)) is not None:
            offered.cancel()

    def end(self) -> None:
        for task in self._offered.values():
            task.cancel()

    async def _offer(self, session: FolderSession) -> None:
        from palimpsest.services.turns.recovery import Recovery

        try:
            recent = await Recovery(session.turns).recent()
            if not recent:
                return
            newest = recent[-1]
            sentence = _sentence(newest, len(recent) - 1)
            choice = await self._ask(sentence)
            if choice is not None:
                await self._choose(newest.turn.id, choice)
        except PalimpsestError as error:
            self._server.warn(str(error))
        except Exception as error:
            log.warning("what broke off could not be offered (%s)", type(error).__name__)

    async def _ask(self, sentence: str) -> RecoveryAction | None:
        """What the user chose; None for nothing, and where they can only be told."""
        window = self._server.client_capabilities.window
        if window is None or window.show_message is None:
            self._server.warn(f"{sentence} The command /recover lists what broke off.")
            return None
        actions = [lsp.MessageActionItem(title) for title in _CHOICES]
        question = lsp.ShowMessageRequestParams(lsp.MessageType.Warning, sentence, actions)
        try:
            answer = await self._server.window_show_message_request_async(question)
        except JsonRpcException:
            return None
        return None if answer is None else _CHOICES.get(answer.title)

    async def _choose(self, turn_id: TurnId, action: RecoveryAction) -> None:
        """A turn that this begins runs without a request; whoever shows the conversation may attach to it."""
        session = await self._server.session_of_turn(turn_id)
        from palimpsest.domain.turns.recovery import Resolution
        from palimpsest.services.turns.recovery import Recovery

        await Recovery(session.turns).resolve(turn_id, Resolution(action.value), asked_by=self._server.editor_models.id)


def _sentence(broken: services.BrokenAnswer, n_others: int) -> str:
    n_kept = counted(broken.n_characters, "character")
    kept = f"What had come of it is kept ({n_kept})" if broken.n_characters else "Nothing of it had come"
    others = ""
    if n_others:
        others = f" {counted(n_others, 'more answer')} broke off in other conversations."
    return (
        f'The last answer in "{broken.title or "untitled"}" broke off. {kept}. '
        f"It can be continued, kept as it is, discarded, or tried again.{others}"
    )
