"""Summaries that come from the hub."""

from __future__ import annotations

import json
from typing import Any

from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.messages import ConversationId, MessageId, is_clean, is_time
from palimpsest.domain.sharing.log import EntryKind, key_of
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import conversations
from palimpsest.storage.sharing import outgoing, shared
from palimpsest.storage.sql import execute


class Summaries:
    """The summaries of a conversation by their keys. They are read when the first one comes."""

    def __init__(self, conversation_id: ConversationId) -> None:
        self._conversation_id = conversation_id
        self._known: dict[str, Summary] | None = None

    def add(self, key: str, body: str) -> bool:
        """Whether the store had it not. Raises ValueError, or what unpacking foreign JSON raises, for one that no
        Palimpsest writes."""
        conversation_id, known = self._conversation_id, self._all()
        if key in known:
            return False
        said: dict[str, Any] = json.loads(body)
        children = [known[each] for each in said.pop("children")]
        start, end = number(said.pop("start_message_id")), number(said.pop("end_message_id"))
        at = time(said.pop("created_at"))
        if key_of(body) != key or not 0 <= start < end <= conversations.get(conversation_id).n_messages:
            raise ValueError("no summary of messages that are here")
        new = summary_tree.NewSummary(
            MessageId(start),
            MessageId(end),
            number(said["level"]),
            text(said["kind"]),
            text(said["text"]),
            number(said["original_tokens"]),
            text(said["author"]),
            tuple(each.id for each in children),
            number(said["duration_ms"]),
            number(said["input_tokens"]),
            number(said["output_tokens"]),
        )
        if new.level < 1 or min(new.original_tokens, new.duration_ms, new.input_tokens, new.output_tokens) < 0:
            raise ValueError("a number that is too small")
        if any(each.level >= new.level or each.start < start or each.end > end for each in children):
            raise ValueError("a summary of what it does not cover")
        written = known[key] = summary_tree.write(conversation_id, new, at)
        _hold_against_own(conversation_id, written)
        return True

    def _all(self) -> dict[str, Summary]:
        if self._known is None:
            by_id = {each.id: each for each in summary_tree.read(self._conversation_id)}
            keys = outgoing.summaries(self._conversation_id)
            self._known = {key: by_id[summary_id] for summary_id, (key, _) in keys.items()}
        return self._known


def _hold_against_own(conversation_id: ConversationId, summary: Summary) -> None:
    """Whoever wrote the summary did not know of ranges that were hidden here and that the hub does not have yet."""
    known = shared.known(conversation_id)
    for hidden_id, start, end, at in execute(
        """SELECT id, start_message_id, end_message_id, created_at FROM hidden
        WHERE conversation = ? AND start_message_id < ? AND end_message_id > ?""",
        *(conversation_id, summary.end, summary.start),
    ).fetchall():
        if (EntryKind.HIDDEN, outgoing.hidden_key(start, end, at)) not in known:
            execute("UPDATE hidden SET last_summary = MAX(last_summary, ?) WHERE id = ?", summary.id, hidden_id)


def number(value: object) -> int:
    if type(value) is not int:
        raise ValueError("no whole number")
    return value


def text(value: object) -> str:
    if not isinstance(value, str) or not is_clean(value):
        raise ValueError("no text that can be stored")
    return value


def time(value: object) -> str:
    if not is_time(found := text(value)):
        raise ValueError("no time")
    return found


def text_or_none(value: object) -> str | None:
    return None if value is None else text(value)
