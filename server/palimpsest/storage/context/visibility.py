"""Removing words from every context: the words of hidden messages, and of facts that are removed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from palimpsest.domain.facts.fact import FactId
from palimpsest.domain.messages import ConversationId, MessageId, SummaryId
from palimpsest.storage import leases
from palimpsest.storage.context import cuts, injections, summary_tree
from palimpsest.storage.conversation import hidden_ranges
from palimpsest.storage.facts import facts


@dataclass(frozen=True, slots=True)
class HidingEffect:
    """The effect of hiding messages."""

    last_hidden: int
    """`hidden_ranges.last_hidden` now."""
    has_new_cut: bool
    """Whether a text left the context with the messages, so that the context in memory is out of date."""
    has_lost_summaries: bool
    """Whether summaries left the context, so that other messages are live again."""


def hide(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> HidingEffect:
    """Hides the messages [start, end), closes the facts that rest on them, and removes from every context the texts
    that may repeat them: summaries of this conversation, its front, and injections of those facts in other
    conversations. From then on no hidden word is sent, even if the caller is cancelled. A better cut may be chosen
    afterwards.

    A turn that runs in another conversation keeps its injections; the next turn there has them no more.
    """
    hidden_ranges.add(conversation_id, start, end, now)
    closed = facts.close_from(conversation_id, start, end, now)
    _end_telling(facts.told_in(closed) - {conversation_id}, now)
    cut = cuts.latest_cut(conversation_id)
    gone: list[SummaryId] = []
    if cut is not None:
        hidden = hidden_ranges.read(conversation_id)
        blocks = summary_tree.read(conversation_id, cut.blocks)
        gone = [each.id for each in blocks if not summary_tree.is_usable(each, hidden)]
    has_new_cut = cut is not None and bool(gone or cut.front)
    if has_new_cut:
        cuts.add_cut_without(conversation_id, gone, now, has_front=False)
    return HidingEffect(hidden_ranges.last_hidden(conversation_id), has_new_cut, bool(gone))


def untell(ids: Sequence[FactId], now: str) -> None:
    """Removes the injections of facts that are about to be removed: afterwards nobody could find those injections, and
    a purge of the messages behind the facts would leave them. A turn that runs keeps its injections, as with `hide`."""
    tellers = facts.told_in(ids)
    for teller in tellers:
        injections.forget_recall(teller)
    _end_telling(tellers, now)


def _end_telling(tellers: Collection[ConversationId], now: str) -> None:
    """Ends the recall of facts in those conversations. A server that writes one of them owns its cuts and keeps its
    injections for the turn; the next turn notices the removal and reads the context anew."""
    for teller in sorted(tellers):
        if leases.holder_of(teller) is None:
            cuts.add_cut_without(teller, (), now)
        else:
            injections.end_recall(teller)
