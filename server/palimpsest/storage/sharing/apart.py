"""Two wrote at once: the hub's order counts, and what the other one wrote moves into a fork.

Beside a purge this is the only way in which a message leaves a conversation. Its content, the digest of that and its
time stay; the chain is derived anew, because it covers the conversation's id. Where the messages came from stays known.
"""

from __future__ import annotations

import json
from typing import Any, Final

from palimpsest.domain.conversation.chain import covered_author, message_digest
from palimpsest.domain.conversation.titles import apart_title
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, TurnId, canonical_json
from palimpsest.machine import machine
from palimpsest.storage.conversation import conversations, passages, pending_work, search
from palimpsest.storage.leases import HeldLease, check
from palimpsest.storage.sql import execute

_EVERYTHING: Final = 2**62
_SAME_IN_TURNS: Final = (
    *("state", "model", "next_seq", "stop_reason", "error_kind", "error_message", "started_at", "ended_at"),
    "resolution",
)


def move_apart(lease: HeldLease, start: MessageId, now: str) -> ConversationId:
    """Moves the messages from `start` on, which the hub never had, into a new fork of the conversation, and returns it.
    The caller holds the lease, and no turn is open. Raises LeaseLost."""
    check(lease)
    conversation_id = lease.conversation_id
    record = conversations.get(conversation_id)
    fork = ConversationId(machine.new_id())
    if start:
        conversations.fork(fork, record, start, apart_title(record.title), now)
    else:
        conversations.create(fork, apart_title(record.title), record.model, now)
    turns = _move_turns(conversation_id, fork, start)
    last = _move_messages(conversation_id, fork, start, turns)
    conversations.touch(fork, now, next_message_id=record.n_messages, head_digest=last)
    conversations.touch(conversation_id, now, next_message_id=start, head_digest=_digest_before(conversation_id, start))
    _move_forks(conversation_id, fork, start)
    execute(
        "UPDATE summary SET conversation = ? WHERE conversation = ? AND end_message_id > ?",
        *(fork, conversation_id, start),
    )
    _split_hidden(conversation_id, fork, start)
    _drop_contexts(conversation_id, start)
    execute("UPDATE fact SET conversation = ? WHERE conversation = ? AND message_id >= ?", fork, conversation_id, start)
    execute(
        "UPDATE extraction SET next_message_id = MIN(next_message_id, ?) WHERE conversation = ?", start, conversation_id
    )
    pending_work.follow(conversation_id, fork, start)
    _drop_intended_purges(conversation_id, start)
    pending_work.index(fork, MessageId(record.n_messages))
    passages.refresh(conversation_id, max(0, start - 1), start)
    execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
        *(f"origin:{fork}", canonical_json({"id": conversation_id, "digest": last})),
    )
    return fork


def _drop_intended_purges(conversation_id: ConversationId, start: MessageId) -> None:
    """What the hub has from `start` on was said by others: it is not what was purged here."""
    execute("DELETE FROM purge_intent WHERE conversation = ? AND start_message_id >= ?", conversation_id, start)
    execute(
        "UPDATE purge_intent SET end_message_id = ? WHERE conversation = ? AND end_message_id > ?",
        *(start, conversation_id, start),
    )


def _move_turns(conversation_id: ConversationId, fork: ConversationId, start: MessageId) -> dict[str, str]:
    """The turn of each moved message, there, by its turn here. A turn whose question the hub has stays where it was
    asked; what was answered apart gets a turn of its own."""
    found = execute(
        "SELECT DISTINCT turn FROM message WHERE conversation = ? AND message_id >= ? AND turn IS NOT NULL",
        *(conversation_id, start),
    )
    turns = {str(turn): str(turn) for (turn,) in found}
    for turn in turns:
        rows = execute(
            f"SELECT user_message_id, {', '.join(_SAME_IN_TURNS)} FROM turn WHERE id = ? AND user_message_id < ?",
            *(turn, start),
        ).fetchall()
        for asked, *same in rows:
            turns[turn] = machine.new_id()
            execute(
                f"""INSERT INTO turn (id, conversation, request_id, user_message_id, {", ".join(_SAME_IN_TURNS)})
                VALUES ({", ".join("?" * (4 + len(same)))})""",
                *(turns[turn], fork, turns[turn], asked, *same),
            )
    for turn in turns:
        # What was sent is shown again from the cuts, which stay behind.
        execute("DELETE FROM sent_request WHERE step IN (SELECT id FROM step WHERE turn = ?)", turn)
    execute("DELETE FROM frame WHERE digest NOT IN (SELECT frame FROM sent_request)")
    execute(
        "UPDATE turn SET conversation = ? WHERE conversation = ? AND user_message_id >= ?", fork, conversation_id, start
    )
    return turns


def _move_messages(
    conversation_id: ConversationId, fork: ConversationId, start: MessageId, turns: dict[str, str]
) -> Digest | None:
    """The digest of the last moved message."""
    ((head,),) = execute("SELECT head_digest FROM conversation WHERE id = ?", fork)
    rows: list[tuple[Any, ...]] = execute(
        """SELECT id, message_id, created_at, turn, content_digest, content, digest_version, author FROM message
        WHERE conversation = ? AND message_id >= ? ORDER BY message_id""",
        *(conversation_id, start),
    ).fetchall()
    for row_id, message_id, created_at, turn, own, text, version, author in rows:
        if text is not None:
            content = Content.from_json(json.loads(text))
            search.remove(row_id, content)
            passages.remove(row_id, content)
        execute("DELETE FROM indexed_message WHERE message = ?", row_id)
        turn_id = None if turn is None else TurnId(turns[turn])
        covered = covered_author(version, author)
        head = message_digest(head, fork, MessageId(message_id), created_at, turn_id, Digest(own), covered)
        execute("UPDATE message SET conversation = ?, turn = ?, digest = ? WHERE id = ?", fork, turn_id, head, row_id)
    execute(
        "UPDATE stand_in SET conversation = ? WHERE conversation = ? AND message_id >= ?", fork, conversation_id, start
    )
    return None if head is None else Digest(head)


def _split_hidden(conversation_id: ConversationId, fork: ConversationId, start: MessageId) -> None:
    """What was hidden stays hidden, in the fork as in the conversation, for the part that each of them has."""
    execute(
        """INSERT INTO hidden (conversation, start_message_id, end_message_id, last_summary, created_at)
        SELECT ?, start_message_id, end_message_id, last_summary, created_at FROM hidden
        WHERE conversation = ? ORDER BY id""",
        *(fork, conversation_id),
    )
    execute("DELETE FROM hidden WHERE conversation = ? AND start_message_id >= ?", conversation_id, start)
    execute(
        "UPDATE hidden SET end_message_id = ? WHERE conversation = ? AND end_message_id > ?",
        *(start, conversation_id, start),
    )


def _move_forks(conversation_id: ConversationId, fork: ConversationId, start: MessageId) -> None:
    """Forks of moved messages are forks of their new place; they were never shared, because the hub had not what they
    begin with."""
    moved = execute(
        "SELECT id FROM conversation WHERE parent = ? AND fork_message_id > ? AND id <> ?", conversation_id, start, fork
    ).fetchall()
    execute(
        "UPDATE conversation SET parent = ? WHERE parent = ? AND fork_message_id > ? AND id <> ?",
        *(fork, conversation_id, start, fork),
    )
    for (each,) in moved:
        _chain_anew(ConversationId(each))
        for reader, _, _ in conversations.readers(each, start, _EVERYTHING)[1:]:
            _chain_anew(reader)


def _chain_anew(conversation_id: ConversationId) -> None:
    """Derives the digests of the conversation's own messages from the one before them, which got another digest."""
    ((fork_at,),) = execute("SELECT fork_message_id FROM conversation WHERE id = ?", conversation_id)
    head = _digest_before(conversation_id, MessageId(fork_at))
    rows = execute(
        """SELECT id, message_id, created_at, turn, content_digest, digest_version, author FROM message
        WHERE conversation = ? ORDER BY message_id""",
        conversation_id,
    ).fetchall()
    for row_id, message_id, created_at, turn, own, version, author in rows:
        head = message_digest(
            None if head is None else Digest(head),
            conversation_id,
            MessageId(message_id),
            created_at,
            turn,
            Digest(own),
            covered_author(version, author),
        )
        execute("UPDATE message SET digest = ? WHERE id = ?", head, row_id)
    execute("UPDATE conversation SET head_digest = ? WHERE id = ?", head, conversation_id)


def _digest_before(conversation_id: ConversationId, start: MessageId) -> str | None:
    owner = conversations.owner_of(conversation_id, MessageId(start - 1))
    row = execute("SELECT digest FROM message WHERE conversation = ? AND message_id = ?", owner, start - 1).fetchone()
    return None if row is None else row[0]


def _drop_contexts(conversation_id: ConversationId, start: MessageId) -> None:
    """What was chosen when the messages stood here; the next request chooses anew."""
    execute("DELETE FROM cut WHERE conversation = ? AND end_message_id > ?", conversation_id, start)
    execute("DELETE FROM preview WHERE conversation = ? AND message_id >= ?", conversation_id, start)
    execute(
        """DELETE FROM injection WHERE conversation = ? AND (
            message_id >= ? OR turn IN (SELECT id FROM turn WHERE conversation <> ?)
            OR cut_version NOT IN (SELECT version FROM cut WHERE conversation = ? UNION SELECT 0)
        )""",
        *(conversation_id, start, conversation_id, conversation_id),
    )
    execute("DELETE FROM expansion WHERE conversation = ? AND end_message_id > ?", conversation_id, start)
    execute("DELETE FROM withdrawal WHERE conversation = ? AND message_id >= ?", conversation_id, start)
    execute("DELETE FROM rule_mark WHERE conversation = ?", conversation_id)
