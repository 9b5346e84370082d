"""The backlog of a conversation: finished exchanges that were not read for facts yet. Its functions run inside a
transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.facts.extraction.exchange import Exchange
from palimpsest.domain.messages import ConversationId, MessageId, Role
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.facts import facts
from palimpsest.storage.turns import turn_records

_MOST_MESSAGES: Final = 200
"""Messages of one portion."""
_MOST_BEFORE: Final = 20
"""Messages before an exchange that it may refer to."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Exchanges that are read together."""

    conversation_id: ConversationId
    exchanges: tuple[Exchange, ...]
    """Without what is hidden or purged."""
    start: MessageId
    end: MessageId
    """The message behind the last one."""
    last_hidden: int
    """The conversation's newest hidden range when the portion was read."""

    def is_outdated(self) -> bool:
        """Whether messages of the conversation were hidden or purged since the portion was read."""
        return hidden_ranges.last_hidden(self.conversation_id) != self.last_hidden

    def mark_read(self) -> bool:
        """Marks the messages as read for facts. False, and nothing is marked, when the portion is void: it is outdated,
        or another server has read it meanwhile."""
        if facts.extracted_until(self.conversation_id) > self.start or self.is_outdated():
            return False
        facts.set_extracted(self.conversation_id, self.end)
        return True


def next_portion(conversation_id: ConversationId, folder: str) -> Portion | None:
    """The oldest exchanges of the backlog; None when it is empty. `folder`: the absolute path, with `/`."""
    start = facts.extracted_until(conversation_id)
    record = conversations.get(conversation_id)
    if record.parent is not None:  # the parent's messages are read there
        start = max(start, record.fork_at)
    end = min(turn_records.first_unfinished(conversation_id, record.n_messages), start + _MOST_MESSAGES)
    if start >= end:
        return None
    before = message_log.read_visible(conversation_id, max(0, start - _MOST_BEFORE), start)
    messages = message_log.read(conversation_id, start, end)
    if end < record.n_messages and end == start + _MOST_MESSAGES:
        messages = _whole_exchanges(messages)
    hidden = hidden_ranges.read(conversation_id)
    shown = [m for m in messages if m.purged is None and not any(h.start <= m.id < h.end for h in hidden)]
    exchanges = [
        Exchange.of(
            exchange,
            turn_number=turn_records.number_of(conversation_id, exchange[0].id),
            before=[each for each in (*before, *shown) if each.id < exchange[0].id][-_MOST_BEFORE:],
            folder=folder,
        )
        for exchange in _exchanges(shown)
    ]
    last_hidden = hidden_ranges.last_hidden(conversation_id)
    return Portion(conversation_id, tuple(exchanges), start, MessageId(messages[-1].id + 1), last_hidden)


def _exchanges(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    """The messages grouped by turn; those of no turn, by user message."""
    groups: list[list[StoredMessage]] = []
    for message in messages:
        last = groups[-1][-1] if groups else None
        begins = (
            last is None
            or message.turn_id != last.turn_id
            or (message.turn_id is None and message.content.role is Role.USER)
        )
        if begins:
            groups.append([])
        groups[-1].append(message)
    return groups


def _whole_exchanges(messages: list[StoredMessage]) -> list[StoredMessage]:
    """The messages without the last exchange, which may go on; all of them where they are one exchange."""
    groups = _exchanges(messages)
    return [each for group in (groups[:-1] or groups) for each in group]
