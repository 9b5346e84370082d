"""Compaction: writes summaries and puts them in place, until a request fits its limit.

A cut is a log. A re-cut by threshold keeps the newest part verbatim, turns the older live exchanges into one new
block behind the older blocks, which stay byte-identical, and only when the blocks grow too large merges them into one
of a third of the budget. What is still too large is handed over to previews. Nothing is left out, and a re-cut that
would not make the context smaller is not adopted (invariant 7).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.chain import StoredMessage
from palimpsest.domain.constraints import detect, detect_withdrawals
from palimpsest.domain.cut import (
    Block,
    CutCause,
    Live,
    Piece,
    adopt,
    stretches_to_merge,
    total_tokens,
)
from palimpsest.domain.errors import RecentMessagesTooLarge
from palimpsest.domain.ledger import Ledger, build, over_cap, split_standing_rules, standing_rules
from palimpsest.domain.messages import MessageId
from palimpsest.domain.previews import SMALLEST_PREVIEW, fair_share, with_preview
from palimpsest.domain.settings import ContextSettings
from palimpsest.domain.strategies import MERGING, Situation, blocks_tokens, choose_strategy
from palimpsest.domain.tokens import CountText
from palimpsest.services.clock import utc_now
from palimpsest.services.context_state import ContextState, block
from palimpsest.services.events import ContextEvent, ContextEventType, EventSink
from palimpsest.services.summarizers import Summarizer
from palimpsest.storage import contexts, conversations
from palimpsest.storage.contexts import CutRecord, NewSummary
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store

KEEP_SHARE: Final = 0.15
"""Of the budget: what a re-cut by threshold keeps verbatim at the end (measured best between 15 and 20 %)."""
BLOCKS_SHARE: Final = 0.50
"""Of the budget: above it the blocks are merged."""
MERGED_SHARE: Final = 1 / 3
"""Of the budget: how large merged blocks are together."""
MINIMUM_GAIN: Final = 0.15
"""Of the budget: what a re-cut by threshold must free, unless it is needed to fit."""
ISOLATED_SHARE: Final = 0.05
"""Of the budget: live messages between blocks are summarised only when they take more."""
_SMALLEST_TARGET: Final = 40
"""Raw tokens: what a summary is given beside the standing rules, however many there are."""
LEDGER_SHARE: Final = 0.15
"""Of the budget: what the user's standing rules may take; older ones over it become ordinary text."""
BLOCK_SHARE: Final = 0.15
"""Of the budget: the largest single new block."""


@dataclass(frozen=True, slots=True)
class Compactor:
    """Carries out re-cuts of one store's conversations. The caller holds the lease."""

    store: Store
    settings: ContextSettings
    summarizer: Summarizer
    emit: EventSink

    async def by_threshold(self, state: ContextState, lease: HeldLease, limit_tokens: int) -> None:
        """A new cut that fits `limit_tokens`, if it can be had.

        Adopts nothing when too little would be gained and the request fits as it is. What the user expanded stays
        so while it fits. Raises RecentMessagesTooLarge when what must stay verbatim does not fit.
        """
        try:
            await self._by_threshold(state, lease, limit_tokens)
        except RecentMessagesTooLarge:
            if not state.expansions:
                raise
            for start, end in state.expansions:
                await self.store.run(contexts.collapse, state.id, start, end)
            state.expansions = ()
            await self._by_threshold(state, lease, limit_tokens)

    async def _by_threshold(self, state: ContextState, lease: HeldLease, limit_tokens: int) -> None:
        started = time.monotonic()
        before = state.raw_tokens
        state.cut = replace(state.cut, estimator=state.model.estimator)
        budget_raw = state.cut.estimator.raw_within(state.budget.budget)
        room = state.cut.estimator.raw_within(limit_tokens) - state.frame_tokens.total
        protected = state.kept
        target = int(self.settings.target * budget_raw) - state.frame_tokens.total
        choice = choose_strategy(
            self.settings.strategies, self._situation(state, budget_raw), target, self.settings.target_ratio
        )
        self._start(state, choice.name, limit_tokens)
        pieces = await self._write_runs(state, list(state.pieces), choice.stretches, budget_raw, choice.name)
        gain = total_tokens(state.pieces) - total_tokens(pieces)
        needed = total_tokens(state.pieces) > room
        has_grown = blocks_tokens(pieces) > BLOCKS_SHARE * budget_raw
        if total_tokens(pieces) > room or (
            MERGING in self.settings.strategies and (has_grown or gain < MINIMUM_GAIN * budget_raw)
        ):
            pieces = await self._merge(state, pieces, protected, int(MERGED_SHARE * min(budget_raw, max(room, 1))))
        rules = await self.ledger(state)
        with_rules = {MessageId(entry.id.message_id) for entry in rules.open_entries()}
        pieces = await asyncio.to_thread(hand_over, state, pieces, room, with_rules.union(protected))
        gain = total_tokens(state.pieces) - total_tokens(pieces)
        if gain <= 0 or (gain < MINIMUM_GAIN * budget_raw and not needed):
            state.futile_above = before + int(ISOLATED_SHARE * budget_raw)
            self._emit(
                state,
                ContextEventType.SUMMARIZATION_ERROR,
                strategy=choice.name,
                error=f"Summarising would free only {max(gain, 0)} tokens, so the context stays as it is.",
            )
            return
        await self.adopt(state, lease, pieces, CutCause.THRESHOLD)
        self._complete(state, choice.name, before, started)

    async def ledger(self, state: ContextState) -> Ledger:
        """The user's standing rules as they hold now, without those over the cap (DESIGN §6)."""
        if state.ruling_until < state.n_messages:
            messages = await self.store.read(conversations.read_user_messages, state.id, state.ruling_until)
            state.ruling += await asyncio.to_thread(_ruling, messages)
            state.ruling_until = state.n_messages
        cap = int(LEDGER_SHARE * state.cut.estimator.raw_within(state.budget.budget))
        whole = build(state.ruling, (), ())
        return whole.without(over_cap(whole.entries, cap, state.tokenizer.count))

    def _situation(self, state: ContextState, budget_raw: int) -> Situation:
        return Situation(
            state.pieces,
            state.kept,
            int(KEEP_SHARE * budget_raw),
            self.settings.preserve_recent,
            self.settings.tool_age,
            int(ISOLATED_SHARE * budget_raw),
        )

    def would_summarize(self, state: ContextState) -> list[tuple[int, int]]:
        """The stretches of pieces that a re-cut now would make into summaries first."""
        budget_raw = state.cut.estimator.raw_within(state.budget.budget)
        target = int(self.settings.target * budget_raw) - state.frame_tokens.total
        return choose_strategy(
            self.settings.strategies, self._situation(state, budget_raw), target, self.settings.target_ratio
        ).stretches

    async def on_request(self, state: ContextState, lease: HeldLease, first: int, after: int) -> Block | None:
        """Summarises the pieces [first, after) because the user asked; None when a summary would not be smaller."""
        started = time.monotonic()
        before = state.raw_tokens
        budget_raw = state.cut.estimator.raw_within(state.budget.budget)
        self._start(state, "manual", state.budget.budget)
        pieces = await self._write_runs(state, list(state.pieces), [(first, after)], budget_raw, "manual")
        saved = total_tokens(state.pieces) - total_tokens(pieces)
        new = next((piece for piece in pieces if isinstance(piece, Block) and piece not in state.pieces), None)
        if new is None or saved <= 0:
            self._emit(
                state,
                ContextEventType.SUMMARIZATION_ERROR,
                strategy="manual",
                error="A summary would not be shorter than what it stands for.",
            )
            return None
        await self.adopt(state, lease, pieces, CutCause.USER)
        self._complete(state, "manual", before, started)
        return new

    async def rewrite(self, state: ContextState, made_of: Sequence[Piece]) -> Block | None:
        """A new summary of the pieces, stored; None when it would not be smaller."""
        budget_raw = state.cut.estimator.raw_within(state.budget.budget)
        size = total_tokens(made_of)
        return await self._write(
            state, made_of, min(int(size * self.settings.target_ratio), int(BLOCK_SHARE * budget_raw))
        )

    async def adopt(
        self, state: ContextState, lease: HeldLease, pieces: Sequence[Piece], cause: CutCause, frame_digest: str = ""
    ) -> None:
        """Makes the pieces the conversation's cut: a new version, stored with its cause."""
        cut = CutRecord(
            state.cut.version + 1,
            cause,
            state.model.name,
            state.model.estimator,
            frame_digest or state.cut.frame_digest,
            MessageId(pieces[-1].end if pieces else 0),
            tuple(piece.summary.id for piece in pieces if isinstance(piece, Block)),
        )
        previews = {p.message.id: p.preview for p in pieces if isinstance(p, Live) and p.preview is not None}
        await self.store.run(contexts.write_cut, lease, cut, previews, utc_now())
        state.n_sent = min(state.n_sent, _n_common(state.pieces, pieces))
        state.cut, state.pieces, state.futile_above = cut, list(pieces), 0
        self._emit(
            state, ContextEventType.RECUT, cause=cause.value, new_token_count=cut.estimator.mean(state.raw_tokens)
        )

    async def _write_runs(
        self,
        state: ContextState,
        pieces: list[Piece],
        runs: Sequence[tuple[int, int]],
        budget_raw: int,
        strategy: str,
    ) -> list[Piece]:
        """The pieces with one new block for each run that a summary makes smaller."""
        originals = [pieces[first:after] for first, after in runs]
        n_items, n_done, saved = sum(len(run) for run in originals), 0, 0
        for run in originals:
            size = total_tokens(run)
            target = min(int(size * self.settings.target_ratio), int(BLOCK_SHARE * budget_raw))
            new = await self._write(state, run, target)
            if new is not None:
                pieces = adopt(pieces, new)
                saved += size - new.tokens
            n_done += len(run)
            self._emit(
                state,
                ContextEventType.SUMMARIZATION_PROGRESS,
                strategy=strategy,
                items_processed=n_done,
                total_items=n_items,
                tokens_saved=saved,
            )
        return pieces

    async def _merge(
        self, state: ContextState, pieces: list[Piece], protected: Collection[MessageId], target: int
    ) -> list[Piece]:
        """The pieces with their older blocks made into higher ones of `target` raw tokens together."""
        boundary = 1 + max((i for i, piece in enumerate(pieces) if isinstance(piece, Block)), default=-1)
        stretches = [pieces[i:j] for i, j in stretches_to_merge(pieces, boundary, protected)]
        merged = sum(total_tokens(stretch) for stretch in stretches)
        for stretch in stretches:
            new = await self._write(state, stretch, max(target * total_tokens(stretch) // max(merged, 1), 1))
            if new is not None:
                pieces = adopt(pieces, new)
        return pieces

    async def _write(self, state: ContextState, run: Sequence[Piece], target: int) -> Block | None:
        """A stored summary of the run as a block; None when it would not be smaller (invariant 7)."""
        started = time.monotonic()
        # Invariant 9: what holds stands at the head, verbatim, whatever it leaves for the rest.
        rules = standing_rules(await self.ledger(state), run[0].start, run[-1].end)
        target = max(target - state.tokenizer.count(rules), _SMALLEST_TARGET)
        written = await self.summarizer.write([_without_rules(piece) for piece in run], target, state.tokenizer.count)
        text = f"{rules}\n{written.text}" if rules else written.text
        if written.note is not None:
            self._emit(state, ContextEventType.SUMMARIZATION_ERROR, strategy=written.kind, error=written.note)
        lower = [piece.summary for piece in run if isinstance(piece, Block)]
        originals = sum(piece.original_tokens for piece in run if isinstance(piece, Live))
        new = NewSummary(
            start=run[0].start,
            end=run[-1].end,
            level=1 + max((summary.level for summary in lower), default=0),
            kind=written.kind,
            text=text,
            original_tokens=originals + sum(summary.original_tokens for summary in lower),
            author=written.author,
            children=tuple(summary.id for summary in lower),
            duration_ms=int((time.monotonic() - started) * 1000),
        )
        # The overhead of a rendered block is at most this much: do not store what will be refused.
        if state.tokenizer.count(text) >= total_tokens(run):
            return None
        summary = await self.store.run(contexts.write_summary, state.id, new, utc_now())
        rendered = block(summary, state.tokenizer)
        return rendered if rendered.tokens < total_tokens(run) else None

    def _start(self, state: ContextState, strategy: str, limit_tokens: int) -> None:
        current = state.cut.estimator.mean(state.raw_tokens)
        self._emit(
            state,
            ContextEventType.SUMMARIZATION_START,
            strategy=strategy,
            current_tokens=current,
            max_tokens=limit_tokens,
        )

    def _complete(self, state: ContextState, strategy: str, before: int, started: float) -> None:
        after = state.raw_tokens
        self._emit(
            state,
            ContextEventType.SUMMARIZATION_COMPLETE,
            strategy=strategy,
            tokens_saved=state.cut.estimator.mean(before) - state.cut.estimator.mean(after),
            new_token_count=state.cut.estimator.mean(after),
            duration_ms=int((time.monotonic() - started) * 1000),
        )

    def _emit(self, state: ContextState, type: ContextEventType, **fields: object) -> None:
        self.emit(replace(ContextEvent(state.id, type, utc_now()), **fields))  # type: ignore[arg-type]


def _ruling(messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Those that make or take back a standing rule: looked for once a message, because it costs about 1 ms."""
    return tuple(m for m in messages if detect(m.content) or detect_withdrawals(m.content))


def _without_rules(piece: Piece) -> Piece:
    """A block without the standing rules at its head: the summary made of it gets the rules anew."""
    if not isinstance(piece, Block):
        return piece
    _, rest = split_standing_rules(piece.summary.text)
    return replace(piece, summary=replace(piece.summary, text=rest))


def hand_over(state: ContextState, pieces: Sequence[Piece], room: int, protected: Collection[MessageId]) -> list[Piece]:
    """The pieces with the biggest live messages as previews, so that all fit `room` raw tokens.

    Raises RecentMessagesTooLarge when that does not help. The running turn's request is never touched.
    """
    count: CountText = state.tokenizer.count
    result = list(pieces)
    share_of = 1.0
    while (total := total_tokens(result)) > room:
        movable = [
            index for index, piece in enumerate(result) if isinstance(piece, Live) and piece.message.id not in protected
        ]
        fixed = total - sum(result[index].tokens for index in movable)
        share = int(fair_share([result[index].tokens for index in movable], max(room - fixed, 0)) * share_of)
        if not movable or share < SMALLEST_PREVIEW or share_of < 0.2:
            n_verbatim = sum(isinstance(piece, Live) for piece in result)
            raise RecentMessagesTooLarge(
                state.cut.estimator.upper(state.frame_tokens.total + total),
                state.cut.estimator.upper(state.frame_tokens.total + max(room, 0)),
                n_verbatim,
            )
        for index in movable:
            piece = result[index]
            if isinstance(piece, Live) and piece.tokens > share:
                result[index] = with_preview(piece, share, count)
        share_of *= 0.8
    return result


def _n_common(old: Sequence[Piece], new: Sequence[Piece]) -> int:
    """How many leading pieces are the same in both."""
    n_common = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        n_common += 1
    return n_common
