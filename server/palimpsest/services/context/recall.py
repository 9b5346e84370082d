"""What a turn is told, before its first request, of what its context does not hold: facts, and earlier messages.

It is an injection of that turn: it stands behind the user's text, byte for byte the same in every later request, until
the next compaction drops it. No sentence that the context tells anyway is told again, so a conversation that is sent
whole is told facts of other conversations at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import MessagePiece, SummaryPiece
from palimpsest.domain.context.recall_report import RecallReport
from palimpsest.domain.context.recalled import FOOT, HEAD, harmless
from palimpsest.domain.context.told import Told
from palimpsest.domain.facts.fact import StoredFact
from palimpsest.domain.messages import AttachmentPart, TextPart, ToolResultPart
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


_USUAL: Final = Share(2_000, 0.05)
_DISTILLED: Final = Share(50_000, 0.25)
"""In the layout `librarian`, in which little else tells of what was."""


def share_of(state: ContextState, *, is_distilled: bool) -> int:
    """Raw tokens that a turn of the conversation may be told, where there is room."""
    return (_DISTILLED if is_distilled else _USUAL).tokens(state)


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a turn is told, and how it was chosen."""

    text: str
    """Empty for nothing."""
    report: RecallReport


@dataclass(frozen=True, slots=True)
class Recall:
    """For one folder's conversations."""

    store: Store
    order: Order | None = None
    """Puts what was found in another order; None: the scores decide."""

    async def choose(
        self, state: ContextState, asked: MessagePiece, most_tokens: int, *, is_dry_run: bool = False
    ) -> Recalled:
        """What to tell behind the message `asked`, in at most `most_tokens` (raw).

        No sentence of it is told in the context already: by a live message, a summary, the rules in front, or what was
        recalled before. `is_dry_run`: no fact counts as used and no model orders what was found."""
        count = state.tokenizer.count
        room = most_tokens - count(f"{HEAD}\n{FOOT}\n")
        question = asked.message.content.text
        if room < _FEWEST_TOKENS or not question.strip():
            return Recalled("", RecallReport(room_tokens=max(room, 0)))
        lives = [piece for piece in state.pieces if isinstance(piece, MessagePiece)]
        told = Told([harmless(text) for text in _texts(state)])
        found = await Retriever(self.store, count, None if is_dry_run else self.order).retrieve(
            Question(
                question,
                state.id,
                utc_now(),
                files=_files_in_view(asked),
                exclude_from=asked.message.id,
                already_live=frozenset(piece.message.id for piece in lives if piece.preview is None),
                untold=lambda text: told.untold(harmless(text)),
            ),
            room,
        )
        if not found.text:
            return Recalled("", found.report)
        used = [each.found.id for each in found.items if isinstance(each.found, StoredFact)]
        if used and not is_dry_run:
            await self.store.run(facts.count_uses, used)
        return Recalled(f"{HEAD}\n{harmless(found.text).rstrip()}\n{FOOT}", found.report)


def _texts(state: ContextState) -> Iterator[str]:
    """All that the context tells."""
    yield state.front.text
    for piece in state.pieces:
        if isinstance(piece, SummaryPiece):
            yield piece.summary.text
            continue
        shown = piece.message.content if piece.preview is None else piece.preview
        yield from (part.text for part in shown.parts if isinstance(part, TextPart | ToolResultPart | AttachmentPart))
        yield piece.injection
        yield piece.note


def _files_in_view(asked: MessagePiece) -> tuple[str, ...]:
    return tuple(part.label for part in asked.message.content.parts if isinstance(part, AttachmentPart))
