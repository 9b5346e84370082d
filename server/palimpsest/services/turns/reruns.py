"""What a turn that goes on from an ended one needs: a cut without what was hidden, known to fit before it is."""

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
    """A cut without what was just hidden, in which the user's message `asked` stands verbatim, and with the rules that
    came since the last cut: they would be told behind that message, which was sent before."""
    with context.state.ruled_by(None if beside is None else beside.commands):
        await _choose_cut(contexts, context, asked, has_hidden=has_hidden)


async def _choose_cut(contexts: ContextEngine, context: WritableContext, asked: MessageId, *, has_hidden: bool) -> None:
    state = context.state
    cause = CutCause.ROLLBACK if has_hidden else CutCause.USER
    if not any(isinstance(piece, MessagePiece) and piece.message.id == asked for piece in state.pieces):
        await contexts.adopt_anew(context, cause)  # a summary stands for it
        return
    news = news_of(state, await read_rules_of_turn(contexts.store, state))
    if has_hidden or _has_told(state) or news:
        await (await contexts.compactor(state)).adopt(context, state.pieces, cause)


def _has_told(state: ContextState) -> bool:
    """Whether something was added behind its messages that a cut drops, or puts to the front."""
    return any(isinstance(piece, MessagePiece) and piece.injection for piece in state.pieces)


async def check_again(
    contexts: ContextEngine, state: ContextState, asked: MessageId, how: Rerun, frame: Frame
) -> Beside:
    """What admission is to a message that is new, for one that goes on being answered, or is answered again: the wall
    bounds it, since it was sent before. Raises RecentMessagesTooLarge when its request could not be sent
    whatever is summarized. Where a summary stands for the message, all is chosen anew."""
    if not any(isinstance(piece, MessagePiece) and piece.message.id == asked for piece in state.pieces):
        pieces, gone = await contexts.chosen_anew(state, ())
        cut = replace(state.cut, estimator=state.model.estimator, left_out=gone)
        state = replace(state, pieces=pieces, cut=cut, n_sent=0)
    is_continued = how is Resolution.CONTINUE
    pieces = [piece for piece in state.pieces if is_continued or piece.start <= asked]
    rules = await read_rules(contexts.store, state)
    news = news_of(state, rules)
    tried = replace(state, pieces=pieces)
    if len(pieces) < len(state.pieces) or news or _has_told(state):
        # As `choose_cut` will have it.
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
