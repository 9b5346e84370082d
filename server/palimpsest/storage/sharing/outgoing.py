"""The entries that the hub lacks of a shared conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.messages import Content, ConversationId, Role, SummaryId, canonical_json
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.sharing.log import LONGEST_TITLE, MOST_BYTES, EntryKind, MessageEntry, Missing, NewEntry, key_of
from palimpsest.domain.turns.states import FINAL_STATES
from palimpsest.machine import machine
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import hidden_ranges, message_log, pending_work
from palimpsest.storage.sharing import shared
from palimpsest.storage.sharing.shared import Unsound
from palimpsest.storage.sql import execute

_MOST_AT_ONCE: Final = 200
_MOST_BYTES_AT_ONCE: Final = 4 << 20
SUMMARY: Final = (
    *("start_message_id", "end_message_id", "level", "kind", "text", "original_tokens", "author"),
    *("duration_ms", "input_tokens", "output_tokens", "created_at"),
)
"""The columns of a summary in its entry, beside its children."""
TURN: Final = ("user_message_id", "state", "model", "stop_reason", "error_kind", "started_at", "ended_at")
"""The columns of a turn in its entry, beside its error's sentence."""
_FINAL: Final = ", ".join(f"'{state.value}'" for state in sorted(FINAL_STATES))


@dataclass(frozen=True, slots=True)
class Batch:
    """What one call to the hub takes."""

    entries: tuple[NewEntry, ...]
    is_all: bool


def unpushed(conversation_id: ConversationId, next_message_id: int) -> Batch:
    """The entries that the hub lacks, which has the messages below `next_message_id`: messages first, in their order.
    Raises Unsound for a message that may not leave this machine."""
    cleaner, shares_results = message_log.cleaner_of(conversation_id), _shares_results(conversation_id)
    entries: list[NewEntry] = []
    n_bytes = 0
    going = pending_work.being_purged(conversation_id)
    rows = execute(
        """SELECT message_id, created_at, turn, content_digest, digest, content, purged_role,
            digest_version, author, EXISTS (
                SELECT 1 FROM stand_in
                WHERE stand_in.conversation = message.conversation AND stand_in.message_id = message.message_id
            )
        FROM message WHERE conversation = ? AND message_id >= ? ORDER BY message_id LIMIT ?""",
        *(conversation_id, next_message_id, _MOST_AT_ONCE + 1),
    )
    for row in rows:
        if len(entries) == _MOST_AT_ONCE or n_bytes > _MOST_BYTES_AT_ONCE:
            return Batch(tuple(entries), is_all=False)
        entries.append(_message(row, cleaner, going, shares_results=shares_results))
        n_bytes += len(entries[-1].body or "")
    known = shared.known(conversation_id)
    entries += [each for each in _others(conversation_id, cleaner) if (each.kind, each.key) not in known]
    return Batch(tuple(entries), is_all=True)


def has_unpushed(conversation_id: ConversationId) -> bool:
    """Whether the store has something that the hub is not known to have."""
    row = execute(
        """SELECT next_message_id > n_pushed FROM conversation
        JOIN shared_conversation ON shared_conversation.conversation = conversation.id WHERE conversation.id = ?""",
        conversation_id,
    ).fetchone()
    if row is None:
        return False
    if row[0] or shared.intended_purges(conversation_id):
        return True
    known, cleaner = shared.known(conversation_id), message_log.cleaner_of(conversation_id)
    return any((each.kind, each.key) not in known for each in _others(conversation_id, cleaner))


def stamp(conversation_id: ConversationId) -> tuple[object, ...]:
    """Another one when there may be something to push: it costs less to compare than `has_unpushed`."""
    row: tuple[object, ...] = execute(
        f"""SELECT change_seq, (SELECT MAX(id) FROM summary WHERE summary.conversation = conversation.id),
            (SELECT MAX(id) FROM hidden WHERE hidden.conversation = conversation.id),
            (SELECT COUNT(*) FROM turn WHERE turn.conversation = conversation.id AND state IN ({_FINAL})),
            (SELECT COUNT(*) FROM purge_intent WHERE purge_intent.conversation = conversation.id)
        FROM conversation WHERE id = ?""",
        conversation_id,
    ).fetchone()
    return row or ()


def _shares_results(conversation_id: ConversationId) -> bool:
    row = execute("SELECT shares_results FROM shared_conversation WHERE conversation = ?", conversation_id).fetchone()
    return row is not None and bool(row[0])


def _message(
    row: tuple[Any, ...], cleaner: Cleaner, going: Sequence[tuple[int, int]], *, shares_results: bool
) -> NewEntry:
    message_id, said_at, turn, own, digest, text, role, version, author, is_withheld = row
    role = message_log.purged_role(role, text) or Role.USER
    if any(start <= message_id < end for start, end in going):
        text = None
    missing = None if text is not None else Missing.WITHHELD if is_withheld else Missing.PURGED
    if text is not None:
        content = Content.from_json(json.loads(text))
        if cleaner.content(content) != content:
            raise Unsound(
                f"Message {message_id} holds a secret or a place of this machine, so it is not shared. Share a copy."
            )
        if len(text.encode()) > MOST_BYTES or (content.results and not shares_results):
            text, missing = None, Missing.WITHHELD
    said = MessageEntry(*(message_id, said_at, turn, own, digest, Role(role).value, version), author)
    return NewEntry(EntryKind.MESSAGE, str(message_id), text, said, missing)


def _others(conversation_id: ConversationId, cleaner: Cleaner) -> Iterator[NewEntry]:
    turns = execute(
        f"""SELECT id, error_message, {", ".join(TURN)} FROM turn
        WHERE conversation = ? AND state IN ({_FINAL}) ORDER BY user_message_id, id""",
        conversation_id,
    )
    for turn_id, error, *values in turns:
        said = dict(zip(TURN, values, strict=True)) | {"error_message": cleaner.text(error or "") or None}
        yield NewEntry(EntryKind.TURN, turn_id, canonical_json(said))
    ranges = hidden_ranges.read(conversation_id)
    all_summaries = summaries(conversation_id) if _shares_results(conversation_id) else {}
    # Before the hidden ranges: of summaries that come later, other stores know that they repeat nothing hidden.
    usable = {each.id for each in summary_tree.read(conversation_id) if summary_tree.is_usable(each, ranges)}
    for summary_id, (key, body) in all_summaries.items():
        if summary_id in usable and cleaner.text(body) == body:
            yield NewEntry(EntryKind.SUMMARY, key, body)
    hidden = execute(
        "SELECT start_message_id, end_message_id, created_at FROM hidden WHERE conversation = ? ORDER BY id",
        conversation_id,
    )
    for start, end, at in hidden:
        yield NewEntry(EntryKind.HIDDEN, hidden_key(start, end, at), canonical_json([start, end, at]))
    titles = execute(
        """SELECT conversation.title, shared_conversation.title FROM shared_conversation
        JOIN conversation ON conversation.id = shared_conversation.conversation WHERE conversation.id = ?""",
        conversation_id,
    )
    for title, agreed in titles:  # of a conversation that is shared no longer, none
        if (cleaned := cleaner.text(title)[:LONGEST_TITLE]) != agreed:
            yield NewEntry(EntryKind.TITLE, machine.new_id(), cleaned)


def hidden_key(start: int, end: int, at: str) -> str:
    """The key of the entry of a hidden range."""
    return f"{start}-{end}@{at}"


def summaries(conversation_id: ConversationId) -> dict[SummaryId, tuple[str, str]]:
    """The key and the entry's text of each summary, lower ones first. A key is made of what the summary says and of the
    keys of its children, so a forest has the same keys in every store."""
    found: dict[SummaryId, tuple[str, str]] = {}
    rows = execute(
        f"SELECT id, children, {', '.join(SUMMARY)} FROM summary WHERE conversation = ? ORDER BY id", conversation_id
    )
    for summary_id, children, *values in rows:
        keys = [found[each][0] for each in json.loads(children) if each in found]
        body = canonical_json(dict(zip(SUMMARY, values, strict=True)) | {"children": keys})
        found[SummaryId(summary_id)] = key_of(body), body
    return found
