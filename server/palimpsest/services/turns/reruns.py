"""The cut for a turn that continues or repeats an ended one. It leaves out hidden messages and is checked to fit."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.domain.context.cut import CutCause, MessagePiece
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.messages import MessageId, Role
from palimpsest.domain.turns.recovery import Rerun, Resolution
from palimpsest.services.context.admission import Beside, framed
from palimpsest.services.context.continuation import Continuation, read_continuation
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.fitting import fitting
from palimpsest.services.context.rules import front_of, news_of, read_rules, read_rules_of_turn
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.writable import WritableContext


async def choose_cut(
    contexts: ContextEngine, context: WritableContext, asked: MessageId, beside: Beside | None, *, has_hidden: bool
) -> None:
    """A cut without the messages that were just hidden. The user's message `asked` is verbatim in it, and it contains
    the rules that came since the last cut: they cannot be added behind that message, which was already sent."""
    with context.state.ruled_by(None if beside is None else beside.commands):
        await _choose_cut(contexts, context, asked, has_hidden=has_hidden)


async def _choose_cut(contexts: ContextEngine, context: WritableContext, asked: MessageId, *, has_hidden: bool) -> None:
    state = context.state
    cause = CutCause.ROLLBACK if has_hidden else CutCause.USER
    if not any(isinstance(piece, MessagePiece) and piece.message.id == asked for piece in state.pieces):
        await contexts.adopt_anew(context, cause)  # a summary covers the message
        return
    news = news_of(state, await read_rules_of_turn(contexts, state))
    if has_hidden or _has_told(state) or news:
        await contexts.adoption.adopt(context, state.pieces, cause)


def _has_told(state: ContextState) -> bool:
    """Whether the context holds additions behind its messages, which a new cut drops or moves to the front."""
    return any(isinstance(piece, MessagePiece) and (piece.injection or piece.note) for piece in state.pieces)


async def check_again(
    contexts: ContextEngine, state: ContextState, asked: MessageId, how: Rerun, frame: Frame
) -> Beside:
    """The admission of a message that was already sent and is answered further, or again. Its bound is the wall. When a
    summary covers the message, the whole cut is chosen again. Raises RecentMessagesTooLarge when the request could not
    be sent, however much were summarized."""
    if not any(isinstance(piece, MessagePiece) and piece.message.id == asked for piece in state.pieces):
        pieces, gone = await contexts.chosen_anew(state, ())
        cut = replace(state.cut, estimator=state.model.estimator, left_out=gone)
        state = replace(state, pieces=pieces, cut=cut, n_sent=0)
    is_continued = how is Resolution.CONTINUE
    pieces = [piece for piece in state.pieces if is_continued or piece.start <= asked]
    rules = await read_rules(contexts, state)
    news = news_of(state, rules)
    tried = replace(state, pieces=pieces)
    if len(pieces) < len(state.pieces) or news or _has_told(state):
        # The same as `choose_cut` will choose.
        pieces = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in pieces]
        cut = replace(state.cut, estimator=state.model.estimator)
        tried = replace(state, pieces=pieces, cut=cut, front=front_of(state, rules, state.cut.left_out))
    behind = (await read_continuation(contexts.store, state.id)).behind
    last = pieces[-1] if pieces else None
    if is_continued and isinstance(last, MessagePiece) and last.message.content.role is Role.ASSISTANT:
        behind |= {last.message.id}
    limit = state.budget.wall - Continuation(behind).tokens(tried)
    fitting(contexts.settings, framed(tried, frame), rules, limit).check()
    return Beside(frame, rules.basis.commands)
