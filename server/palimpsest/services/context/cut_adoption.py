"""Adoption: the pieces that were chosen become the conversation's cut, with everything that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import attrs

from palimpsest.domain.context.cut import CutCause, MessagePiece, Piece, SummaryPiece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.rules.rule_set import missing
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.context.strategies import LEAVING_OUT
from palimpsest.domain.messages import MessageId
from palimpsest.machine import utc_now
from palimpsest.services.context.compaction_plan import Ranges
from palimpsest.services.context.operations import Operations
from palimpsest.services.context.rules import front_of, read_rules_of_turn
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.summaries.rule_heads import with_rules
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.events import ContextEvent, EventSink
from palimpsest.storage.context import cuts
from palimpsest.storage.context.cuts import CompactionReport, CutRecord
from palimpsest.storage.store import Store


@dataclass(frozen=True, slots=True)
class CutAdoption:
    """Adopts cuts of one store's conversations. The caller holds the lease."""

    store: Store
    emit: EventSink

    def operations(self, state: ContextState, limit_tokens: int) -> Operations:
        """What is done for a compaction of the state as it stands, counted by the estimator of now."""
        state.renew_estimator()
        return Operations(self.emit, state.id, state.estimate.mean, limit_tokens)

    async def adopt(
        self,
        context: WritableContext,
        pieces: Sequence[Piece],
        cause: CutCause,
        *,
        frame_digest: str = "",
        left_out: Ranges | None = None,
        operations: Operations | None = None,
        expanded: tuple[MessageId, MessageId] | None = None,
    ) -> None:
        """Make the pieces the conversation's cut: a new version, stored with its cause and what it did.

        `left_out`: None for what was left out before. `operations`: what was done to come to the pieces; they are
        complete when the cut is stored. `expanded`: [start, end) that the user wants to see as originals from now on.
        What was added behind messages goes; what the user ruled by command goes to the front; blocks get the rules that
        hold again. What was expanded is stored with the cut: of what was before, what the state still names.
        """
        state = context.state
        left_out = state.cut.left_out if left_out is None else left_out
        if operations is None:
            operations = self.operations(state, state.budget.budget)
        rules = await read_rules_of_turn(self, state)
        front = front_of(state, rules, left_out)
        plain = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in pieces]
        lost = missing(rules.kept, plain, front.text)
        if lost:
            blocks = [piece for piece in plain if isinstance(piece, SummaryPiece)]
            headed = {each.start: each for each in await with_rules(self.store, state, blocks, rules.kept)}
            plain = [headed[piece.start] if isinstance(piece, SummaryPiece) else piece for piece in plain]
        after = state.estimate_of(front, plain).mean
        cut = CutRecord(
            state.cut.version + 1,
            cause,
            state.model.name,
            state.model.estimator,
            frame_digest or state.cut.frame_digest,
            MessageId(plain[-1].end if plain else 0),
            tuple(piece.summary.id for piece in plain if isinstance(piece, SummaryPiece)),
            front.text,
            tuple(left_out),
        )
        previews = {p.message.id: p.preview for p in plain if isinstance(p, MessagePiece) and p.preview is not None}
        report = CompactionReport(operations.saved(after), operations.tokens_before, after, operations.duration_ms)
        has_left_out_others = cut.left_out != state.cut.left_out
        expansions = state.expansions if expanded is None else (*state.expansions, expanded)

        def write() -> None:
            cuts.write_cut(context.lease, cut, previews, report, utc_now())
            cuts.keep_expansions(state.id, expansions)

        def follow(_: None) -> None:
            common = _n_common(state.pieces, plain) if front == state.front else 0
            state.n_sent = min(state.n_sent, common)
            state.cut, state.front, state.pieces, state.futile_above = cut, front, plain, 0
            state.expansions = expansions
            self._emit(state, ContextEventType.COMPACTION, cause=cause.value, new_token_count=after)
            if has_left_out_others and cause is not CutCause.LAYOUT:  # which there is every turn, as the user chose
                self._emit(state, ContextEventType.LEFT_OUT, strategy=LEAVING_OUT, left_out=cut.left_out)
            operations.complete()
            self._tell_demoted(state, rules)

        await self.store.commit(write, follow)

    def _tell_demoted(self, state: ContextState, rules: StandingRules) -> None:
        """Says which standing rules became ordinary text, once."""
        open_ids = {entry.id for entry in rules.whole.open_entries()}
        demoted = frozenset(entry.id for entry in rules.demoted if entry.id in open_ids)
        if fresh := sorted(demoted - state.demoted):
            self._emit(
                state,
                ContextEventType.RULES_CAP,
                rules=tuple(str(each) for each in fresh),
                max_tokens=state.cut.estimator.part(rules.cap_tokens),
            )
        state.demoted = demoted

    def _emit(self, state: ContextState, type: ContextEventType, **fields: object) -> None:
        self.emit(attrs.evolve(ContextEvent(state.id, type, utc_now()), **fields))  # type: ignore[arg-type]


def _n_common(old: Sequence[Piece], new: Sequence[Piece]) -> int:
    """How many leading pieces are the same in both."""
    n_common = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        n_common += 1
    return n_common
