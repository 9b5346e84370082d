"""Pending work: long work on the store in pieces, each a transaction of its own, so that others get in between.

The work is noted in the transaction that makes it necessary, and struck out in the transaction that does its last
piece. So the next server to open the store goes on after a crash, and two servers that do the same work do no harm:
every piece looks for what is still there to do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from palimpsest.domain.messages import Content, ConversationId, MessageId
from palimpsest.storage import contents
from palimpsest.storage.conversation import passages, search
from palimpsest.storage.sql import execute

_ROWS_AT_ONCE: Final = 25
"""The messages of one piece, which takes some tens of milliseconds."""


class Kind(StrEnum):
    """The kinds of work, in the order in which they are done."""

    PURGE = "purge"
    """Removing the content of a conversation's messages [first, after), which nobody may read any more."""
    INDEX = "index"
    """Making a conversation's messages findable."""
    SETTLE = "settle"
    """Rewriting a search index without the words of removed rows."""


_FILES: Final = "files"
"""The kind of work outside of transactions: the log and the copies of the store still hold purged words, and so may the
chat documents of a conversation."""


def purge(conversation_id: str, first: int, after: int) -> None:
    """Notes that the content of the rows [first, after) is to be removed, with its words in the indexes."""
    _add(Kind.PURGE, conversation_id, first, after)


def index(conversation_id: ConversationId, after: int) -> None:
    """Notes that messages are to be indexed that were not stored through `message_log.append`, such as imported
    ones."""
    _add(Kind.INDEX, conversation_id, 0, after)


def follow(old: ConversationId, new: ConversationId, start: MessageId) -> None:
    """The rows from `start` on belong to another conversation now: what was still to be removed there is noted anew."""
    for first, after in being_purged(old):
        if after > start:
            purge(new, max(first, start), after)


def settle(*indexes: str) -> None:
    """Notes that these search indexes are to be rewritten without the words of removed rows."""
    for table in indexes:
        execute("DELETE FROM pending_work WHERE kind = ? AND subject = ?", Kind.SETTLE.value, table)
        _add(Kind.SETTLE, table, 0, 0)


@dataclass(frozen=True, slots=True)
class FilesToEmpty:
    """Files that may still hold removed words."""

    newest: int
    """Identifies the newest removal; 0 when there is nothing to do."""
    conversations: tuple[ConversationId, ...]
    """The conversations whose chat documents may hold removed words."""


def empty_files(conversation_ids: Iterable[ConversationId]) -> None:
    """Notes that the words which this transaction removes are still in other files of the store, and may be in the chat
    documents of those conversations."""
    for each in ("", *conversation_ids):
        _add(_FILES, each, 0, 0)


def files_to_empty() -> FilesToEmpty | None:
    """The files that are to be emptied; None while words are still being removed, by any server: the files would get
    them again."""
    if n_left(Kind.PURGE) or n_left(Kind.SETTLE):
        return None
    found = execute("SELECT id, subject FROM pending_work WHERE kind = ? ORDER BY id", _FILES).fetchall()
    owners = dict.fromkeys(ConversationId(subject) for _, subject in found if subject)
    return FilesToEmpty(max((int(number) for number, _ in found), default=0), tuple(owners))


def files_are_empty(newest: int) -> None:
    """Strikes out the files of `files_to_empty`, after they were emptied."""
    execute("DELETE FROM pending_work WHERE kind = ? AND id <= ?", _FILES, newest)


def is_any_left_of_a_purge() -> bool:
    """Whether purged words are still in rows, indexes or files."""
    files = files_to_empty()
    return files is None or bool(files.newest)


def n_left(kind: Kind) -> int:
    """The number of notes that are left."""
    ((n_rows,),) = execute("SELECT COUNT(*) FROM pending_work WHERE kind = ?", kind.value)
    return int(n_rows)


def being_purged(conversation_id: str) -> list[tuple[int, int]]:
    """Ranges [first, after) of the conversation's own rows whose content nobody may read any more."""
    found = execute(
        "SELECT first, after FROM pending_work WHERE kind = ? AND subject = ?", Kind.PURGE.value, conversation_id
    )
    return [(int(first), int(after)) for first, after in found]


def do_some() -> Kind | None:
    """Does one piece of the noted work, purges first. Returns its kind; None when nothing is left."""
    order = " ".join(f"WHEN '{kind.value}' THEN {number}" for number, kind in enumerate(Kind))
    found = execute(
        "SELECT id, kind, subject, first, after FROM pending_work WHERE kind <> ? "
        f"ORDER BY CASE kind {order} END, id LIMIT 1",
        _FILES,
    )
    for number, name, subject, first, after in found:
        match kind := Kind(name):
            case Kind.PURGE:
                is_done = _purge_some(subject, first, after)
            case Kind.INDEX:
                is_done = _index_some(number, ConversationId(subject), MessageId(first), MessageId(after))
            case Kind.SETTLE:
                is_done = _settle_some(number, subject, is_begun=bool(first))
        if is_done:
            execute("DELETE FROM pending_work WHERE id = ?", number)
        return kind
    return None


def _add(kind: str, subject: str, first: int, after: int) -> None:
    execute("INSERT INTO pending_work (kind, subject, first, after) VALUES (?, ?, ?, ?)", kind, subject, first, after)


def _purge_some(conversation_id: str, first: int, after: int) -> bool:
    rows = list(
        execute(
            "SELECT id, content FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ? "
            "AND content IS NOT NULL ORDER BY message_id LIMIT ?",
            *(conversation_id, first, after, _ROWS_AT_ONCE),
        )
    )
    for row_id, text in rows:
        content = Content.from_json(json.loads(text))
        search.remove(row_id, content)
        passages.remove(row_id, content)
        execute("DELETE FROM token_count WHERE message = ?", row_id)
        contents.forget_message(row_id)
        execute("UPDATE message SET content = NULL, purged_role = ? WHERE id = ?", content.role.value, row_id)
    if len(rows) == _ROWS_AT_ONCE:
        return False
    # Their words are in the rows of their neighbors too.
    passages.refresh_beside(ConversationId(conversation_id), first, after)
    settle("message_search", "passage_search")
    return True


def _index_some(number: int, conversation_id: ConversationId, first: MessageId, after: MessageId) -> bool:
    end = min(first + _ROWS_AT_ONCE, after)
    search.add_missing(conversation_id, first, end)
    passages.add_missing(conversation_id, first, end)
    if end < after:
        execute("UPDATE pending_work SET first = ? WHERE id = ?", end, number)
        return False
    passages.refresh_beside(conversation_id, first, after)  # messages that were appended since have neighbors now
    return True


_MERGED_PAGES: Final = 200
"""The pages that one piece of merging writes, in some milliseconds."""


def _settle_some(number: int, table: str, *, is_begun: bool) -> bool:
    """Rewrites an index in steps, as FTS5 does it: the first step takes a negative number, and the last one changes
    nothing (sqlite.org/fts5.html, "The 'merge' command", read in November 2026)."""
    ((before,),) = execute("SELECT total_changes()")
    pages = _MERGED_PAGES if is_begun else -_MERGED_PAGES
    execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", pages)
    ((now,),) = execute("SELECT total_changes()")
    if now - before < 2:
        return True
    execute("UPDATE pending_work SET first = 1 WHERE id = ?", number)
    return False
