"""The standing rules at the head of a block, kept up with what holds."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.context.rules.rule_set import RuleSet, missing, split_standing_rules, standing_rules
from palimpsest.machine import utc_now
from palimpsest.services.context.state import ContextState, block
from palimpsest.storage.context import summary_tree
from palimpsest.storage.context.summary_tree import NewSummary
from palimpsest.storage.store import Store


async def with_rules(
    store: Store, state: ContextState, pieces: Sequence[SummaryPiece], kept: RuleSet
) -> list[SummaryPiece]:
    """The blocks, each with every standing rule of its range verbatim: rules may hold again after a roll back. A block
    that lacks one is written again with all of them."""
    result: list[SummaryPiece] = []
    for each in pieces:
        within = RuleSet(kept.open_entries(range(each.start, each.end)))
        result.append(await _written_again(store, state, each, within) if missing(within, [each]) else each)
    return result


async def _written_again(store: Store, state: ContextState, old: SummaryPiece, kept: RuleSet) -> SummaryPiece:
    summary = old.summary
    _, rest = split_standing_rules(summary.text)
    rules = standing_rules(kept, summary.start, summary.end)
    new = NewSummary(
        summary.start,
        summary.end,
        summary.level,
        summary.kind,
        f"{rules}\n{rest}",
        summary.original_tokens,
        summary.author,
        summary.children,
        0,
    )
    return block(await store.run(summary_tree.write, state.id, new, utc_now()), state.tokenizer)
