"""Purge: the only way in which messages leave the store.

The header and the digests of a message stay, so the chain still verifies. Its content goes, and with it everything that
was derived from it, in every conversation that reads it. `secure_delete`, which the store sets, overwrites what a
transaction frees; `rewrite_files` and `empty_log` then remove the other traces: in places where rows
were before SQLite moved them, and in the write-ahead log.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palimpsest.domain.conversation.exchanges import exchange_starts
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.conversation.titles import fork_title, title_of, unforked
from palimpsest.domain.errors import ConversationBusy, InvalidRequest, StoreError
from palimpsest.domain.facts.fact import FactId
from palimpsest.domain.messages import Content, ConversationId, MessageId, Role
from palimpsest.storage import file_changes
from palimpsest.storage.context import cuts
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log, pending_work
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.facts import facts
from palimpsest.storage.failures import explain
from palimpsest.storage.leases import HeldLease, Writer
from palimpsest.storage.lifecycle import forgotten_facts
from palimpsest.storage.sql import execute
from palimpsest.storage.turns import turns
from palimpsest.wording import counted

_LONGEST_EXCHANGE: Final = 500
"""The messages that are searched for the beginning or the end of an exchange."""
_BUSY_TIMEOUT_S: Final = 10
_NO_TITLE: Final = "\n"
"""What no conversation is called."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The extent of a purge."""

    conversation_id: ConversationId
    start: MessageId
    end: MessageId
    """[start, end) as requested, widened to whole exchanges. For a whole conversation: the messages of its own."""
    is_whole: bool
    stretches: tuple[tuple[str, int, int], ...]
    """The rows: (conversation that holds them, first, after)."""
    touched: dict[ConversationId, tuple[int, int]]
    """Every conversation that has some of the messages, with the range [first, after) that no request of it shows
    afterwards; the range is empty for a conversation that only has a fact about them in an injection."""
    n_contents: int
    """The number of messages whose content still exists."""
    n_summaries: int
    n_facts: int
    """The facts that rest on words of the messages, and those into which they were merged."""

    @property
    def others(self) -> tuple[ConversationId, ...]:
        """The other conversations that share the messages."""
        return tuple(
            each for each, (first, after) in self.touched.items() if each != self.conversation_id and first < after
        )


@dataclass(frozen=True, slots=True)
class Purged:
    """A finished purge, with the leases it was done under, which the caller releases."""

    scope: Scope
    changed: tuple[ConversationId, ...]
    """The conversations that had the messages, had a fact about them in an injection, or had a title made of them."""
    held: tuple[HeldLease, ...]


def find_scope(
    conversation_id: ConversationId, wanted: tuple[MessageId, MessageId] | None, *, is_widened: bool = True
) -> Scope:
    """The extent of a purge of `wanted`: [start, end), or None for the whole conversation.

    A fork's inherited messages belong to its parent, and a purge of the whole fork leaves them there. A range that
    includes some is purged in the parent too, and in every other fork that has it: content that another conversation
    still showed would not be gone. Without `is_widened` only the content of the very messages goes; no request shows
    the exchanges that they belong to. Raises NotFound, or InvalidRequest for a range that does not exist.
    """
    record = conversations.get(conversation_id)
    start, end = _own(record) if wanted is None else _widened(record, *wanted)
    gone = (start, end) if is_widened or wanted is None else wanted
    stretches = tuple(conversations.lineage(conversation_id, *gone))
    touched = {conversation_id: (0, record.n_messages) if wanted is None else (int(start), int(end))}
    for stretch in conversations.lineage(conversation_id, start, end):
        for reader, first, after in conversations.readers(*stretch):
            known = touched.get(reader, (first, after))
            touched[reader] = (min(first, known[0]), max(after, known[1]))
    gone_facts = _facts_of(stretches)
    for teller in facts.told_in(gone_facts):
        touched.setdefault(teller, (0, 0))
    n_contents = sum(_n_contents(*stretch) for stretch in stretches)
    n_summaries = sum(len(_overlapping(each, *span)) for each, span in touched.items())
    is_whole, n_facts = wanted is None, len(gone_facts)
    return Scope(conversation_id, start, end, is_whole, stretches, touched, n_contents, n_summaries, n_facts)


def purge(
    writer: Writer,
    conversation_id: ConversationId,
    wanted: tuple[MessageId, MessageId] | None,
    *,
    is_widened: bool = True,
) -> Purged:
    """Takes the lease of every conversation that has the messages, and purges them everywhere at once: nobody reads
    their content any more, everything derived from it is removed, and `pending_work` takes it out of the rows.

    Raises ConversationBusy when one of them has a writer.
    """
    touched = find_scope(conversation_id, wanted, is_widened=is_widened).touched
    held = tuple(_take(writer, each, conversation_id) for each in touched)
    # Read again: the turns that a dead server had left open are messages now.
    scope, now = find_scope(conversation_id, wanted, is_widened=is_widened), writer.now
    titles: set[str] = set()
    for stretch in scope.stretches:
        titles |= _titles(*stretch)
        pending_work.purge(*stretch)
    for owner, first, after in scope.stretches:
        facts.hold_again(ConversationId(owner), first, after)
    facts.remove(_facts_of(scope.stretches))
    forgotten_facts.drop_of(scope.stretches)
    file_changes.drop_of(scope.stretches)
    for each, (first, after) in scope.touched.items():
        _purge_draft(each, first, after, now)
        _purge_derived(each, first, after, now)
    retitled = _purge_titles(titles, now)
    if scope.is_whole:
        conversations.retitle(conversation_id, "", now)
        conversations.set_draft(conversation_id, "", now)
    changed = tuple(dict.fromkeys([*scope.touched, *retitled]))
    for each in changed:  # unless the hub forgets its title as well, it is told of the one that is left
        execute("UPDATE shared_conversation SET title = ? WHERE conversation = ?", _NO_TITLE, each)
    pending_work.empty_files(changed)
    return Purged(scope, changed, held)


def _facts_of(stretches: Iterable[tuple[str, int, int]]) -> list[FactId]:
    """The facts that rest on words of the messages, and later facts into which their statements about code were
    merged."""
    found = [
        fact_id
        for owner, first, after in stretches
        for fact_id in facts.from_messages(ConversationId(owner), first, after)
    ]
    return list(dict.fromkeys([*found, *facts.merged_from(found)]))


def rewrite_files(directory: Path) -> None:
    """Rewrites the database. `secure_delete` overwrites deleted content where it is at that time; only this removes it
    from places where it was before rows moved between pages. Other servers wait meanwhile, some seconds for a gigabyte.
    Raises StoreError when there is no room for a second copy."""
    with _opened(directory) as database:
        database.execute("VACUUM")


def empty_log(directory: Path) -> bool:
    """Empties the write-ahead log, which still holds what was rewritten. False while a reader or another checkpoint
    needs it: readers are waited for, but SQLite does not wait for another checkpoint. Raises StoreError."""
    with _opened(directory) as database:
        (is_busy, _, _) = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_busy


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[sqlite3.Connection]:
    try:
        with contextlib.closing(sqlite3.connect(directory / DATABASE_NAME, timeout=_BUSY_TIMEOUT_S)) as database:
            yield database
    except sqlite3.Error as error:
        raise StoreError(explain(error, directory)) from error


def _own(record: ConversationRecord) -> tuple[MessageId, MessageId]:
    return record.fork_at, MessageId(record.n_messages)


def _widened(record: ConversationRecord, start: MessageId, end: MessageId) -> tuple[MessageId, MessageId]:
    if not 0 <= start < end <= record.n_messages:
        raise InvalidRequest(
            f"Messages {start} to {end - 1} are not a range of this conversation, "
            f"which has {counted(record.n_messages, 'message')}."
        )
    first = max(each for each in _starts(record.id, start) if each <= start)
    after = min((each for each in _starts(record.id, end) if each >= end), default=record.n_messages)
    return MessageId(first), MessageId(after)


def _starts(conversation_id: ConversationId, around: int) -> list[int]:
    """The ids near `around` at which an exchange begins."""
    first = max(0, around - _LONGEST_EXCHANGE)
    nearby = message_log.read(conversation_id, first, around + _LONGEST_EXCHANGE)
    return [first + index for index in exchange_starts([message.content for message in nearby])]


def _take(writer: Writer, conversation_id: ConversationId, asked_for: ConversationId) -> HeldLease:
    """Takes the leases. `asked_for`: the conversation of the purge; the others share messages with it."""
    try:
        lease, _ = turns.take(writer, conversation_id, "a purge")
    except ConversationBusy as busy:
        if conversation_id == asked_for:
            raise
        raise ConversationBusy(f"{busy.holder} in {conversation_id}, which has the same messages,") from busy
    return lease


_ROWS: Final = "message WHERE conversation = ? AND message_id >= ? AND message_id < ? AND content IS NOT NULL"


def _n_contents(owner: str, first: int, after: int) -> int:
    ((n_rows,),) = execute(f"SELECT COUNT(*) FROM {_ROWS}", owner, first, after)
    return int(n_rows)


def _titles(owner: str, first: int, after: int) -> set[str]:
    """The titles that the texts of the rows may have made, as `unforked` gives them."""
    titles: set[str] = set()
    for (text,) in execute(f"SELECT content FROM {_ROWS} AND {message_log.MAY_BE_OF_USER}", owner, first, after):
        content = Content.from_json(json.loads(text))
        if content.role is Role.USER:
            titles.add(unforked(title_of(content.text)))
    return titles - {""}


def _overlapping(conversation_id: ConversationId, first: int, after: int) -> list[int]:
    """The summaries whose range overlaps the messages. The range of a higher summary covers those of its lower ones."""
    found = execute(f"SELECT id FROM summary WHERE {_OVERLAPS}", conversation_id, after, first)
    return [summary_id for (summary_id,) in found]


_OVERLAPS: Final = "conversation = ? AND start_message_id < ? AND end_message_id > ?"


def _purge_derived(conversation_id: ConversationId, first: int, after: int, now: str) -> None:
    """Removes everything derived from the messages [first, after), and hides them from every request."""
    gone = _overlapping(conversation_id, first, after)
    inside = "conversation = ? AND message_id >= ? AND message_id < ?"
    execute(f"DELETE FROM summary WHERE {_OVERLAPS}", conversation_id, after, first)
    execute(f"DELETE FROM preview WHERE {inside}", conversation_id, first, after)
    execute(f"DELETE FROM withdrawal WHERE {inside}", conversation_id, first, after)
    # Recalled text may quote any message before its turn.
    execute("DELETE FROM injection WHERE conversation = ?", conversation_id)
    _purge_cuts(conversation_id, gone, now)
    if first < after:
        hidden_ranges.add_unindexed(conversation_id, MessageId(first), MessageId(after), now)


def _purge_cuts(conversation_id: ConversationId, gone: Collection[int], now: str) -> None:
    """Removes the purged summaries, and the front, which quotes rules, from every cut. Adds a version, so that every
    server loads the context anew; it serves until the caller has chosen a better one."""
    rows = execute("SELECT version, blocks FROM cut WHERE conversation = ?", conversation_id).fetchall()
    for version, blocks in rows:
        left = json.dumps([block for block in json.loads(blocks) if block not in gone])
        sql = "UPDATE cut SET blocks = ?, front = '' WHERE conversation = ? AND version = ?"
        execute(sql, left, conversation_id, version)
    cuts.add_cut_without(conversation_id, gone, now)


def _purge_draft(conversation_id: ConversationId, first: int, after: int, now: str) -> None:
    """Removes a draft that a roll back may have made of the messages."""
    record = conversations.get(conversation_id)
    hidden = hidden_ranges.read(conversation_id)
    if record.draft and any(each.start < after and first < each.end for each in hidden):
        conversations.set_draft(conversation_id, "", now)


def _purge_titles(titles: Collection[str], now: str) -> list[ConversationId]:
    """Renames the conversations whose titles are made of purged words, even a fork that got its parent's title and has
    none of the messages. The new title comes from the first user message that is left, and says that a fork is one
    where the old one did. Returns the renamed conversations."""
    retitled: list[ConversationId] = []
    records = conversations.list_all() if titles else []
    taken = {record.title for record in records}
    for record in records:
        if (original := unforked(record.title)) in titles:
            left = message_log.oldest_of_user(record.id)
            title = "" if left is None else title_of(left.content.text)
            title = title if record.title == original else fork_title(title, taken)
            taken.add(title)
            conversations.retitle(record.id, title, now)
            retitled.append(record.id)
    return retitled
