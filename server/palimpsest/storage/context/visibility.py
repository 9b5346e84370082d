"""Taking words out of every context: of messages that are hidden, and of facts that are removed."""

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
class Hid:
    """What hiding messages did."""

    last_hidden: int
    """See `hidden_ranges.last_hidden`."""
    has_new_cut: bool
    """Whether something left the context with them: memory is to be read anew."""
    has_lost_summaries: bool
    """Whether summaries did, so that other messages are live again."""


def hide(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> Hid:
    """Hides the messages [start, end), closes the facts of them, and takes out of every context what speaks of them:
    summaries of this conversation, what stands in front of it, which may say rules of theirs, and what others were told
    of those facts. Nothing hidden is sent, whatever becomes of the caller. A better cut may be chosen afterwards.

    A turn that runs in another conversation keeps what it was told before; the next one there is told it no more."""
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
    return Hid(hidden_ranges.last_hidden(conversation_id), has_new_cut, bool(gone))


def untell(ids: Sequence[FactId], now: str) -> None:
    """The facts are about to be removed: no turn was told them any more. Once they are gone, nobody could find what was
    told of them, and a purge of the words they rest on would leave it. As with `hide`, a turn that runs keeps what it
    was told."""
    tellers = facts.told_in(ids)
    for teller in tellers:
        injections.forget_recall(teller)
    _end_telling(tellers, now)


def _end_telling(tellers: Collection[ConversationId], now: str) -> None:
    """Their next requests say it no more. Whoever writes at the moment owns the cuts, and goes on with what was told;
    the next turn finds something taken away, and reads the context anew."""
    for teller in sorted(tellers):
        if leases.holder_of(teller) is None:
            cuts.add_cut_without(teller, (), now)
        else:
            injections.forget_recall(teller)
