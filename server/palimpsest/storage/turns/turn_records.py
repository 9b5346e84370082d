"""Turns as stored records: finding and counting them, and requesting their end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.errors import ErrorKind, NotFound
from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.domain.turns.states import FINAL_STATES, TurnState, may_follow
from palimpsest.storage.sql import execute


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The state of a turn."""

    id: TurnId
    conversation_id: ConversationId
    user_message_id: MessageId
    state: TurnState
    model: str
    last_seq: int
    """The last sequence number given out; 0 before the first event."""
    stop_reason: str | None
    error_kind: ErrorKind | None
    error_message: str | None


@dataclass(frozen=True, slots=True)
class ConversationState:
    """The part of a conversation's state that another server may change and an editor wants to see."""

    change_seq: int
    holder: str | None
    """The server that writes the conversation now; None when no server does."""
    epoch: int
    """Changes whenever another writer takes the conversation."""


def find(turn_id: TurnId) -> TurnRecord:
    """Raises NotFound."""
    row = execute(f"{TURNS} WHERE id = ?", turn_id).fetchone()
    if row is None:
        raise NotFound(f"There is no turn {turn_id!r} here. Read the conversation to see its messages.")
    return record(row)


def has_turn(turn_id: TurnId) -> bool:
    return execute("SELECT 1 FROM turn WHERE id = ?", turn_id).fetchone() is not None


def conversation_of_request(request_id: str) -> ConversationId | None:
    """The conversation in which the request already made a turn; None when it made none."""
    row = execute("SELECT conversation FROM turn WHERE request_id = ?", request_id).fetchone()
    return None if row is None else ConversationId(row[0])


def message_ids(turn_id: TurnId) -> list[MessageId]:
    """The ids of the turn's messages so far, oldest first; the first is the user's, even if an earlier turn stored it.
    Raises NotFound."""
    turn = find(turn_id)
    found = execute(
        "SELECT message_id FROM message WHERE conversation = ? AND turn = ? ORDER BY message_id",
        *(turn.conversation_id, turn_id),
    )
    asked = turn.user_message_id
    return [asked, *(MessageId(message_id) for (message_id,) in found if message_id != asked)]


def first_message(conversation_id: ConversationId, turn_id: TurnId) -> MessageId | None:
    """The turn's first message that is stored, also of a turn that another machine runs; None when there is none."""
    ((found,),) = execute(
        "SELECT MIN(message_id) FROM message WHERE conversation = ? AND turn = ?", conversation_id, turn_id
    )
    return None if found is None else MessageId(found)


def first_unfinished(conversation_id: ConversationId, n_messages: int) -> MessageId:
    """The user's message of the oldest turn that has not ended; `n_messages` when every turn has ended."""
    ((first,),) = execute(
        f"SELECT MIN(user_message_id) FROM turn WHERE conversation = ? AND {IS_OPEN}", conversation_id
    )
    return MessageId(n_messages if first is None else first)


def number_of(conversation_id: ConversationId, message_id: MessageId) -> int:
    """The number of the turn that the message belongs to, counted from 1 in its conversation; 0 before the first
    turn."""
    ((number,),) = execute(
        "SELECT COUNT(*) FROM turn WHERE conversation = ? AND user_message_id <= ?", conversation_id, message_id
    )
    return int(number)


def count() -> int:
    """The number of turns in the folder, however they ended."""
    ((n_turns,),) = execute("SELECT COUNT(*) FROM turn")
    return int(n_turns)


def models_of(conversation_id: ConversationId) -> dict[TurnId, str]:
    """The model that each turn of the conversation began with."""
    found = execute("SELECT id, model FROM turn WHERE conversation = ?", conversation_id)
    return {TurnId(turn_id): model for turn_id, model in found}


def is_first_with(turn_id: TurnId, model: str) -> bool:
    """Whether the turn began with that model, and no earlier turn of the conversation did."""
    found = execute(
        """SELECT 1 FROM turn WHERE id = ? AND model = ? AND NOT EXISTS (
            SELECT 1 FROM turn AS other WHERE other.conversation = turn.conversation AND other.model = turn.model
            AND other.id <> turn.id AND other.user_message_id <= turn.user_message_id)""",
        *(turn_id, model),
    )
    return any(True for _ in found)


def running_turn(conversation_id: ConversationId) -> TurnRecord | None:
    """The turn that has not ended, whichever server runs it; None when there is none."""
    row = execute(f"{TURNS} WHERE conversation = ? AND {IS_OPEN} LIMIT 1", conversation_id).fetchone()
    return None if row is None else record(row)


def conversation_states() -> dict[ConversationId, ConversationState]:
    """The state of every conversation."""
    found = execute(
        """SELECT conversation.id, change_seq, lease.server, COALESCE(lease.epoch, 0)
        FROM conversation LEFT JOIN lease ON lease.conversation = conversation.id"""
    )
    return {ConversationId(row_id): ConversationState(seq, server, epoch) for row_id, seq, server, epoch in found}


def request_cancel(turn_id: TurnId) -> None:
    """Asks the server that runs the turn to stop it. A no-op for a turn that has ended."""
    execute(f"UPDATE turn SET cancel_requested = 1 WHERE id = ? AND {IS_OPEN}", turn_id)


def cancels_among(turn_ids: Sequence[TurnId]) -> list[TurnId]:
    """The turns among these that somebody has asked to stop."""
    found = execute(
        "SELECT id FROM turn WHERE id IN (SELECT value FROM json_each(?)) AND cancel_requested", json.dumps(turn_ids)
    )
    return [TurnId(turn_id) for (turn_id,) in found]


TURNS: Final = """SELECT id, conversation, user_message_id, state, model, next_seq, stop_reason, error_kind,
    error_message FROM turn"""


def find_requested(request_id: str) -> TurnRecord | None:
    """The turn that a request has made; None where it has made none."""
    row = execute(f"{TURNS} WHERE request_id = ?", request_id).fetchone()
    return None if row is None else record(row)


IS_OPEN: Final = "state NOT IN ({})".format(", ".join(f"'{state.value}'" for state in sorted(FINAL_STATES)))


def record(row: tuple[Any, ...]) -> TurnRecord:
    """The record of a row of `TURNS`."""
    turn_id, conversation, user_message_id, state, model, next_seq, stop_reason, error_kind, error_message = row
    return TurnRecord(
        TurnId(turn_id),
        ConversationId(conversation),
        MessageId(user_message_id),
        TurnState(state),
        model,
        next_seq - 1,
        stop_reason,
        None if error_kind is None else ErrorKind(error_kind),
        error_message,
    )


def next_state(state: TurnState, new: TurnState) -> TurnState:
    """Returns `new`. Raises AssertionError when a turn cannot go there from `state`."""
    if not may_follow(state, new):
        raise AssertionError(f"a turn cannot go from {state.value} to {new}")
    return new
