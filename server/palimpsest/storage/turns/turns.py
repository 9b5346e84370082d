"""Turns and their steps: admission, the journal, the one commit, recovery.

A step's messages are committed exactly once, in one transaction that inserts them, marks the step and prunes its
journal. Every write of a running turn checks the lease in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import ErrorKind, NotFound
from palimpsest.domain.messages import Content, ConversationId, MessageId, Role, StepId, TurnId
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.domain.turns.journal import Ending, EventType, JournalEvent, Numbered, shown_text, to_messages
from palimpsest.domain.turns.states import ENDING_STATES, FINAL_STATES, TurnState, may_follow
from palimpsest.storage import leases
from palimpsest.storage.context import cuts
from palimpsest.storage.conversation import conversations
from palimpsest.storage.conversation.conversations import Counts
from palimpsest.storage.leases import HeldLease, Writer
from palimpsest.storage.tables import execute, execute_many


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn as it stands."""

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
class Admission:
    """An admitted turn, or the one that the same request had already made."""

    turn: TurnRecord
    lease: HeldLease | None
    """None when the turn existed before."""
    message: StoredMessage | None
    """The user's message, when it was stored now and nothing else was."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """What is written on a turn when it ends."""

    state: TurnState
    stop_reason: str | None = None
    error_kind: ErrorKind | None = None
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What another server may change of a conversation and an editor wants to know."""

    change_seq: int
    holder: str | None
    """The server that writes it now."""
    epoch: int
    """Counts who has written it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a turn has said after some event, as the store knows it, whichever server runs it."""

    turn: TurnRecord
    holder: str | None
    """The server that writes its conversation; None when nobody does."""
    committed: tuple[tuple[StepId, int, str], ...]
    """The steps that ended with a later event, oldest first: each with its last event's number and the assistant's
    whole text. Their events are pruned."""
    open_step: StepId | None
    n_before: int
    """Characters of the open step's text up to that event."""
    events: tuple[Numbered, ...]
    """Of the open step, later ones only."""


@dataclass(frozen=True, slots=True)
class StepMessages:
    """What a step has said, and how it is taken into the context."""

    contents: Sequence[Content]
    counts: Counts
    previews: Mapping[int, Content]
    """By index into `contents`: what the context has in place of a message that is too large."""
    cut_version: int
    """Of the cut that the previews belong to."""


@dataclass(frozen=True, slots=True)
class StepEnd:
    """What is written when a step is committed."""

    ending: Ending
    usage: TokenUsage | None
    """None when the provider did not get to say."""
    turn_end: TurnEnd | None
    """None when another step follows."""


def admit(
    writer: Writer,
    turn_id: TurnId,
    conversation_id: ConversationId,
    request_id: str,
    content: Content,
    counts: Counts,
    new: ConversationRecord | None = None,
) -> Admission:
    """Commits the user's message and begins the turn. Raises ConversationBusy or NotFound. `new`: the conversation,
    when it is to be stored at the same time.

    What a dead server left open in this conversation is closed first, so that the messages stand in order.
    """
    existing = execute(f"{_TURNS} WHERE request_id = ?", request_id).fetchone()
    if existing is not None:
        return Admission(_record(existing), None, None)
    now = writer.now
    if new is not None:
        conversations.create(conversation_id, new.title, new.model, now)
    record = conversations.get(conversation_id)
    lease, has_closed = take(writer, conversation_id, leases.TURN)
    if record.draft:
        conversations.set_draft(conversation_id, "", now)
    stored = conversations.append(conversation_id, [content], now, turn_id=turn_id, counts=counts)
    execute(
        """INSERT INTO turn (id, conversation, request_id, user_message_id, state, model, next_seq, started_at)
        VALUES (?, ?, ?, ?, ?, ?, 1, ?)""",
        *(turn_id, conversation_id, request_id, stored[0].id, TurnState.ADMITTED.value, record.model, now),
    )
    return Admission(find(turn_id), lease, None if has_closed else stored[0])


def take(writer: Writer, conversation_id: ConversationId, holder: str) -> tuple[HeldLease, bool]:
    """The lease for `holder`, as `leases.acquire`, and whether a dead server had left something open. That is closed:
    who gives the lease back leaves nothing behind that nobody runs."""
    lease = leases.acquire(writer, conversation_id, holder)
    return lease, bool(close_open_turns(conversation_id, writer.now))


def begin_step(
    lease: HeldLease, turn_id: TurnId, number: int, provider: str, model: str, estimated_tokens: int, now: str
) -> StepId:
    """A new step of the turn. Its id is never used again."""
    leases.check(lease)
    step_id = execute(
        """INSERT INTO step (turn, number, provider, model, server, epoch, estimated_tokens, started_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        *(turn_id, number, provider, model, lease.server_id, lease.epoch, estimated_tokens, now),
    ).lastrowid
    state = find(turn_id).state
    # After a request that was not taken the turn is prepared already.
    if state is not TurnState.PREPARED:
        new = _following(state, TurnState.PREPARED)
        execute("UPDATE turn SET state = ? WHERE id = ?", new.value, turn_id)
    return StepId(step_id or 0)


def append_events(
    lease: HeldLease, turn_id: TurnId, step_id: StepId, events: Sequence[JournalEvent], now: str
) -> list[Numbered]:
    """Makes events durable and gives them their numbers. Only then may an editor see them, so every delta
    of an answer waits for it."""
    found = execute(
        """SELECT turn.next_seq, turn.state FROM turn JOIN lease ON lease.conversation = turn.conversation
        WHERE turn.id = ? AND lease.server = ? AND lease.epoch = ?""",
        *(turn_id, lease.server_id, lease.epoch),
    ).fetchone()
    if not found:
        leases.check(lease)
        raise NotFound(f"There is no turn {turn_id!r} here. Read the conversation to see its messages.")
    next_seq, stored_state = found
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
    if state is TurnState.PREPARED:
        state = _following(state, TurnState.STREAMING)
    if state is TurnState.STREAMING and any(event.type is EventType.TOOL_START for event in events):
        state = _following(state, TurnState.TOOLS)
    execute("UPDATE turn SET next_seq = ?, state = ? WHERE id = ?", next_seq + len(events), state.value, turn_id)
    return numbered


def commit_step(
    lease: HeldLease, turn_id: TurnId, step_id: StepId, said: StepMessages, end: StepEnd, now: str
) -> list[StoredMessage]:
    """The step's messages, its mark and the pruning of its journal, at once. Ends the turn and frees the
    conversation when `end` says so."""
    leases.check(lease)
    at = lease.conversation_id
    stored = conversations.append(at, said.contents, now, turn_id=turn_id, step_id=step_id, counts=said.counts)
    by_id = {stored[index].id: preview for index, preview in said.previews.items()}
    cuts.write_previews(at, said.cut_version, by_id)
    _finish_step(turn_id, step_id, end.ending, end.usage, now)
    if end.turn_end is not None:
        end_turn(lease, turn_id, end.turn_end, now)
    return stored


def end_turn(lease: HeldLease, turn_id: TurnId, end: TurnEnd, now: str) -> None:
    """The turn is over, and the conversation is free. A step that its server had begun without hearing of it, because
    the turn was cancelled at that moment, is over as well."""
    leases.check(lease)
    ending = next((ending for ending, state in ENDING_STATES.items() if state is end.state), Ending.INTERRUPTED)
    _close_steps(lease.conversation_id, turn_id, ending, now)
    _write_end(turn_id, end, now)
    leases.release(lease)


def recover(writer: Writer) -> list[TurnId]:
    """Closes the turns that dead servers left open: what they had shown is kept as messages.

    Running it again changes nothing: a closed turn is not open any more.
    """
    recovered: list[TurnId] = []
    for turn in [_record(row) for row in execute(f"{_TURNS} WHERE {_IS_OPEN}")]:
        lease = leases.holder_of(turn.conversation_id)
        if lease is None or not writer.is_alive(lease.server_id):
            recovered += close_open_turns(turn.conversation_id, writer.now)
            if lease is not None:
                leases.release(lease)
    return recovered


def close_abandoned(lease: HeldLease, now: str) -> None:
    """Closes what its own server could not close when it should have, for instance because the disk was full. Without
    effect when the lease went to somebody else meanwhile."""
    if leases.holder_of(lease.conversation_id) == lease:
        close_open_turns(lease.conversation_id, now)
        leases.release(lease)


def close_open_turns(conversation_id: ConversationId, now: str) -> list[TurnId]:
    """Ends what is open in the conversation; the caller knows that nobody runs it. What was shown is kept."""
    closed: list[TurnId] = []
    turn_ids = execute(f"SELECT id FROM turn WHERE conversation = ? AND {_IS_OPEN}", conversation_id).fetchall()
    for (turn_id,) in turn_ids:
        end = TurnEnd(
            TurnState.INTERRUPTED,
            error_message="The server ended before the answer was complete. What it had shown is kept.",
        )
        if Ending.COMPLETE in _close_steps(conversation_id, turn_id, Ending.INTERRUPTED, now):
            end = TurnEnd(ENDING_STATES[Ending.COMPLETE], stop_reason="end")
        _write_end(turn_id, end, now)
        closed.append(turn_id)
    return closed


def _close_steps(conversation_id: ConversationId, turn_id: TurnId, ending: Ending, now: str) -> list[Ending]:
    """Ends the turn's open steps; what they had shown becomes messages. How each ended: whole, if its answer was."""
    endings: list[Ending] = []
    open_steps = execute("SELECT id FROM step WHERE turn = ? AND ending IS NULL", turn_id).fetchall()
    for (step_id,) in open_steps:
        events = [numbered.event for numbered in _journal(step_id)]
        contents = to_messages(events, ending)
        conversations.append(conversation_id, contents, now, turn_id=turn_id, step_id=step_id)
        is_whole = any(event.type is EventType.DONE for event in events) and not any(c.calls for c in contents)
        endings.append(Ending.COMPLETE if is_whole else ending)
        _finish_step(turn_id, step_id, endings[-1], None, now)
    return endings


def find(turn_id: TurnId) -> TurnRecord:
    """Raises NotFound."""
    row = execute(f"{_TURNS} WHERE id = ?", turn_id).fetchone()
    if row is None:
        raise NotFound(f"There is no turn {turn_id!r} here. Read the conversation to see its messages.")
    return _record(row)


def has_turn(turn_id: TurnId) -> bool:
    return execute("SELECT 1 FROM turn WHERE id = ?", turn_id).fetchone() is not None


def conversation_of_request(request_id: str) -> ConversationId | None:
    """The conversation in which the request already made a turn."""
    row = execute("SELECT conversation FROM turn WHERE request_id = ?", request_id).fetchone()
    return None if row is None else ConversationId(row[0])


def message_ids(turn_id: TurnId) -> list[MessageId]:
    """The turn's messages so far, oldest first; the user's is the first, also where an earlier turn stored it."""
    turn = find(turn_id)
    found = execute(
        "SELECT message_id FROM message WHERE conversation = ? AND turn = ? ORDER BY message_id",
        *(turn.conversation_id, turn_id),
    )
    asked = turn.user_message_id
    return [asked, *(MessageId(message_id) for (message_id,) in found if message_id != asked)]


def first_unfinished(conversation_id: ConversationId, n_messages: int) -> MessageId:
    """The first message of a turn that goes on; the next message's id when none does."""
    ((first,),) = execute(
        f"SELECT MIN(user_message_id) FROM turn WHERE conversation = ? AND {_IS_OPEN}", conversation_id
    )
    return MessageId(n_messages if first is None else first)


def number_of(conversation_id: ConversationId, message_id: MessageId) -> int:
    """Which turn of the conversation the message belongs to, counted from 1; 0 when it came from none."""
    ((number,),) = execute(
        "SELECT COUNT(*) FROM turn WHERE conversation = ? AND user_message_id <= ?", conversation_id, message_id
    )
    return int(number)


def count() -> int:
    """Of the folder, however they ended."""
    ((n_turns,),) = execute("SELECT COUNT(*) FROM turn")
    return int(n_turns)


def models_of(conversation_id: ConversationId) -> dict[TurnId, str]:
    """Which model each turn of the conversation was begun with."""
    found = execute("SELECT id, model FROM turn WHERE conversation = ?", conversation_id)
    return {TurnId(turn_id): model for turn_id, model in found}


def is_first_with(turn_id: TurnId, model: str) -> bool:
    """Whether the turn was begun with that model, and no other of its conversation before it."""
    found = execute(
        """SELECT 1 FROM turn WHERE id = ? AND model = ? AND NOT EXISTS (
            SELECT 1 FROM turn AS other WHERE other.conversation = turn.conversation AND other.model = turn.model
            AND other.id <> turn.id AND other.user_message_id <= turn.user_message_id)""",
        *(turn_id, model),
    )
    return any(True for _ in found)


def running_turn(conversation_id: ConversationId) -> TurnRecord | None:
    """The turn that has not ended, whichever server runs it."""
    row = execute(f"{_TURNS} WHERE conversation = ? AND {_IS_OPEN} LIMIT 1", conversation_id).fetchone()
    return None if row is None else _record(row)


def standings() -> dict[ConversationId, Standing]:
    """How every conversation stands."""
    found = execute(
        """SELECT conversation.id, change_seq, lease.server, COALESCE(lease.epoch, 0)
        FROM conversation LEFT JOIN lease ON lease.conversation = conversation.id"""
    )
    return {ConversationId(row_id): Standing(seq, server, epoch) for row_id, seq, server, epoch in found}


def request_cancel(turn_id: TurnId) -> None:
    """Asks the server that runs the turn to stop it. Without effect on a turn that is over."""
    execute(f"UPDATE turn SET cancel_requested = 1 WHERE id = ? AND {_IS_OPEN}", turn_id)


def cancels_among(turn_ids: Sequence[TurnId]) -> list[TurnId]:
    """Which of these turns somebody has asked to stop."""
    found = execute(
        "SELECT id FROM turn WHERE id IN (SELECT value FROM json_each(?)) AND cancel_requested", json.dumps(turn_ids)
    )
    return [TurnId(turn_id) for (turn_id,) in found]


def said_after(turn_id: TurnId, seq: int) -> Said:
    """What the turn has said after its event `seq`. Raises NotFound."""
    turn = find(turn_id)
    lease = leases.holder_of(turn.conversation_id)
    ended = execute(
        "SELECT id, last_seq FROM step WHERE turn = ? AND ending IS NOT NULL AND last_seq > ? ORDER BY id",
        *(turn_id, seq),
    ).fetchall()
    step = _open_step(turn_id)
    events = [] if step is None else _journal(step)
    before = shown_text(each.event for each in events if each.seq <= seq)
    return Said(
        turn,
        None if lease is None else lease.server_id,
        tuple((StepId(number), last_seq, _text_of(turn, StepId(number))) for number, last_seq in ended),
        step,
        len(before),
        tuple(each for each in events if each.seq > seq),
    )


def _text_of(turn: TurnRecord, step_id: StepId) -> str:
    """What the assistant said in a step that is committed."""
    found = execute(
        """SELECT content FROM message WHERE conversation = ? AND message_id > ? AND turn = ? AND step = ?
        AND content IS NOT NULL ORDER BY message_id""",
        *(turn.conversation_id, turn.user_message_id, turn.id, step_id),
    )
    said = [Content.from_json(json.loads(content)) for (content,) in found]
    return "".join(content.text for content in said if content.role is Role.ASSISTANT)


def read_journal(turn_id: TurnId) -> list[Numbered]:
    """What the open step of a turn has shown so far; empty when there is none."""
    step = _open_step(turn_id)
    return [] if step is None else _journal(step)


def _open_step(turn_id: TurnId) -> StepId | None:
    row = execute("SELECT id FROM step WHERE turn = ? AND ending IS NULL LIMIT 1", turn_id).fetchone()
    return None if row is None else StepId(row[0])


def _following(state: TurnState, new: TurnState) -> TurnState:
    """`new`, when a turn may go there."""
    if not may_follow(state, new):
        raise AssertionError(f"a turn cannot go from {state.value} to {new}")
    return new


def _journal(step_id: StepId) -> list[Numbered]:
    found = execute(
        "SELECT seq, event_type, content, call_id, name, is_error FROM stream_journal WHERE step = ? ORDER BY seq",
        step_id,
    )
    return [
        Numbered(seq, JournalEvent(EventType(event_type), text, call_id, name, bool(is_error)))
        for seq, event_type, text, call_id, name, is_error in found
    ]


def _finish_step(turn_id: TurnId, step_id: StepId, ending: Ending, usage: TokenUsage | None, now: str) -> None:
    execute(
        """UPDATE step SET ending = ?, ended_at = ?, last_seq = (SELECT next_seq - 1 FROM turn WHERE id = ?)
        WHERE id = ?""",
        *(ending.value, now, turn_id, step_id),
    )
    if usage is not None:
        execute(
            """UPDATE step SET input_tokens = ?, cache_read_tokens = ?, cache_write_tokens = ?, output_tokens = ?
            WHERE id = ?""",
            *(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens, step_id),
        )
    execute("DELETE FROM stream_journal WHERE step = ?", step_id)


def _write_end(turn_id: TurnId, end: TurnEnd, now: str) -> None:
    error_kind = None if end.error_kind is None else end.error_kind.value
    execute(
        "UPDATE turn SET state = ?, stop_reason = ?, error_kind = ?, error_message = ?, ended_at = ? WHERE id = ?",
        *(end.state.value, end.stop_reason, error_kind, end.error_message, now, turn_id),
    )


_TURNS: Final = """SELECT id, conversation, user_message_id, state, model, next_seq, stop_reason, error_kind,
    error_message FROM turn"""
_IS_OPEN: Final = "state NOT IN ({})".format(", ".join(f"'{state.value}'" for state in sorted(FINAL_STATES)))


def _record(row: tuple[Any, ...]) -> TurnRecord:
    """Of a row of `_TURNS`."""
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
