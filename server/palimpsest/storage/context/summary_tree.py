"""The summaries of a conversation. A summary is never changed; a cut names the ones in use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.context.summaries.node import AUTHOR, Summary
from palimpsest.domain.context.summaries.tiers import TreeNode
from palimpsest.domain.messages import ConversationId, MessageId, SummaryId
from palimpsest.storage.conversation import hidden_ranges
from palimpsest.storage.conversation.hidden_ranges import HiddenRange
from palimpsest.storage.sql import execute


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A written summary that has no id yet."""

    start: MessageId
    end: MessageId
    level: int
    kind: str
    text: str
    original_tokens: int
    author: str
    children: tuple[SummaryId, ...]
    duration_ms: int
    input_tokens: int = 0
    """The input of the model that wrote it, cached or not; 0 for a summary without a model."""
    output_tokens: int = 0


def write(conversation_id: ConversationId, new: NewSummary, now: str) -> Summary:
    """Stores a summary. It is not in use before a cut names it."""
    summary_id = execute(
        """INSERT INTO summary (
            conversation, start_message_id, end_message_id, level, kind, text, original_tokens, author, children,
            duration_ms, input_tokens, output_tokens, created_at
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        *(conversation_id, new.start, new.end, new.level, new.kind, new.text, new.original_tokens, new.author),
        *(json.dumps(new.children), new.duration_ms, new.input_tokens, new.output_tokens, now),
    ).lastrowid
    return Summary(
        SummaryId(summary_id or 0),
        new.start,
        new.end,
        new.level,
        new.kind,
        new.text,
        new.original_tokens,
        new.author,
        now,
        new.children,
    )


def write_later(conversation_id: ConversationId, new: NewSummary, last_hidden: int, now: str) -> Summary | None:
    """As `write`, for a summary of pieces that were chosen when `hidden_ranges.last_hidden` was `last_hidden`. Returns
    None and stores nothing when a message of its range was hidden since."""
    if hidden_since(conversation_id, new.start, new.end, last_hidden):
        return None
    return write(conversation_id, new, now)


def hidden_since(conversation_id: ConversationId, start: int, end: int, last_hidden: int) -> bool:
    """Whether any of the messages [start, end) was hidden or purged since `hidden_ranges.last_hidden` was
    `last_hidden`."""
    found = execute(
        """SELECT 1 FROM hidden
        WHERE conversation = ? AND id > ? AND start_message_id < ? AND end_message_id > ? LIMIT 1""",
        *(conversation_id, last_hidden, end, start),
    )
    return next(iter(found), None) is not None


def find_written(conversation_id: ConversationId, start: MessageId, end: MessageId) -> list[Summary]:
    """The usable summaries by a model that begin at `start` and end at or before `end`, newest first."""
    rows = execute(
        f"""{_SUMMARIES} WHERE conversation = ? AND start_message_id = ? AND end_message_id <= ? AND author <> ?
        ORDER BY id DESC""",
        *(conversation_id, start, end, AUTHOR),
    )
    hidden = hidden_ranges.read(conversation_id)
    return [summary for row in rows if is_usable(summary := _summary(row), hidden)]


def is_usable(summary: Summary, hidden: Sequence[HiddenRange]) -> bool:
    """Whether no message of the summary's range was hidden when it was written, or since."""
    return not any(
        summary.id <= each.last_summary and summary.start < each.end and each.start < summary.end for each in hidden
    )


def read(conversation_id: ConversationId, ids: Sequence[SummaryId] | None = None) -> list[Summary]:
    """The summaries with those ids, or all of the conversation, by id."""
    if ids is None:
        rows = execute(f"{_SUMMARIES} WHERE conversation = ? ORDER BY id", conversation_id)
    else:
        rows = execute(
            f"{_SUMMARIES} WHERE conversation = ? AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
            *(conversation_id, json.dumps(ids)),
        )
    return [_summary(row) for row in rows]


def nodes(conversation_id: ConversationId) -> dict[SummaryId, TreeNode]:
    """The places of all summaries of the conversation in its tree, without their texts."""
    rows = execute(
        "SELECT id, start_message_id, end_message_id, level, children FROM summary WHERE conversation = ?",
        conversation_id,
    )
    return {
        SummaryId(summary_id): TreeNode(
            MessageId(start), MessageId(end), level, tuple(SummaryId(child) for child in json.loads(children))
        )
        for summary_id, start, end, level, children in rows
    }


_SUMMARIES: Final = """SELECT id, start_message_id, end_message_id, level, kind, text, original_tokens, author,
    created_at, children FROM summary"""


def _summary(row: tuple[Any, ...]) -> Summary:
    """The summary of a row of `_SUMMARIES`."""
    summary_id, start, end, level, kind, text, original_tokens, author, created_at, children = row
    return Summary(
        SummaryId(summary_id),
        MessageId(start),
        MessageId(end),
        level,
        kind,
        text,
        original_tokens,
        author,
        created_at,
        tuple(SummaryId(child) for child in json.loads(children)),
    )
