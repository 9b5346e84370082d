"""Compaction: writes summaries and puts them in place, until a request fits its limit.

A cut is a log. A compaction by threshold keeps the newest part verbatim, turns the older live exchanges into one new
block behind the older blocks, which stay byte-identical, and only when the blocks grow too large merges them into one.
What is still too large is handed over to previews. Nothing is left out, and a compaction that would not make the
context smaller is not adopted. Where the user switched summaries off, the oldest exchanges are left out instead, and
the editor is told which.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.cut import (
    CutCause,
    MessagePiece,
    Piece,
    SummaryPiece,
    adopt,
    prose_tokens,
    runs_of_blocks,
    total_tokens,
)
from palimpsest.domain.context.merging import plan_merges
from palimpsest.domain.context.rules.rule_set import RuleSet
from palimpsest.domain.context.strategies import (
    DISTILLING,
    HANDING_OVER,
    LEAVING_OUT,
    MERGING,
    REFRESHING,
    blocks_tokens,
)
from palimpsest.domain.context.summaries.pending import PendingSummarization
from palimpsest.domain.errors import RecentMessagesTooLarge
from palimpsest.domain.messages import MessageId
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.domain.strategy_names import MANUAL
from palimpsest.machine import machine
from palimpsest.services.context.compaction_plan import (
    ISOLATED_SHARE,
    choice_of,
    distilled,
    joined,
    leaving_out,
    newest_then,
    pending_summarization,
    situation_of,
    sizes_of,
)
from palimpsest.services.context.cut_adoption import CutAdoption
from palimpsest.services.context.fitting import foldable
from palimpsest.services.context.operations import NOT_SHORTER, Operation, Operations
from palimpsest.services.context.previews import hand_over
from palimpsest.services.context.rules import front_of, read_rules_of_turn
from palimpsest.services.context.smallest_cut import smallest_cut
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.summaries.summarizers import LEFT_SHARE, Written, without
from palimpsest.services.context.summaries.writer import SummaryWriter
from palimpsest.services.context.writable import WritableContext
from palimpsest.wording import counted

AHEAD_SHARE: Final = 0.60
"""Of the budget: from here on a model may write what the next compaction will want."""
ENOUGH_SHARE: Final = 0.78
"""Of the budget: a compaction by threshold that leaves more is put off while the request fits, because another would
follow soon (what is newest is too large, and will not be the newest for long)."""
_FULL_SHARE: Final = 0.8
"""Of what blocks may take: those that take more are not written anew for a larger window."""


@dataclass(frozen=True, slots=True)
class Compactor:
    """Carries out compactions of one store's conversations. The caller holds the lease."""

    adoption: CutAdoption
    settings: ContextSettings
    writer: SummaryWriter

    async def by_threshold(self, context: WritableContext, limit_tokens: int, more_tokens: int = 0) -> None:
        """A new cut that fits `limit_tokens`, if it can be had; without one, `more_tokens` (raw) would come on top.

        Adopts nothing when too little would be gained and the request fits as it is. What the user expanded stays
        so while it fits. Raises RecentMessagesTooLarge when what must stay verbatim does not fit.
        """
        state = context.state

        async def compact() -> None:
            if self.settings.infinity:
                await self._by_summaries(context, limit_tokens, more_tokens)
            else:
                await self._by_leaving_out(context, limit_tokens)

        try:
            await compact()
        except RecentMessagesTooLarge:
            if not state.expansions:
                raise
            with _collapsed(state):
                await compact()

    async def _by_summaries(self, context: WritableContext, limit_tokens: int, more_tokens: int) -> None:
        state = context.state
        raw_before = state.raw_tokens + more_tokens
        with self.adoption.operations(state, limit_tokens) as operations:
            await self._compact(context, limit_tokens, raw_before, operations)

    async def _compact(
        self, context: WritableContext, limit_tokens: int, raw_before: int, operations: Operations
    ) -> None:
        state = context.state
        rules = await read_rules_of_turn(self.adoption, state)
        front = front_of(state, rules, state.cut.left_out)
        fixed = state.frame_tokens.total + front.tokens
        room = state.cut.estimator.raw_within(limit_tokens) - fixed
        protected = state.kept

        def now(pieces: Sequence[Piece]) -> int:
            return state.estimate_of(front, pieces).mean

        current = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in state.pieces]

        def gain_without_prose(pieces: Sequence[Piece]) -> int:
            return raw_before - prose_tokens(current) - fixed - (total_tokens(pieces) - prose_tokens(pieces))

        target = int(self.settings.target * state.budget_raw) - fixed
        sizes = sizes_of(self.settings, state, fixed)
        choice = choice_of(self.settings, situation_of(self.settings, state, current, sizes.keep), target)
        pieces = await self.writer.improved(state, current)
        runs = [pieces[first:after] for first, after in choice.stretches]
        if runs:
            operation = operations.begin(choice.name, sum(map(_n_messages, runs)))
            pieces = await self._write_runs(state, pieces, runs, rules.kept, operation, now)
        needed = raw_before > state.cut.estimator.raw_within(limit_tokens)
        is_flood = sum(map(total_tokens, runs)) > sizes.flood and blocks_tokens(current) > 0
        has_grown = blocks_tokens(pieces) > sizes.blocks or is_flood
        if total_tokens(pieces) > room or (
            MERGING in self.settings.strategies and (has_grown or gain_without_prose(pieces) < sizes.least_gain)
        ):
            live = total_tokens(pieces) - blocks_tokens(pieces)
            size = min(sizes.merged, max(room - live, room // 4, 1))  # what is sent verbatim comes first
            pieces = await self._merge(state, pieces, protected, size, rules.kept, operations, now)
        with_rules = {MessageId(entry.id.message_id) for entry in rules.kept.open_entries()}
        if total_tokens(pieces) > room:
            operation = operations.begin(HANDING_OVER)
            pieces = await asyncio.to_thread(hand_over, state, pieces, room, with_rules.union(protected))
            operation.changed(now(pieces))
        gain = raw_before - fixed - total_tokens(pieces)
        left = fixed + total_tokens(pieces) - prose_tokens(pieces)
        is_little = gain_without_prose(pieces) < sizes.least_gain or left > ENOUGH_SHARE * state.budget_raw
        upper = state.estimate_of(front, pieces).upper
        is_unsure = upper > self._surely_free(state, limit_tokens)
        is_worse = is_unsure and upper >= state.with_more(raw_before - state.raw_tokens).estimate.upper
        if gain <= 0 or is_worse or ((is_little or is_unsure) and not needed):
            state.futile_above = state.raw_tokens + int(ISOLATED_SHARE * state.budget_raw)
            if not operations.begun:
                operations.begin(choice.name)
            freed = max(operations.tokens_before - now(pieces), 0)
            operations.give_up(
                f"Summarizing now would free only {counted(freed, 'token')}, so the context stays as it is."
            )
            return
        if not operations.have_changed:  # what was added behind earlier messages is all that goes
            operations.begin(REFRESHING).changed(now(pieces))
        await self.adoption.adopt(context, pieces, CutCause.THRESHOLD, operations=operations)

    async def _by_leaving_out(self, context: WritableContext, limit_tokens: int) -> None:
        """Without summaries: the oldest exchanges are not sent any more, down to the target at once."""
        state = context.state
        operations = self.adoption.operations(state, limit_tokens)
        rules = await read_rules_of_turn(self.adoption, state)
        current, kept, gone = leaving_out(self.settings, state, rules, limit_tokens)
        fixed = state.frame_tokens.total + front_of(state, rules, gone).tokens
        room = state.cut.estimator.raw_within(limit_tokens) - fixed
        with_rules = {MessageId(entry.id.message_id) for entry in rules.kept.open_entries()}
        kept = await asyncio.to_thread(hand_over, state, kept, room, with_rules.union(state.kept))
        now = state.estimate_of(front_of(state, rules, gone), kept)
        is_worse = now.upper > self._surely_free(state, limit_tokens) and now.upper >= state.estimate.upper
        if total_tokens(kept) >= total_tokens(current) or is_worse:
            state.futile_above = state.raw_tokens + int(ISOLATED_SHARE * state.budget_raw)
            return
        with operations:
            operations.begin(LEAVING_OUT).changed(now.mean)
            await self.adoption.adopt(context, kept, CutCause.THRESHOLD, left_out=gone, operations=operations)

    @staticmethod
    def _surely_free(state: ContextState, limit_tokens: int) -> int:
        """What a new cut must fit by what was measured. What was measured whole is sure of its size; put together anew
        it is not, and may be too large by that alone. A limit that a plan was given may be above the budget."""
        return min(limit_tokens, state.budget.budget)

    async def to_the_least(self, context: WritableContext, limit_tokens: int) -> None:
        """The smallest cut, for a request that no other makes room for. Raises RecentMessagesTooLarge when that does
        not either."""
        state = context.state
        with _collapsed(state), self.adoption.operations(state, limit_tokens) as operations:
            rules = await read_rules_of_turn(self.adoption, state)
            n_folded = sum(_n_messages(state.pieces[i:j]) for i, j in foldable(state.pieces))
            operation = operations.begin(*((MERGING, n_folded) if self.settings.infinity else (LEAVING_OUT, None)))
            pieces, gone = await smallest_cut(self.settings, self.writer, state, rules, limit_tokens, operation)
            left_out = joined([*state.cut.left_out, *gone])
            operation.changed(state.estimate_of(front_of(state, rules, left_out), pieces).mean)
            if self.settings.infinity:
                operation.progress(n_folded)
            await self.adoption.adopt(context, pieces, CutCause.THRESHOLD, left_out=left_out, operations=operations)

    async def distil(self, context: WritableContext) -> None:
        """For the layout `librarian`: only the newest messages go on being sent, and what is recalled for the turn."""
        state = context.state
        kept, gone = distilled(self.settings, state)
        if gone != state.cut.left_out:
            with self.adoption.operations(state, state.budget.budget) as operations:
                operations.begin(DISTILLING).changed(state.estimate_of(state.front, kept).mean)
                await self.adoption.adopt(context, kept, CutCause.LAYOUT, left_out=gone, operations=operations)

    def missing(self, state: ContextState, pieces: Sequence[Piece]) -> int:
        """By how many raw tokens the blocks are smaller than the budget wants them; 0 when there is none, or little
        is missing: they were written for a smaller window, and name less than there is room for."""
        blocks, wanted = blocks_tokens(pieces), sizes_of(self.settings, state, state.fixed_tokens).merged
        if not self.settings.infinity or MERGING not in self.settings.strategies or blocks > _FULL_SHARE * wanted:
            return 0
        return wanted - blocks if blocks else 0

    async def larger(self, state: ContextState, pieces: Sequence[Piece], room: int) -> list[Piece]:
        """The pieces with their blocks written again, as large as the budget wants them within `room` raw tokens for
        all pieces."""
        rules = (await read_rules_of_turn(self.adoption, state)).kept
        blocks = blocks_tokens(pieces)
        target = min(sizes_of(self.settings, state, state.fixed_tokens).merged, room - total_tokens(pieces) + blocks)
        result = list(pieces)
        for first, after in reversed(runs_of_blocks(pieces)):
            run = pieces[first:after]
            share = target * blocks_tokens(run) // max(blocks, 1)
            new = await self.writer.write_larger(state, PendingSummarization.of(run, share), rules)
            if total_tokens(run) < new.tokens < new.summary.original_tokens:
                result[first:after] = [new]
        return result

    async def write_ahead(self, state: ContextState) -> None:
        """Has a model write what a compaction at the threshold would want, as far as that is known now.

        Changes no cut, so it needs no lease. Raises PalimpsestError or TimeoutError when the model does not deliver.
        """
        rules = await read_rules_of_turn(self.adoption, state)
        # What lies before this place will not be among the newest any more when the threshold is passed.
        keep = sizes_of(self.settings, state, state.fixed_tokens).keep
        threshold = self.settings.threshold * state.budget_raw
        place = int(threshold) - keep - state.fixed_tokens
        pieces = list(state.pieces)
        situation = situation_of(self.settings, state, pieces, max(total_tokens(pieces) - place, 0))
        target = int(self.settings.target * state.budget_raw) - state.fixed_tokens
        situation = replace(situation, preserve_recent=newest_then(self.settings, state, int(threshold)))
        for first, after in choice_of(self.settings, situation, target).stretches:
            run = pieces[first:after]
            rest = without(run, await self.writer.ahead(state, run))
            if total_tokens(rest) > LEFT_SHARE * total_tokens(run):
                await self.writer.write_ahead(
                    state, pending_summarization(self.settings, state, rest, pieces), rules.kept
                )

    async def on_request(self, context: WritableContext, pending: PendingSummarization) -> SummaryPiece | None:
        """Writes the summary because the user asked, and adopts it; None when it would not be smaller."""
        state = context.state
        rules = await read_rules_of_turn(self.adoption, state)
        with self.adoption.operations(state, state.budget.budget) as operations:
            operation = operations.begin(MANUAL, _n_messages(pending.pieces))
            operation.progress(0)
            new = await self.writer.write(state, pending, rules.kept, operation)
            return await self._put_in(context, new, adopt, operations)

    async def write_again(
        self, context: WritableContext, old: SummaryPiece, pending: PendingSummarization
    ) -> SummaryPiece | None:
        """Writes a summary that stands in the context again, and adopts it; None when it would not be smaller than what
        `pending` says that it is made of."""
        state = context.state
        rules = await read_rules_of_turn(self.adoption, state)
        with self.adoption.operations(state, state.budget.budget) as operations:
            operation = operations.begin(MANUAL, _n_messages(pending.pieces))
            operation.progress(0)
            new = await self.writer.write(state, pending, rules.kept, operation)
            return await self._put_in(context, new, lambda pieces, new: _exchanged(pieces, old, new), operations)

    async def complete(
        self, context: WritableContext, pending: PendingSummarization, written: Written
    ) -> SummaryPiece | None:
        """Adopts a text that somebody wrote for what was asked; None when it would not be smaller."""
        state = context.state
        rules = await read_rules_of_turn(self.adoption, state)
        with self.adoption.operations(state, state.budget.budget) as operations:
            operations.begin(MANUAL, _n_messages(pending.pieces))
            new = await self.writer.complete(state, pending, written, rules.kept, machine.monotonic_s())
            return await self._put_in(context, new, adopt, operations)

    async def _put_in(
        self,
        context: WritableContext,
        new: SummaryPiece | None,
        put: Callable[[Sequence[Piece], SummaryPiece], list[Piece]],
        operations: Operations,
    ) -> SummaryPiece | None:
        state = context.state
        (operation,) = operations.begun
        if new is None:
            operation.give_up(NOT_SHORTER)
            return None
        pieces = put(state.pieces, new)
        operation.changed(state.estimate_of(state.front, pieces).mean)
        operation.progress(operation.n_items or 0)
        await self.adoption.adopt(context, pieces, CutCause.USER, operations=operations)
        return new

    async def _write_runs(
        self,
        state: ContextState,
        pieces: list[Piece],
        runs: Sequence[list[Piece]],
        kept: RuleSet,
        operation: Operation,
        now: Callable[[Sequence[Piece]], int],
    ) -> list[Piece]:
        """The pieces with one new block for each of the runs that a summary makes smaller."""
        n_done = 0
        operation.progress(n_done)
        for run in runs:
            ready = await self.writer.ready(state, run, kept)
            for each in ready:
                pieces = adopt(pieces, each)
                operation.changed(now(pieces))
            rest = without(run, ready)
            if total_tokens(rest) > LEFT_SHARE * total_tokens(run):
                pending = pending_summarization(self.settings, state, rest, pieces)
                new = await self.writer.write(state, pending, kept, operation)
                if new is not None:
                    pieces = adopt(pieces, new)
                    operation.changed(now(pieces))
            n_done += _n_messages(run)
            operation.progress(n_done)
        return pieces

    async def _merge(
        self,
        state: ContextState,
        pieces: list[Piece],
        protected: Collection[MessageId],
        target: int,
        kept: RuleSet,
        operations: Operations,
        now: Callable[[Sequence[Piece]], int],
    ) -> list[Piece]:
        """The pieces with their older blocks made into higher ones of `target` raw tokens together."""
        boundary = 1 + max((i for i, piece in enumerate(pieces) if isinstance(piece, SummaryPiece)), default=-1)
        merges = [
            (pieces[each.first : each.after], each.target) for each in plan_merges(pieces, boundary, protected, target)
        ]
        if not merges:
            return pieces
        operation, n_done = operations.begin(MERGING, sum(_n_messages(stretch) for stretch, _ in merges)), 0
        operation.progress(n_done)
        for stretch, share in merges:
            new = await self.writer.write(state, PendingSummarization.of(stretch, share), kept, operation)
            if new is not None:
                pieces = adopt(pieces, new)
                operation.changed(now(pieces))
            n_done += _n_messages(stretch)
            operation.progress(n_done)
        return pieces


@contextlib.contextmanager
def _collapsed(state: ContextState) -> Iterator[None]:
    """In this block a cut is chosen as if the user had expanded nothing. Where none is adopted, what was expanded stays
    so: the cut's transaction takes it back, and nothing else does."""
    before, version = state.expansions, state.cut.version
    state.expansions = ()
    try:
        yield
    finally:
        if state.cut.version == version:
            state.expansions = before


def _n_messages(pieces: Sequence[Piece]) -> int:
    """How many messages the pieces stand for."""
    return sum(piece.end - piece.start for piece in pieces)


def _exchanged(pieces: Sequence[Piece], old: SummaryPiece, new: SummaryPiece) -> list[Piece]:
    """The pieces with one summary in the place of another."""
    return [new if piece is old else piece for piece in pieces]
