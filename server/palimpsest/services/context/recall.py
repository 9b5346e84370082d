"""What a turn is told, before its first request, of what its context does not hold: facts, and earlier messages.

It is an injection of that turn: it stands behind the user's text, byte for byte the same in every later request, until
the next re-cut drops it. What stands in the context anyway is not told again, so a conversation that is sent whole is
told facts of other conversations at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.recalled import FOOT, HEAD, harmless
from palimpsest.domain.facts.fact import StoredFact
from palimpsest.domain.facts.retrieval.packing import entries_of
from palimpsest.domain.messages import AttachmentPart
from palimpsest.machine import utc_now
from palimpsest.services.context.state import ContextState
from palimpsest.services.facts.retrieval import Order, Question, Retriever
from palimpsest.storage.facts import facts
from palimpsest.storage.store import Store

_FEWEST_TOKENS: Final = 60
"""Under this nothing worth reading fits."""


@dataclass(frozen=True, slots=True)
class Share:
    """How much a turn is told."""

    most_tokens: int
    """Raw."""
    of_budget: float

    def tokens(self, state: ContextState) -> int:
        """Raw, in the state's budget."""
        return min(self.most_tokens, int(self.of_budget * state.budget_raw))


USUAL: Final = Share(2_000, 0.05)
DISTILLED: Final = Share(50_000, 0.25)
"""In the layout `librarian`, in which little else tells of what was."""


@dataclass(frozen=True, slots=True)
class Recall:
    """For one folder's conversations."""

    store: Store
    order: Order | None = None
    """Puts what was found in another order; None: the scores decide."""

    async def text(self, state: ContextState, asked: MessagePiece, most_tokens: int) -> str:
        """What to tell behind the message `asked`, in at most `most_tokens` (raw); empty for nothing.

        Nothing of it stands in the context already, also not behind an earlier message."""
        count = state.tokenizer.count
        room = most_tokens - count(f"{HEAD}\n{FOOT}\n")
        question = asked.message.content.text
        if room < _FEWEST_TOKENS or not question.strip():
            return ""
        lives = [piece for piece in state.pieces if isinstance(piece, MessagePiece)]
        told = {entry for piece in lives if piece.injection for entry in entries_of(piece.injection)}
        found = await Retriever(self.store, count, self.order).retrieve(
            Question(
                question,
                state.id,
                utc_now(),
                files=_files_in_view(asked),
                exclude_from=asked.message.id,
                already_live=frozenset(piece.message.id for piece in lives if piece.preview is None),
                is_told=lambda excerpt: harmless(excerpt) in told,
            ),
            room,
        )
        if not found.text:
            return ""
        used = [each.found.id for each in found.items if isinstance(each.found, StoredFact)]
        if used:
            await self.store.run(facts.count_uses, used)
        return f"{HEAD}\n{harmless(found.text).rstrip()}\n{FOOT}"


def _files_in_view(asked: MessagePiece) -> tuple[str, ...]:
    return tuple(part.label for part in asked.message.content.parts if isinstance(part, AttachmentPart))
