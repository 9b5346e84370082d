"""What a turn that goes on from an ended one needs: a cut without what was hidden, and the request to go on.

The request to go on stands behind the partial answer in every request that holds that answer, this turn's and later
ones, so the prefix of requests stays (invariant 8). It is stored as the place where it stands, never as a message.
"""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.cut import CutCause, Live
from palimpsest.domain.messages import MessageId
from palimpsest.domain.prepared import PreparedContext
from palimpsest.domain.recovery import GO_ON, with_go_on
from palimpsest.domain.tokens import count_content
from palimpsest.services.context_state import ContextState
from palimpsest.services.contexts import ContextEngine
from palimpsest.services.standing_rules import news_of
from palimpsest.storage.leases import HeldLease


@dataclass(frozen=True, slots=True)
class GoingOn:
    """Where a conversation's requests say that the model shall go on with its answer."""

    behind: frozenset[MessageId]

    def tokens(self, state: ContextState) -> int:
        """What they add to the next request at most, in the model's tokens."""
        n_live = sum(isinstance(piece, Live) and piece.message.id in self.behind for piece in state.pieces)
        return n_live * self._each(state)

    def add_to(self, context: PreparedContext, state: ContextState, limit_tokens: int) -> PreparedContext:
        """The request with them, proven to fit `limit_tokens`."""
        return with_go_on(context, self.behind, self._each(state), limit_tokens) if self.behind else context

    def _each(self, state: ContextState) -> int:
        estimator = state.cut.estimator
        return estimator.upper(count_content(GO_ON, state.tokenizer.count)) - estimator.overhead


async def choose_cut(contexts: ContextEngine, lease: HeldLease, asked: MessageId, *, has_hidden: bool) -> None:
    """A cut without what was just hidden, in which the user's message `asked` stands verbatim, and with the rules of
    now: those that came since the last cut would be told behind that message, which was sent before."""
    state = await contexts.writable(lease)
    cause = CutCause.ROLLBACK if has_hidden else CutCause.USER
    if not any(isinstance(piece, Live) and piece.message.id == asked for piece in state.pieces):
        await contexts.adopt_anew(state, lease, cause)  # a summary stands for it
        return
    was_told = any(isinstance(piece, Live) and piece.injection for piece in state.pieces)
    if has_hidden or was_told or await news_of(contexts.store, state):
        await (await contexts.compactor(state)).adopt(state, lease, state.pieces, cause)
