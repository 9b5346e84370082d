"""Hidden words: words of messages that were rolled back or purged, and that remain in facts and summaries. Earlier
versions could leave them: after a request that was cut off, or when background work did not check again.

`find` looks for them, `mend` takes them out of use; a store does both when it is opened. Each is called inside one
transaction.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.facts.fact import FactId
from palimpsest.domain.messages import ConversationId, SummaryId
from palimpsest.storage.context import cuts, summary_tree
from palimpsest.storage.conversation import conversations, hidden_ranges, passages, search
from palimpsest.storage.conversation.hidden_ranges import HiddenRange
from palimpsest.storage.facts import facts
from palimpsest.storage.sql import execute

_CITED: Final = re.compile(r"^- \[(\d{1,9})\]", re.M)
"""The form in which a summary without a model names the message of a line."""


@dataclass(frozen=True, slots=True)
class HiddenWords:
    """The facts and summaries with hidden words."""

    of_purged: tuple[FactId, ...] = ()
    """Facts that rest on purged messages."""
    of_hidden: tuple[FactId, ...] = ()
    """Open facts that rest on messages that were rolled back."""
    summaries: tuple[tuple[ConversationId, SummaryId], ...] = ()
    """Usable summaries that were made of messages which had been rolled back."""

    def __bool__(self) -> bool:
        return bool(self.of_purged or self.of_hidden or self.summaries)


def find() -> HiddenWords:
    purged = [FactId(each) for (each,) in execute(_FACTS_OF_PURGED)]
    purged += _inherited_and_purged()
    hidden = [FactId(each) for (each,) in execute(_FACTS_OF_HIDDEN) if each not in purged]
    return HiddenWords(tuple(sorted(purged)), tuple(hidden), tuple(_summaries()))


def mend(found: HiddenWords, now: str) -> None:
    """Removes the facts of purged words with everything stored for them, closes the facts of hidden words, and takes
    the summaries out of use: they stay stored, and their messages are live again until the next compaction. The caller
    empties the log where facts were removed."""
    if found.of_purged:
        tellers = facts.told_in(found.of_purged)
        facts.remove(found.of_purged)
        search.settle()
        passages.settle()
        for teller in tellers:
            execute("DELETE FROM injection WHERE conversation = ?", teller)
            cuts.add_cut_without(teller, (), now)
    for fact_id in found.of_hidden:
        facts.close(fact_id, now)
    by_conversation: defaultdict[ConversationId, list[SummaryId]] = defaultdict(list)
    for conversation_id, summary_id in found.summaries:
        by_conversation[conversation_id].append(summary_id)
    for conversation_id, ids in by_conversation.items():
        for summary in summary_tree.read(conversation_id, ids):
            execute(
                """UPDATE hidden SET last_summary = MAX(last_summary, ?)
                WHERE conversation = ? AND start_message_id < ? AND end_message_id > ?""",
                *(summary.id, conversation_id, summary.end, summary.start),
            )
        cuts.add_cut_without(conversation_id, _unusable(conversation_id), now)


_FACTS_OF_PURGED: Final = """
    SELECT fact.id FROM fact JOIN message
    ON message.conversation = fact.conversation AND message.message_id = fact.message_id
    WHERE message.content IS NULL"""
_FACTS_OF_HIDDEN: Final = """
    SELECT DISTINCT fact.id FROM fact JOIN hidden ON hidden.conversation = fact.conversation
    AND fact.message_id >= start_message_id AND fact.message_id < end_message_id
    WHERE closed_at IS NULL AND (verified_at IS NULL OR verified_at < hidden.created_at) ORDER BY fact.id"""
"""Without those that a person has confirmed since."""
_FACTS_OF_OTHERS: Final = """
    SELECT fact.id, fact.conversation, fact.message_id FROM fact LEFT JOIN message
    ON message.conversation = fact.conversation AND message.message_id = fact.message_id
    WHERE fact.conversation IS NOT NULL AND message.id IS NULL"""
"""Facts of forks that rest on messages of the parent."""
_SUSPECTS: Final = """
    SELECT DISTINCT summary.conversation, summary.id FROM summary JOIN hidden
    ON hidden.conversation = summary.conversation AND summary.id > last_summary
    AND summary.start_message_id < hidden.end_message_id AND hidden.start_message_id < summary.end_message_id
    ORDER BY summary.conversation, summary.id"""
"""Summaries over hidden messages. One that was written after the messages were hidden may reach over them rightly."""


def _inherited_and_purged() -> list[FactId]:
    found: list[FactId] = []
    for fact_id, conversation_id, message_id in execute(_FACTS_OF_OTHERS):
        for owner, first, _ in conversations.lineage(ConversationId(conversation_id), message_id, message_id + 1):
            gone = "SELECT 1 FROM message WHERE conversation = ? AND message_id = ? AND content IS NULL"
            found += [FactId(fact_id) for _ in execute(gone, owner, first)]
    return found


def _summaries() -> list[tuple[ConversationId, SummaryId]]:
    suspects: defaultdict[ConversationId, list[SummaryId]] = defaultdict(list)
    for conversation_id, summary_id in execute(_SUSPECTS):
        suspects[ConversationId(conversation_id)].append(SummaryId(summary_id))
    found: list[tuple[ConversationId, SummaryId]] = []
    for conversation_id, ids in suspects.items():
        ranges = hidden_ranges.read(conversation_id)
        totals = _VisibleTokens(conversation_id, ranges)
        found += [
            (conversation_id, summary.id)
            for summary in summary_tree.read(conversation_id, ids)
            if summary_tree.is_usable(summary, ranges) and (totals.are_less(summary) or _cites(summary, ranges))
        ]
    return found


class _VisibleTokens:
    """An upper bound of the tokens in the visible messages of a conversation, by any tokenizer they were counted with.
    A summary that replaces more tokens than that was made of hidden messages too."""

    def __init__(self, conversation_id: ConversationId, hidden: Sequence[HiddenRange]) -> None:
        sizes: dict[int, int | None] = {}
        for owner, first, after in conversations.lineage(conversation_id):
            sizes |= execute(
                """SELECT message_id, MAX(tokens) FROM message LEFT JOIN token_count ON token_count.message = message.id
                WHERE conversation = ? AND message_id >= ? AND message_id < ? GROUP BY message_id""",
                *(owner, first, after),
            )
        for each in hidden:
            sizes |= dict.fromkeys(range(each.start, each.end), 0)
        n_messages = max(sizes, default=-1) + 1
        ordered = [sizes.get(each, 0) for each in range(n_messages)]
        self._tokens = list(accumulate((each or 0 for each in ordered), initial=0))
        self._uncounted = list(accumulate((each is None for each in ordered), initial=0))

    def are_less(self, summary: Summary) -> bool:
        """Whether the visible messages in the range of the summary hold less than it replaces. False where a message
        was never counted."""
        start, end = (min(each, len(self._tokens) - 1) for each in (summary.start, summary.end))
        if self._uncounted[start] != self._uncounted[end]:
            return False
        return summary.original_tokens > self._tokens[end] - self._tokens[start]


def _cites(summary: Summary, hidden: Sequence[HiddenRange]) -> bool:
    cited = {int(match[1]) for match in _CITED.finditer(summary.text)}
    return any(each.start <= message_id < each.end for message_id in cited for each in hidden)


def _unusable(conversation_id: ConversationId) -> list[SummaryId]:
    """The blocks of the newest cut that are not usable."""
    cut = cuts.latest_cut(conversation_id)
    hidden = hidden_ranges.read(conversation_id)
    blocks = [] if cut is None else summary_tree.read(conversation_id, cut.blocks)
    return [each.id for each in blocks if not summary_tree.is_usable(each, hidden)]
