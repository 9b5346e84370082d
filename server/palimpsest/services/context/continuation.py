"""The request to go on behind a partial answer: it stands in every later request that holds that answer, so the prefix
of requests stays. It is stored as the place where it stands, never as a message.
"""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.tokens import Estimator, count_content
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.domain.turns.recovery import GO_ON, with_go_on
from palimpsest.services.context.state import ContextState
from palimpsest.storage.store import Store
from palimpsest.storage.turns import recovery as recovering


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where a conversation's requests say that the model shall go on with its answer."""

    behind: frozenset[MessageId]

    def tokens(self, state: ContextState) -> int:
        """What they add to the next request at most, in the model's tokens, also after a compaction."""
        n_live = sum(isinstance(piece, MessagePiece) and piece.message.id in self.behind for piece in state.pieces)
        return n_live * max(_each(state, state.cut.estimator), _each(state, state.model.estimator))

    def add_to(self, context: PreparedContext, state: ContextState, limit_tokens: int) -> PreparedContext:
        """The request with them, proven to fit `limit_tokens`."""
        if not self.behind:
            return context
        return with_go_on(context, self.behind, _each(state, state.cut.estimator), limit_tokens)


def _each(state: ContextState, estimator: Estimator) -> int:
    return estimator.upper(count_content(GO_ON, state.tokenizer.count)) - estimator.overhead


async def read_continuation(store: Store, conversation_id: ConversationId) -> Continuation:
    """Of a conversation as it is stored."""
    return Continuation(await store.read(recovering.behind_which_turns_go_on, conversation_id))
