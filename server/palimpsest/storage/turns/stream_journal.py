"""The journal of the stream: the events of a turn's open step, and what a reader of the turn has missed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.domain.errors import NotFound
from palimpsest.domain.messages import Content, Role, StepId, TurnId
from palimpsest.domain.turns.journal import EventType, JournalEvent, Numbered, has_answer, shown_text
from palimpsest.domain.turns.states import TurnState
from palimpsest.storage import contents, leases
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.sql import execute, execute_many
from palimpsest.storage.turns import turn_records
from palimpsest.storage.turns.turn_records import TurnRecord


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """The events and texts of a turn after some event, as the store knows them, whichever server runs the turn."""

    turn: TurnRecord
    holder: str | None
    """The server that writes the conversation; None when no server does."""
    committed: tuple[tuple[StepId, int, str], ...]
    """The steps that ended with a later event, oldest first: each with the number of its last event and the assistant's
    whole text. Their events are pruned."""
    open_step: StepId | None
    n_before: int
    """The characters of the open step's text up to that event."""
    events: tuple[Numbered, ...]
    """The later events of the open step."""


def append(
    lease: HeldLease,
    turn_id: TurnId,
    step_id: StepId,
    events: Sequence[JournalEvent],
    now: str,
    data: Sequence[bytes] = (),
) -> list[Numbered]:
    """Makes events durable and numbers them, with the bytes of the pictures that they name. Editors see events only
    afterwards, so every delta of an answer waits for this call. Raises LeaseLost, and NotFound for an unknown turn."""
    found = execute(
        """SELECT turn.next_seq, turn.state FROM turn JOIN lease ON lease.conversation = turn.conversation
        WHERE turn.id = ? AND lease.server = ? AND lease.epoch = ?""",
        *(turn_id, lease.server_id, lease.epoch),
    ).fetchone()
    if not found:
        leases.check(lease)
        raise NotFound(f"There is no turn {turn_id!r} here. Read the conversation to see its messages.")
    next_seq, stored_state = found
    contents.keep_for_step(step_id, data)
    numbered = [Numbered(next_seq + offset, event) for offset, event in enumerate(events)]
    execute_many(
        """INSERT INTO stream_journal (step, seq, event_type, content, call_id, name, is_error, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        [
            (step_id, seq, event.type.value, event.text, event.call_id, event.name, event.is_error, now)
            for seq, event in enumerate(events, next_seq)
        ],
    )
    state = TurnState(stored_state)
    if state is TurnState.PREPARED and has_answer(events):
        state = turn_records.next_state(state, TurnState.STREAMING)
    if state is TurnState.STREAMING and any(event.type is EventType.TOOL_START for event in events):
        state = turn_records.next_state(state, TurnState.TOOLS)
    execute("UPDATE turn SET next_seq = ?, state = ? WHERE id = ?", next_seq + len(events), state.value, turn_id)
    return numbered


def progress_after(turn_id: TurnId, seq: int) -> TurnProgress:
    """The progress of the turn after its event `seq`. Raises NotFound."""
    turn = turn_records.find(turn_id)
    lease = leases.holder_of(turn.conversation_id)
    ended = execute(
        "SELECT id, last_seq FROM step WHERE turn = ? AND ending IS NOT NULL AND last_seq > ? ORDER BY id",
        *(turn_id, seq),
    ).fetchall()
    step = _open_step(turn_id)
    events = [] if step is None else events_of(step)
    before = shown_text(each.event for each in events if each.seq <= seq)
    return TurnProgress(
        turn,
        None if lease is None else lease.server_id,
        tuple((StepId(number), last_seq, _text_of(turn, StepId(number))) for number, last_seq in ended),
        step,
        len(before),
        tuple(each for each in events if each.seq > seq),
    )


def _text_of(turn: TurnRecord, step_id: StepId) -> str:
    """The assistant's text in a committed step."""
    found = execute(
        """SELECT content FROM message WHERE conversation = ? AND message_id > ? AND turn = ? AND step = ?
        AND content IS NOT NULL ORDER BY message_id""",
        *(turn.conversation_id, turn.user_message_id, turn.id, step_id),
    )
    said = [Content.from_json(json.loads(content)) for (content,) in found]
    return "".join(content.text for content in said if content.role is Role.ASSISTANT)


def read(turn_id: TurnId) -> list[Numbered]:
    """The events of the turn's open step; empty when it has none."""
    step = _open_step(turn_id)
    return [] if step is None else events_of(step)


def _open_step(turn_id: TurnId) -> StepId | None:
    row = execute("SELECT id FROM step WHERE turn = ? AND ending IS NULL LIMIT 1", turn_id).fetchone()
    return None if row is None else StepId(row[0])


def events_of(step_id: StepId) -> list[Numbered]:
    found = execute(
        "SELECT seq, event_type, content, call_id, name, is_error FROM stream_journal WHERE step = ? ORDER BY seq",
        step_id,
    )
    return [
        Numbered(seq, JournalEvent(EventType(event_type), text, call_id, name, bool(is_error)))
        for seq, event_type, text, call_id, name, is_error in found
    ]
