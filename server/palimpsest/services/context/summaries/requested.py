"""Summaries that somebody asks for: what one would be about, and putting it in place, whoever writes it.

The caller holds the lease of the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.domain.context.cut import CutCause, MessagePiece, Piece, SummaryPiece, keep_from, running_request, widen
from palimpsest.domain.context.summaries.pending import PendingSummarization, first_run
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import MessageId
from palimpsest.services.context.compaction_plan import pending_summarization
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.operations import NOT_SHORTER
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.summaries.summarizers import Written
from palimpsest.services.context.writable import WritableContext
from palimpsest.wording import counted


@dataclass(frozen=True, slots=True)
class Summarized:
    """The effect of a summary on request, in the model's tokens."""

    tokens_before: int
    tokens_after: int
    block: SummaryPiece | None
    reason: str


@dataclass(frozen=True, slots=True)
class RequestedSummaries:
    """On one folder's conversations."""

    engine: ContextEngine

    async def summarize(self, context: WritableContext, wanted: tuple[MessageId, MessageId] | None) -> Summarized:
        """Summarizes `wanted` ([start, end), widened). Without it, what stands for itself: everything behind the last
        summary but the newest messages, else the oldest that stand before a summary, alone or together with it."""
        state = context.state
        if not self.engine.settings.infinity:
            raise InvalidRequest("Summaries are switched off (context.infinity). Switch them on to have one written.")
        if self.engine.is_distilled(state):
            raise InvalidRequest(
                "In the layout `librarian` older messages are not sent, so a summary would stand nowhere. "
                "`/layout log` sends them, as summaries where they do not fit."
            )
        if state.cut.left_out:  # a summary must not reach over what it does not speak of
            await self.engine.adopt_anew(context, CutCause.USER)
        if wanted is not None:
            _check_range(state, *wanted)
        candidates = [wanted] if wanted is not None else _unsummarized(state.pieces)
        state.renew_estimator()
        before = state.estimate.mean
        n_kept = self.engine.settings.preserve_recent
        reason = f"Nothing to summarize: the newest messages ({n_kept}) always stay as they are."
        for start, end in candidates:
            pending = self.prepare_summarization(state, [MessageId(each) for each in range(start, end)])
            if pending is None:
                continue
            new = await (await self.engine.compactor(context)).on_request(context, pending)
            if new is not None:
                said = f"Summarized messages {new.start} to {new.end - 1}, in summary {new.summary.id}."
                return Summarized(before, state.estimate.mean, new, said)
            reason = NOT_SHORTER
        return Summarized(before, before, None, reason)

    def prepare_summarization(self, state: ContextState, ids: Sequence[MessageId]) -> PendingSummarization | None:
        """The messages that a summary of the first contiguous run of `ids` would be about, widened to whole exchanges
        and whole lower summaries; None when none of them may be summarized.

        The newest messages, the running turn's request and existing summaries stay. Raises InvalidRequest for
        ids the conversation does not have.
        """
        wanted = first_run(ids)
        if wanted is None:
            return None
        start, end = wanted
        _check_range(state, start, end)
        settings = self.engine.settings
        first, after = widen(state.pieces, start, end)
        after = min(after, keep_from(state.pieces, 0, settings.preserve_recent))
        first, after = _without_protected(state.pieces, first, after, running_request(state.pieces))
        run = state.pieces[first:after]
        has_originals = any(isinstance(piece, MessagePiece) for piece in run)
        return pending_summarization(settings, state, run, state.pieces) if has_originals else None

    async def complete_summarization(
        self, context: WritableContext, pending: PendingSummarization, content: str, generated_by: str
    ) -> SummaryPiece | None:
        """Stores and adopts a summary that somebody else wrote; None when it is not smaller than what it stands for.

        Raises InvalidRequest when what it was asked for does not stand in the context any more.
        """
        state = context.state
        if not all(piece in state.pieces for piece in pending.pieces):
            raise InvalidRequest("What this summary stands for is not in the context any more. Ask for it again.")
        compactor = await self.engine.compactor(context)
        return await compactor.complete(context, pending, Written(content, "given", generated_by))


def _unsummarized(pieces: Sequence[Piece]) -> list[tuple[MessageId, MessageId]]:
    """The stretches of live messages a person may mean who names none: the newest, then the older ones from the oldest
    on. One that is too short for a summary of its own follows once more, with the summary behind it."""
    runs: list[tuple[int, int]] = []
    for index, piece in enumerate(pieces):
        if isinstance(piece, MessagePiece):
            first = runs.pop()[0] if runs and runs[-1][1] == index else index
            runs.append((first, index + 1))
    newest = [run for run in runs if run[1] == len(pieces)]
    older = [run for run in runs if run not in newest]
    wanted = [*newest, *older, *((first, after + 1) for first, after in older)]
    return [(pieces[first].start, pieces[after - 1].end) for first, after in wanted]


def _check_range(state: ContextState, start: MessageId, end: MessageId) -> None:
    if not 0 <= start < end <= state.n_messages:
        raise InvalidRequest(
            f"Messages {start} to {end - 1} are not a range of this conversation, "
            f"which has {counted(state.n_messages, 'message')}."
        )


def _without_protected(
    pieces: Sequence[Piece], first: int, after: int, protected: frozenset[MessageId]
) -> tuple[int, int]:
    """The longer part of [first, after) on one side of what must stay."""
    for index in range(first, after):
        piece = pieces[index]
        if isinstance(piece, MessagePiece) and piece.message.id in protected:
            return (first, index) if index - first >= after - index - 1 else (index + 1, after)
    return first, after
