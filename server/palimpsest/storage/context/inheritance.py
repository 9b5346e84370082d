"""Inheritance: the part of its parent's context that a fork begins with."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.domain.messages import ConversationId, MessageId, SummaryId
from palimpsest.storage.context import cuts, summary_tree
from palimpsest.storage.context import rules as commanded_rules
from palimpsest.storage.context.cuts import CompactionReport, CutRecord
from palimpsest.storage.context.summary_tree import NewSummary
from palimpsest.storage.conversation import hidden_ranges


def inherit(child: ConversationId, parent: ConversationId, at: MessageId, now: str) -> None:
    """Gives a fork its parent's hidden ranges, the summaries that end at or before `at`, and the cut made of them."""
    new_ids: dict[int, int] = {}
    hidden = sorted(
        (each for each in hidden_ranges.read(parent) if each.start < at), key=lambda each: each.last_summary
    )
    summaries = [each for each in summary_tree.read(parent) if each.end <= at]
    for old in summaries:
        # In the order of the events: a summary that was written after a range was hidden may reach over it.
        while hidden and hidden[0].last_summary < old.id:
            each = hidden.pop(0)
            hidden_ranges.add(child, each.start, min(each.end, at), now)
        new = NewSummary(
            old.start,
            old.end,
            old.level,
            old.kind,
            old.text,
            old.original_tokens,
            old.author,
            tuple(SummaryId(new_ids[each]) for each in old.children if each in new_ids),
            0,
        )
        new_ids[old.id] = summary_tree.write(child, new, now).id
    for each in hidden:
        hidden_ranges.add(child, each.start, min(each.end, at), now)
    cut = cuts.latest_cut(parent)
    if cut is not None:
        blocks = tuple(SummaryId(new_ids[block]) for block in cut.blocks if block in new_ids)
        left_out = tuple((start, min(end, at)) for start, end in cut.left_out if start < at)
        front = "" if _may_quote_from(parent, cut, at) else cut.front
        own = replace(cut, version=1, end=min(cut.end, at), blocks=blocks, front=front, left_out=left_out)
        cuts.insert_cut(child, own, CompactionReport(), now)
        previews = {m: c for m, c in cuts.read_previews(parent, cut.version).items() if m < at}
        cuts.write_previews(child, 1, previews)


def _may_quote_from(conversation_id: ConversationId, cut: CutRecord, at: MessageId) -> bool:
    """Whether the front of the cut may quote rules of the messages from `at` on: the front repeats rules that were
    withdrawn, and rules of messages that are left out. Without the front, the next turn is told the other rules."""
    is_told = any(entry.message_id >= at for entry in commanded_rules.withdrawals(conversation_id))
    return is_told or any(end > at for _, end in cut.left_out)
