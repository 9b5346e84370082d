"""Which conversations are shared, and how much of the hub's log the store has taken in."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId, MessageId, Role, canonical_json
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.sharing.log import EntryKind, NewEntry, SharedConversation
from palimpsest.machine import machine
from palimpsest.storage.conversation import conversations
from palimpsest.storage.sql import execute
from palimpsest.storage.turns import turn_records
from palimpsest.storage.turns.turn_records import IS_OPEN

_STORE_ID: Final = "hub.store"


class Unsound(PalimpsestError):
    """What came from the hub does not follow from what the store has, or what was to be shared may not leave this
    machine. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the store knows of a shared conversation."""

    hub: str
    """The hub that it is shared through."""
    incarnation: str
    """Of the hub, when it was last compared with what is here."""
    member: str
    """As whom it is shared."""
    team: str
    channel: str
    hub_seq: int
    """The last entry that was taken in; 0 for none."""
    n_messages: int
    has_open_turn: bool


def store_id() -> str:
    """The id by which hubs know this store: its lease is the store's, whichever server of it writes. A copy of the
    store, also on another machine, gets an id of its own."""
    here = _place()
    row = execute("SELECT value FROM meta WHERE key = ?", _STORE_ID).fetchone()
    if row is not None:
        found, place = json.loads(row[0])
        if place == here:
            return str(found)
    new = machine.new_id()
    execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", _STORE_ID, canonical_json([new, here]))
    return new


def _place() -> list[object]:
    """What tells this database file from a copy."""
    file = next(file for _, name, file in execute("PRAGMA database_list") if name == "main")
    return [machine.host(), str(file), os.stat(file).st_ino]


def standing(conversation_id: ConversationId) -> Standing | None:
    """None for a conversation that is not shared."""
    row = execute(
        """SELECT hub, incarnation, member, team, channel, hub_seq, next_message_id FROM shared_conversation
        JOIN conversation ON conversation.id = shared_conversation.conversation WHERE conversation.id = ?""",
        conversation_id,
    ).fetchone()
    if row is None:
        return None
    is_open = execute(f"SELECT 1 FROM turn WHERE conversation = ? AND {IS_OPEN} LIMIT 1", conversation_id).fetchone()
    hub, incarnation, member, team, channel, hub_seq, n_messages = row
    return Standing(hub, incarnation, member, team, channel, hub_seq, n_messages, is_open is not None)


def shared_ids() -> dict[ConversationId, str]:
    """The team of each shared conversation."""
    return {ConversationId(each): team for each, team in execute("SELECT conversation, team FROM shared_conversation")}


@dataclass(frozen=True, slots=True)
class Terms:
    """How this machine shares."""

    cleaner: Cleaner
    """Of the folder, as it is now."""
    shares_results: bool = True
    """Whether the results of tools leave this machine, and summaries, which repeat them."""


@dataclass(frozen=True, slots=True)
class Former:
    """A conversation that was shared, and is this store's alone now."""

    hub: str
    member: str
    team: str
    n_messages: int
    """The messages that the hub had of it when the sharing ended. What was said besides was said to nobody else."""


def former(conversation_id: ConversationId) -> Former | None:
    """None for a conversation that is shared now, or never was."""
    row = execute(
        "SELECT hub, member, team, n_messages FROM former_sharing WHERE conversation = ?", conversation_id
    ).fetchone()
    return None if row is None else Former(*row)


def attach(shared: SharedConversation, terms: Terms) -> None:
    """From now on the conversation is shared, and `message_log.append` cleans what is stored in it. It is made, without
    messages, where the store has none of that id. Raises Unsound for a fork of messages that are not here."""
    conversation_id = ConversationId(shared.id)
    if not conversations.holds(conversation_id):
        _make(shared)
    execute(
        """INSERT OR IGNORE INTO shared_conversation (
            conversation, hub, incarnation, member, team, channel, hub_seq, n_pushed, title, root, home, shares_results
        ) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)""",
        *(conversation_id, shared.hub, shared.incarnation, shared.me, shared.team, shared.channel, shared.fork_at),
        *(shared.title, terms.cleaner.root, terms.cleaner.home, terms.shares_results),
    )
    execute("DELETE FROM former_sharing WHERE conversation = ?", conversation_id)
    conversations.touch(conversation_id, conversations.get(conversation_id).updated_at)


def _make(shared: SharedConversation) -> None:
    conversation_id = ConversationId(shared.id)
    if shared.parent is None:
        conversations.create(conversation_id, shared.title, shared.model, shared.created_at)
        return
    parent = conversations.find(ConversationId(shared.parent))
    if parent is None or parent.n_messages < shared.fork_at:
        raise Unsound(
            f"The conversation {shared.id} was forked from messages that are not here. Open the original first."
        )
    conversations.fork(conversation_id, parent, MessageId(shared.fork_at), shared.title, shared.created_at)
    conversations.set_model(conversation_id, shared.model, shared.created_at)


def begins_shared(conversation_id: ConversationId, team: str) -> bool:
    """Whether the team's hub has, as it is here, all that the fork begins with."""
    record = conversations.get(conversation_id)
    parent = None if record.parent is None else standing(record.parent)
    owner = conversations.owner_of(conversation_id, MessageId(record.fork_at - 1))
    row = execute("SELECT n_pushed FROM shared_conversation WHERE conversation = ?", owner).fetchone()
    return parent is not None and parent.team == team and (row is None or row[0] >= record.fork_at)


def asked_elsewhere(conversation_id: ConversationId, newest: Sequence[StoredMessage]) -> MessageId | None:
    """The question of a turn that another machine runs, as far as is known here: no answer and no end of the turn has
    come. `newest`: the newest messages. None when there is none."""
    is_answered = bool(newest) and newest[-1].content.role is Role.ASSISTANT and not newest[-1].content.calls
    asked = next((each for each in reversed(newest) if each.content.role is Role.USER), None)
    if is_answered or asked is None or asked.turn_id is None or turn_records.has_turn(asked.turn_id):
        return None
    return None if standing(conversation_id) is None else asked.id


def keep_terms(conversation_id: ConversationId, terms: Terms) -> None:
    """What is stored from now on is shared on these terms: a folder may have moved since."""
    execute(
        "UPDATE shared_conversation SET root = ?, home = ?, shares_results = ? WHERE conversation = ?",
        *(terms.cleaner.root, terms.cleaner.home, terms.shares_results, conversation_id),
    )


def compare_anew(conversation_id: ConversationId, shared: SharedConversation) -> None:
    """What the hub has is compared with what is here from the first entry on: it may have been restored from a
    backup."""
    execute(
        """UPDATE shared_conversation SET incarnation = ?, channel = ?, title = ?, hub_seq = 0, n_pushed = ?
        WHERE conversation = ?""",
        *(shared.incarnation, shared.channel, shared.title, shared.fork_at, conversation_id),
    )
    execute("DELETE FROM shared_entry WHERE conversation = ?", conversation_id)


def digest_of(conversation_id: ConversationId, message_id: int) -> str | None:
    """The digest of a message; None where there is none."""
    owner = conversations.owner_of(conversation_id, MessageId(message_id))
    row = execute("SELECT digest FROM message WHERE conversation = ? AND message_id = ?", owner, message_id).fetchone()
    return None if row is None else str(row[0])


def intend_purge(conversation_id: ConversationId, start: int, end: int) -> None:
    """The hub is to purge the messages [start, end) when it is back, also when this member is back in the team."""
    execute(
        "INSERT INTO purge_intent (conversation, start_message_id, end_message_id) VALUES (?, ?, ?)",
        *(conversation_id, start, end),
    )


def intended_purges(conversation_id: ConversationId) -> list[tuple[int, int, int]]:
    """(id, start, end) of each, the first one first."""
    return execute(
        "SELECT id, start_message_id, end_message_id FROM purge_intent WHERE conversation = ? ORDER BY id",
        conversation_id,
    ).fetchall()


def awaits_purge(conversation_id: ConversationId) -> bool:
    """Whether the hub is still to purge messages that the conversation has, also those it was forked with."""
    owners = {conversation_id, *(owner for owner, _, _ in conversations.lineage(conversation_id))}
    return any(intended_purges(ConversationId(each)) for each in owners)


def conversations_to_purge() -> list[ConversationId]:
    """The conversations that are shared no longer, with intended purges."""
    rows = execute("SELECT DISTINCT conversation FROM purge_intent JOIN former_sharing USING (conversation)")
    return [ConversationId(each) for (each,) in rows]


def forget_intent(intent_id: int) -> None:
    execute("DELETE FROM purge_intent WHERE id = ?", intent_id)


def detach(conversation_id: ConversationId) -> None:
    """The conversation is this store's alone from now on. Who wrote its messages stays known, and so does what the hub
    is still to purge. What the hub did not have by then counts as said alone."""
    execute(
        """INSERT OR REPLACE INTO former_sharing (conversation, hub, member, team, n_messages)
        SELECT conversation, hub, member, team, MIN(next_message_id, n_pushed) FROM shared_conversation
        JOIN conversation ON conversation.id = conversation WHERE conversation = ?""",
        conversation_id,
    )
    for table in ("shared_conversation", "shared_entry"):
        execute(f"DELETE FROM {table} WHERE conversation = ?", conversation_id)


def note_pushed(conversation_id: ConversationId, entries: Sequence[NewEntry], head_seq: int) -> None:
    """The hub has the entries now, and `head_seq` is its last."""
    n_messages = max((each.message.message_id + 1 for each in entries if each.message is not None), default=0)
    note_messages(conversation_id, n_messages)
    execute(
        "UPDATE shared_conversation SET hub_seq = MAX(hub_seq, ?) WHERE conversation = ?", head_seq, conversation_id
    )
    for each in entries:
        if each.kind is EntryKind.TITLE:
            note_title(conversation_id, each.body or "")
        elif each.kind is not EntryKind.MESSAGE:
            note_known(conversation_id, each.kind, each.key)


def note_messages(conversation_id: ConversationId, n_messages: int) -> None:
    """The hub has the messages below that id."""
    execute(
        "UPDATE shared_conversation SET n_pushed = MAX(n_pushed, ?) WHERE conversation = ?",
        *(n_messages, conversation_id),
    )


def has_hubs_title(conversation_id: ConversationId) -> bool:
    """Whether the conversation is called here as the hub was last known to call it."""
    query = """SELECT 1 FROM shared_conversation JOIN conversation ON conversation.id = shared_conversation.conversation
        WHERE conversation.id = ? AND conversation.title = shared_conversation.title"""
    return execute(query, conversation_id).fetchone() is not None


def note_title(conversation_id: ConversationId, title: str) -> None:
    """The title that the hub has."""
    execute("UPDATE shared_conversation SET title = ? WHERE conversation = ?", title, conversation_id)


def note_known(conversation_id: ConversationId, kind: str, key: str) -> None:
    """The hub has this entry, which is no message."""
    execute(
        "INSERT OR IGNORE INTO shared_entry (conversation, kind, entry_key) VALUES (?, ?, ?)",
        *(conversation_id, kind, key),
    )


def known(conversation_id: ConversationId) -> frozenset[tuple[str, str]]:
    """(kind, key) of the entries that the hub is known to have and that are no messages."""
    found = execute("SELECT kind, entry_key FROM shared_entry WHERE conversation = ?", conversation_id)
    return frozenset((kind, key) for kind, key in found)


def id_of_copy(conversation_id: ConversationId) -> ConversationId:
    """The id of the copy of the conversation that is being shared: the same until `forget_id_of_copy`."""
    key = f"copy:{conversation_id}"
    execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)", key, machine.new_id())
    ((found,),) = execute("SELECT value FROM meta WHERE key = ?", key)
    return ConversationId(found)


def forget_id_of_copy(conversation_id: ConversationId) -> None:
    execute("DELETE FROM meta WHERE key = ?", f"copy:{conversation_id}")


def shared_copies(conversation_id: ConversationId) -> list[str]:
    """The titles of the copies of the conversation that are shared."""
    rows = execute(
        """SELECT conversation.title FROM meta JOIN conversation ON key = 'origin:' || conversation.id
        JOIN shared_conversation ON shared_conversation.conversation = conversation.id
        WHERE key LIKE 'origin:%' AND json_extract(value, '$.id') = ? ORDER BY conversation.created_at""",
        conversation_id,
    )
    return [title for (title,) in rows]


def has_others(conversation_id: ConversationId, member: str) -> bool:
    """Whether the conversation holds messages of its own that another member said."""
    found = execute("SELECT 1 FROM message WHERE conversation = ? AND author <> ? LIMIT 1", conversation_id, member)
    return found.fetchone() is not None


def authors(conversation_id: ConversationId, start: int, end: int) -> dict[MessageId, str]:
    """The other members who wrote messages [start, end)."""
    found: dict[MessageId, str] = {}
    for owner, first, after in conversations.lineage(conversation_id, start, end):
        rows = execute(
            """SELECT message_id, author FROM message
            WHERE conversation = ? AND message_id >= ? AND message_id < ? AND author IS NOT NULL
                AND author IS NOT (SELECT member FROM shared_conversation WHERE conversation = message.conversation)""",
            *(owner, first, after),
        )
        found |= {MessageId(message_id): author for message_id, author in rows}
    return found
