"""`chat`, `turn/attach`, `turn/cancel`, `turn/retryNow`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, TurnId, user_message
from palimpsest.lsp.features.attachments import content_of
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.features.remote_turns import find_remote, refuse_to_stop
from palimpsest.lsp.features.search_notice import tell_of_search
from palimpsest.lsp.progress import ContextProgress, DeltaStream, Token
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_status, to_usage
from palimpsest.services.chat.attachments import Said
from palimpsest.services.context.reports import usage_status
from palimpsest.services.conversation.conversations import TurnOutcome
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.turns.running import RunningTurn, begun
from palimpsest.wire.areas.turns import (
    AttachParams,
    CancelParams,
    CancelResult,
    ChatParams,
    ChatResult,
    DeltaType,
    RetryNowParams,
    RetryNowResult,
    TurnDelta,
    TurnStatus,
)

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.remote_turn import RemoteTurn


async def chat(ls: PalimpsestServer, params: ChatParams) -> ChatResult:
    session, to, said = await _target(ls, params)
    asked = params.request_id, said.content, ls.part(OfferedModels).id, said.pictures
    if isinstance(to, str):
        conversation_id, starting = to, session.turns.start(to, *asked)
    else:
        conversation_id, starting = to.id, session.turns.begin(to, *asked)
    return await follow_to_the_end(
        ls, session, conversation_id, starting, params.partial_result_token, params.work_done_token
    )


async def follow_to_the_end(
    ls: PalimpsestServer,
    session: FolderSession,
    conversation_id: ConversationId,
    starting: Awaitable[RunningTurn | TurnId],
    token: Token | None,
    work_done_token: Token | None,
) -> ChatResult:
    """Begins a turn and streams it to the request. Cancelling the request cancels the turn."""
    progress = ContextProgress(ls, work_done_token, conversation_id)
    unsubscribe = session.folder.listeners.add(progress.hear)
    try:
        started = await begun(starting, lambda turn: stop_turn(ls, turn))
        if isinstance(started, RunningTurn):
            try:
                return await _follow(ls, session, started, token, 0)
            except asyncio.CancelledError:
                if started.n_followers == 0 or not ls.is_leaving:
                    stop_turn(ls, started)
                    await started.wait()
                raise
        try:
            return await _elsewhere(ls, session, started, token, 0)
        except asyncio.CancelledError:
            if not ls.is_leaving:
                await session.folder.following.cancel(started)
            raise
    finally:
        unsubscribe()
        progress.end()


def stop_turn(ls: PalimpsestServer, turn: RunningTurn) -> None:
    """Cancels the turn when its request was cancelled, or interrupts it when the connection ends: then the user may
    want to go on."""
    if ls.is_leaving:
        turn.interrupt()
    else:
        turn.cancel()


async def _target(
    ls: PalimpsestServer, params: ChatParams
) -> tuple[FolderSession, ConversationId | ConversationRecord, Said]:
    """The session, conversation and message of a request; the record of a new conversation when the request names none
    and is no repeat.

    A repeat gets the turn that exists, whatever has happened to its attachments meanwhile.
    """
    if not params.text.strip() and not params.attachments:
        raise InvalidRequest("The message is empty. Write something, then send it.")
    await (await ls.folders()).look_for_keys()
    conversation_id = None if params.conversation_id is None else ConversationId(params.conversation_id)
    session = await (ls.session(params.folder) if conversation_id is None else ls.session_of(conversation_id))
    known = await session.conversations.conversation_of_request(params.request_id)
    if known is not None:
        return session, conversation_id or known, Said(user_message(params.text))
    to = session.conversations.blank() if conversation_id is None else conversation_id
    return session, to, await content_of(ls, session, to, params.text, params.attachments or ())


async def attach(ls: PalimpsestServer, params: AttachParams) -> ChatResult:
    try:
        session = await ls.session_of_turn(params.turn_id)
    except NotFound:
        if (found := await find_remote(ls, params.turn_id)) is None:
            raise
        return await _remote(ls, *found, params.partial_result_token, params.after_seq or 0)
    running = session.folder.running.get(TurnId(params.turn_id))
    if running is None:
        turn_id = TurnId(params.turn_id)
        return await _elsewhere(ls, session, turn_id, params.partial_result_token, params.after_seq or 0)
    try:
        return await _follow(ls, session, running, params.partial_result_token, params.after_seq or 0)
    except asyncio.CancelledError:
        if ls.is_leaving and running.n_followers == 0:
            running.interrupt()
            await running.wait()
        raise


async def cancel(ls: PalimpsestServer, params: CancelParams) -> CancelResult:
    try:
        session = await ls.session_of_turn(params.turn_id)
    except NotFound as missing:
        await refuse_to_stop(ls, params.turn_id, missing)
        raise
    running = session.folder.running.get(TurnId(params.turn_id))
    if running is not None:
        running.cancel()
        return CancelResult(to_status((await running.wait()).state))
    await session.folder.following.cancel(TurnId(params.turn_id))
    outcome = await session.conversations.outcome(TurnId(params.turn_id))
    return CancelResult(to_status(outcome.turn.state))


async def retry_now(ls: PalimpsestServer, params: RetryNowParams) -> RetryNowResult:
    session = await ls.session_of_turn(params.turn_id)
    running = session.folder.running.get(TurnId(params.turn_id))
    return RetryNowResult(running is not None and running.retry_now())


async def _follow(
    ls: PalimpsestServer, session: FolderSession, running: RunningTurn, token: Token | None, after_seq: int
) -> ChatResult:
    """Streams a running turn to its end."""
    stream = DeltaStream(ls, token)
    stream.send(_first_delta(running.id, running.conversation_id, running.user_message_id))
    unfollow = running.follow(stream.show, after_seq)
    try:
        await running.wait()
    finally:
        unfollow()
    await tell_of_search(ls, session, running.id)
    return await _result(session, running.id, has_stream=token is not None)


async def _elsewhere(
    ls: PalimpsestServer, session: FolderSession, turn_id: TurnId, token: Token | None, after_seq: int
) -> ChatResult:
    """A turn that this server does not run: the committed text as one delta when it is over, a stream when another
    server runs it."""
    outcome = await session.conversations.outcome(turn_id)
    stream = DeltaStream(ls, token)
    turn = outcome.turn
    stream.send(_first_delta(turn.id, turn.conversation_id, turn.user_message_id))
    if not turn.state.is_final:
        await session.folder.following.follow(turn_id, after_seq, stream.show)
    elif outcome.text:
        stream.send(TurnDelta(turn.last_seq, DeltaType.TEXT, outcome.text))
    return await _result(session, turn_id, has_stream=token is not None)


async def _remote(
    ls: PalimpsestServer, session: FolderSession, turn: RemoteTurn, token: Token | None, after_seq: int
) -> ChatResult:
    """A turn of another machine, to its end. One whose machine went away in the middle is interrupted: what it said
    comes when that machine is back."""
    user_message_id, n_messages = await session.conversations.first_of_turn(turn.conversation_id, turn.id)
    stream = DeltaStream(ls, token)
    stream.send(_first_delta(turn.id, turn.conversation_id, n_messages if user_message_id is None else user_message_id))
    unfollow = turn.follow(stream.show, after_seq)
    try:
        await turn.over.wait()
    finally:
        unfollow()
    if await session.conversations.holds_turn(turn.id):
        return await _result(session, turn.id, has_stream=token is not None)
    usage = to_usage(await usage_status(session.contexts, turn.conversation_id))
    text = None if token is not None else turn.text
    return ChatResult(turn.conversation_id, turn.id, TurnStatus.INTERRUPTED, [], usage, text)


def _first_delta(turn_id: str, conversation_id: str, user_message_id: int) -> TurnDelta:
    return TurnDelta(
        0, DeltaType.TURN, turn_id=turn_id, conversation_id=conversation_id, user_message_id=user_message_id
    )


async def _result(session: FolderSession, turn_id: TurnId, *, has_stream: bool) -> ChatResult:
    """The end of the turn. Raises TurnFailed when it errored."""
    outcome = await session.conversations.require_success(turn_id)
    return await result_of(session, outcome, None if has_stream else outcome.text)


async def result_of(session: FolderSession, outcome: TurnOutcome, text: str | None) -> ChatResult:
    """The answer for a turn's outcome, with this text."""
    turn = outcome.turn
    return ChatResult(
        conversation_id=turn.conversation_id,
        turn_id=turn.id,
        status=to_status(turn.state),
        message_ids=list(outcome.message_ids),
        usage=to_usage(await usage_status(session.contexts, turn.conversation_id)),
        text=text,
        stop_reason=turn.stop_reason,
    )
