"""Writes summaries and stores them; whether one is used is for a cut to say.

A summary may be written ahead of need, and a model may deliver one after a turn stopped waiting for it. Both are nodes
of the forest like any other, found again at the next compaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.cut import MessagePiece, Piece, SummaryPiece, piece_starts, prose_tokens, total_tokens
from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.page import page
from palimpsest.domain.context.rules.rule_set import RuleSet, split_standing_rules, standing_rules
from palimpsest.domain.context.summaries.hybrid import PROSE_OF_BUDGET, PROSE_SHARE
from palimpsest.domain.context.summaries.node import AUTHOR, PROSE, Summary
from palimpsest.domain.context.summaries.pending import PendingSummarization
from palimpsest.domain.context.summaries.tiers import made_of
from palimpsest.domain.messages import MessageId
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.machine import machine, utc_now
from palimpsest.services.background import Background
from palimpsest.services.context.notebooks import Notebooks, told_by
from palimpsest.services.context.operations import Operation
from palimpsest.services.context.state import ContextState, block
from palimpsest.services.context.summaries.rule_heads import with_rules
from palimpsest.services.context.summaries.summarizers import (
    ExtractiveSummarizer,
    HybridSummarizer,
    PatientSummarizer,
    Summarizer,
    SummaryTask,
    UnusableSummary,
    Written,
    without,
)
from palimpsest.services.models.helper import Check
from palimpsest.storage.context import statistics, summary_tree
from palimpsest.storage.context.summary_tree import NewSummary
from palimpsest.storage.store import Store

_SMALLEST_TARGET: Final = 40
"""Raw tokens: what a summary is given beside the standing rules, however many there are."""


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    """Writes for one store's conversations."""

    store: Store
    summarizer: Summarizer
    notebooks: Notebooks
    background: Background

    async def write(
        self, state: ContextState, pending: PendingSummarization, kept: RuleSet, operation: Operation
    ) -> SummaryPiece | None:
        """A stored summary as a block; None when it would not be smaller."""
        started = machine.monotonic_s()
        last_hidden = state.last_hidden
        rules, task = self._task(state, pending, kept, last_hidden)
        if self.has_pages:
            task = replace(task, ahead=await self.ahead(state, pending.pieces))
        written = await self.summarizer.write(task)
        if written.note is not None:
            operation.fall_back(written.note)
        await self._pay(state, written.refused, started)
        if written.later is not None:
            late = self._store_late(state, pending, rules, written.later, last_hidden, started)
            self.background.start(state.id, late, pending.scope.range[1])
        return await self.complete(state, pending, written, kept, started)

    async def complete(
        self, state: ContextState, pending: PendingSummarization, written: Written, kept: RuleSet, started: float
    ) -> SummaryPiece | None:
        """Stores a text for what was asked for; None when it is not smaller than that."""
        rules = standing_rules(kept, *pending.scope.range)
        new = await self._node(state, pending, written, rules, started)
        # The overhead of a rendered block is at most this much: do not store what will be refused.
        if state.tokenizer.count(new.text) >= pending.shown_tokens:
            await self._pay(state, written.usage, started)
            return None
        summary = await self.store.run(summary_tree.write, state.id, new, utc_now())
        rendered = block(summary, state.tokenizer)
        without_prose = rendered.tokens - rendered.prose_tokens, pending.shown_tokens - prose_tokens(pending.pieces)
        is_smaller = rendered.tokens < pending.shown_tokens and without_prose[0] < without_prose[1]
        return rendered if is_smaller else None

    async def write_larger(self, state: ContextState, pending: PendingSummarization, kept: RuleSet) -> SummaryPiece:
        """A stored page of messages that smaller ones stand for, for a window that has grown. No model is asked."""
        started = machine.monotonic_s()
        rules, task = self._task(state, pending, kept, state.last_hidden)
        written = await ExtractiveSummarizer().write(task)
        new = await self._node(state, pending, written, rules, started)
        return block(await self.store.run(summary_tree.write, state.id, new, utc_now()), state.tokenizer)

    @property
    def has_pages(self) -> bool:
        """Whether a page stands in front of a model's text, and so records the messages that the text leaves out."""
        return isinstance(self.summarizer, PatientSummarizer) and isinstance(self.summarizer.first, HybridSummarizer)

    async def write_ahead(self, state: ContextState, pending: PendingSummarization, kept: RuleSet) -> None:
        """Stores a model's summary for the next compaction. Raises PalimpsestError or TimeoutError where there is
        none."""
        if not isinstance(self.summarizer, PatientSummarizer):
            return  # without a model a summary takes no time
        started = machine.monotonic_s()
        last_hidden = state.last_hidden
        rules, task = self._task(state, pending, kept, last_hidden)
        try:
            written = await self.summarizer.ahead(task)
        except UnusableSummary as error:
            await self._pay(state, error.usage, started)
            raise
        if written is not None:
            new = await self._node(state, pending, written, rules, started)
            await self.store.run(summary_tree.write_later, state.id, new, last_hidden, utc_now())

    async def _store_late(
        self,
        state: ContextState,
        pending: PendingSummarization,
        rules: str,
        later: asyncio.Task[Written],
        last_hidden: int,
        started: float,
    ) -> None:
        try:
            written = await later
        except UnusableSummary as error:
            await self._pay(state, error.usage, started)
            raise
        finally:
            later.cancel()
        new = await self._node(state, pending, written, rules, started)
        await self.store.run(summary_tree.write_later, state.id, new, last_hidden, utc_now())

    async def _node(
        self, state: ContextState, pending: PendingSummarization, written: Written, rules: str, started: float
    ) -> NewSummary:
        blocks = [piece.summary for piece in pending.pieces if isinstance(piece, SummaryPiece)]
        children = tuple(block.id for block in blocks)
        level = 1 + max((block.level for block in blocks), default=0)
        if len(blocks) > 1:
            tree = await self.store.read(summary_tree.nodes, state.id)
            if all(child in tree for child in children):  # else a purge has taken them, and soon takes this one
                children = made_of(children, tree)
                level = 1 + max(tree[child].level for child in children)
        start, end = pending.scope.range
        return NewSummary(
            start=start,
            end=end,
            level=level,
            kind=written.kind,
            text=f"{rules}\n{written.text}" if rules else written.text,
            original_tokens=pending.original_tokens,
            author=written.author,
            children=children,
            duration_ms=int((machine.monotonic_s() - started) * 1000),
            input_tokens=written.usage.prompt_tokens,
            output_tokens=written.usage.output_tokens,
        )

    def _still_shown(self, state: ContextState, pending: PendingSummarization, last_hidden: int) -> Check:
        """Raises UnusableSummary once any of the messages is hidden or purged. Here such a change stops the work,
        but another server's does not. `last_hidden`: when the pieces were chosen, which may be before the work
        begins."""

        async def check() -> None:
            if await self.store.read(summary_tree.hidden_since, state.id, *pending.scope.range, last_hidden):
                raise UnusableSummary("Messages of the summary were hidden or purged meanwhile.")

        return check

    async def _pay(self, state: ContextState, usage: TokenUsage, started: float) -> None:
        """Puts what a model took for texts that are not used into the account."""
        if usage.prompt_tokens or usage.output_tokens:
            took_ms = int((machine.monotonic_s() - started) * 1000)
            tokens = usage.prompt_tokens, usage.output_tokens
            await self.store.run(statistics.write_refused, state.id, *tokens, took_ms, utc_now())

    def _task(
        self, state: ContextState, pending: PendingSummarization, kept: RuleSet, last_hidden: int
    ) -> tuple[str, SummaryTask]:
        """The standing rules at the head, and the task of writing the rest."""
        # What holds stands at the head, verbatim, whatever it leaves for the rest.
        rules = standing_rules(kept, *pending.scope.range)
        target = max(pending.target_tokens - state.tokenizer.count(rules), _SMALLEST_TARGET)
        pieces = [_without_rules(piece) for piece in pending.pieces]
        check = self._still_shown(state, pending, last_hidden)
        outside = _outside(state, pending.scope.range)
        prose = min(PROSE_SHARE * target, PROSE_OF_BUDGET * state.budget_raw - prose_tokens(outside))
        write_page = self._pages(state, pending.scope.range, kept)
        return rules, SummaryTask(
            pieces, target, state.tokenizer.count, write_page, check, max(int(prose), 0), about=state.record.id
        )

    def _pages(
        self, state: ContextState, scope: tuple[MessageId, MessageId], kept: RuleSet
    ) -> Callable[[int], Awaitable[str]]:
        """Chooses pages of the messages [start, end) that tell again neither what stands elsewhere in the context as it
        is now, nor the rules at their head."""
        start, end = scope
        outside = _outside(state, scope)
        ruled = [" ".join(entry.text.split()) for entry in kept.open_entries(range(start, end))]

        async def write(target_tokens: int) -> str:
            def choose(book: Notebook) -> str:
                return page(book, start, end, target_tokens, told_by(book, outside), ruled)

            return await self.notebooks.ask(state, choose)

        return write

    async def ready(self, state: ContextState, run: Sequence[Piece], kept: RuleSet) -> list[SummaryPiece]:
        """Summaries that a model wrote ahead and that can stand for the first messages of the run, the oldest first."""
        return [] if self.has_pages else await with_rules(self.store, state, await self.ahead(state, run), kept)

    async def ahead(self, state: ContextState, run: Sequence[Piece]) -> list[SummaryPiece]:
        """Texts that a model wrote ahead about the first messages of the run, the oldest first."""
        found: list[SummaryPiece] = []
        while (rest := without(run, found)) and isinstance(rest[0], MessagePiece):
            if (longest := await self._longest(state, rest)) is None:
                break
            found.append(longest)
        return found

    async def _longest(self, state: ContextState, run: Sequence[Piece]) -> SummaryPiece | None:
        found = await self.store.read(summary_tree.find_written, state.id, run[0].start, run[-1].end)
        ends = {run[start - 1].end: start for start in piece_starts(run) if start} | {run[-1].end: len(run)}
        best: SummaryPiece | None = None
        for summary in found:
            n_covered = ends.get(summary.end)
            if summary.children or n_covered is None or (best is not None and summary.end <= best.end):
                continue
            if (summary.kind == PROSE) is not self.has_pages:
                continue
            covered = total_tokens(run[:n_covered])
            candidate = block(summary, state.tokenizer)
            if candidate.tokens < covered:
                best = candidate
        return best

    async def improved(self, state: ContextState, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces, with what a model has meanwhile written in place of what was quoted while a turn waited."""
        result: list[Piece] = []
        for piece in pieces:
            if isinstance(piece, SummaryPiece) and piece.summary.author == AUTHOR:
                found = await self.store.read(summary_tree.find_written, state.id, piece.start, piece.end)
                better = next((each for each in found if _is_better(each, piece.summary)), None)
                result.append(piece if better is None else block(better, state.tokenizer))
            else:
                result.append(piece)
        return result


def _is_better(newer: Summary, old: Summary) -> bool:
    is_newer = newer.id > old.id and newer.kind != PROSE
    return is_newer and newer.end == old.end and newer.children == old.children


def _outside(state: ContextState, scope: tuple[MessageId, MessageId]) -> list[Piece]:
    """The pieces of the context as it is now that a summary of the messages [start, end) leaves there."""
    start, end = scope
    return [piece for piece in state.pieces if piece.end <= start or end <= piece.start]


def _without_rules(piece: Piece) -> Piece:
    """A block without the standing rules at its head: the summary made of it gets the rules anew."""
    if isinstance(piece, MessagePiece):
        return piece
    _, rest = split_standing_rules(piece.summary.text)
    return replace(piece, summary=replace(piece.summary, text=rest))
