"""The life of a turn: admission, steps, the one commit, the end, and closing what a dead server left open.

A step's messages are committed exactly once, in one transaction that inserts them, marks the step and prunes its
journal. Every write of a running turn checks the lease in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.domain.context.sent_request import SentRequest
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import Content, ConversationId, StepId, TurnId
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.domain.turns.journal import Ending, EventType, to_messages, usage_of
from palimpsest.domain.turns.states import ENDING_STATES, TURN, TurnState
from palimpsest.storage import contents, leases, model_calls
from palimpsest.storage.context import cuts
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.conversation.message_log import Counts
from palimpsest.storage.leases import HeldLease, Writer
from palimpsest.storage.sql import execute
from palimpsest.storage.turns import sent_requests, stream_journal, turn_records
from palimpsest.storage.turns.turn_records import IS_OPEN, TURNS, TurnRecord


@dataclass(frozen=True, slots=True)
class Admission:
    """An admitted turn, or the turn that the same request had already made."""

    turn: TurnRecord
    lease: HeldLease | None
    """None when the turn existed before."""
    message: StoredMessage | None
    """The user's message, when it is the only message that was stored now."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The columns of a turn that its end sets."""

    state: TurnState
    stop_reason: str | None = None
    error_kind: ErrorKind | None = None
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """What a turn begins with."""

    id: str
    """Chosen by the client; the same id never makes a second turn."""
    content: Content
    """The user's message."""
    counts: Counts
    contents: Sequence[bytes] = ()
    """The bytes of the pictures in it."""


@dataclass(frozen=True, slots=True)
class NewStep:
    """A step that is about to call its model."""

    number: int
    """The place of the step in the turn, from 0."""
    provider: str
    model: str
    estimated_tokens: int
    """The estimated size of its request."""
    request: SentRequest


@dataclass(frozen=True, slots=True)
class StepMessages:
    """The messages of a step, with their counts and previews."""

    contents: Sequence[Content]
    counts: Counts
    previews: Mapping[int, Content]
    """The previews of messages that are too large for the context, by index into `contents`."""
    cut_version: int
    """The version of the cut that the previews belong to."""


@dataclass(frozen=True, slots=True)
class StepEnd:
    """The end of a step."""

    ending: Ending
    usage: TokenUsage | None
    """None when the provider did not report any."""
    nanodollars: int | None
    """What the call costs; None when that is not known."""
    turn_end: TurnEnd | None
    """None when another step follows."""


def admit(
    writer: Writer,
    turn_id: TurnId,
    conversation_id: ConversationId,
    request: TurnRequest,
    new: ConversationRecord | None = None,
) -> Admission:
    """Commits the user's message and begins the turn. Raises ConversationBusy or NotFound. `new`: the conversation,
    when it is to be stored in the same transaction.

    The open turns of a dead server in this conversation are closed first, so that the messages keep their order.
    """
    if (existing := turn_records.find_requested(request.id)) is not None:
        return Admission(existing, None, None)
    now = writer.now
    for data in request.contents:
        contents.keep(data)
    if new is not None:
        conversations.create(conversation_id, new.title, new.model, now)
    record = conversations.get(conversation_id)
    lease, has_closed = take(writer, conversation_id, TURN)
    if record.draft:
        conversations.set_draft(conversation_id, "", now)
    stored = message_log.append(conversation_id, [request.content], now, turn_id=turn_id, counts=request.counts)
    execute(
        """INSERT INTO turn (id, conversation, request_id, user_message_id, state, model, next_seq, started_at)
        VALUES (?, ?, ?, ?, ?, ?, 1, ?)""",
        *(turn_id, conversation_id, request.id, stored[0].id, TurnState.ADMITTED.value, record.model, now),
    )
    return Admission(turn_records.find(turn_id), lease, None if has_closed else stored[0])


def take(writer: Writer, conversation_id: ConversationId, holder: str) -> tuple[HeldLease, bool]:
    """Takes the lease for `holder`, as `leases.acquire`, and closes the turns that a dead server left open. Also
    returns whether there were any. So every lease that is released leaves no open turn behind."""
    lease = leases.acquire(writer, conversation_id, holder)
    return lease, bool(close_open_turns(conversation_id, writer.now))


def begin_step(lease: HeldLease, turn_id: TurnId, step: NewStep, now: str) -> StepId:
    """Stores a new step of the turn, with what it is about to send. Its id is never used again. Raises LeaseLost."""
    leases.check(lease)
    step_id = execute(
        """INSERT INTO step (turn, number, provider, model, server, epoch, estimated_tokens, started_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        *(turn_id, step.number, step.provider, step.model),
        *(lease.server_id, lease.epoch, step.estimated_tokens, now),
    ).lastrowid
    sent_requests.write(StepId(step_id or 0), step.request)
    state = turn_records.find(turn_id).state
    # When the step before was not accepted by the service, the turn is prepared already.
    if state is not TurnState.PREPARED:
        new = turn_records.next_state(state, TurnState.PREPARED)
        execute("UPDATE turn SET state = ? WHERE id = ?", new.value, turn_id)
    return StepId(step_id or 0)


def commit_step(
    lease: HeldLease, turn_id: TurnId, step_id: StepId, said: StepMessages, end: StepEnd, now: str
) -> list[StoredMessage]:
    """Stores the step's messages, ends the step and prunes its journal, at once. Ends the turn and frees the
    conversation when `end` says so. Raises LeaseLost."""
    leases.check(lease)
    at = lease.conversation_id
    stored = message_log.append(at, said.contents, now, turn_id=turn_id, step_id=step_id, counts=said.counts)
    by_id = {stored[index].id: preview for index, preview in said.previews.items()}
    cuts.write_previews(at, said.cut_version, by_id)
    _finish_step(turn_id, step_id, end, now)
    if end.turn_end is not None:
        end_turn(lease, turn_id, end.turn_end, now)
    return stored


def end_turn(lease: HeldLease, turn_id: TurnId, end: TurnEnd, now: str) -> None:
    """Ends the turn and frees the conversation. A step that was begun just as the turn was cancelled is ended as well.
    Raises LeaseLost."""
    leases.check(lease)
    ending = next((ending for ending, state in ENDING_STATES.items() if state is end.state), Ending.INTERRUPTED)
    _close_steps(lease.conversation_id, turn_id, ending, now)
    _write_end(turn_id, end, now)
    leases.release(lease)


def recover(writer: Writer) -> list[TurnId]:
    """Closes the turns that dead servers left open, and keeps their shown text as messages. Returns the closed turns.

    Running it again changes nothing: a closed turn is not open any more.
    """
    recovered: list[TurnId] = []
    for turn in [turn_records.record(row) for row in execute(f"{TURNS} WHERE {IS_OPEN}")]:
        lease = leases.holder_of(turn.conversation_id)
        if lease is None or not writer.is_alive(lease.server_id):
            recovered += close_open_turns(turn.conversation_id, writer.now)
            if lease is not None:
                leases.release(lease)
    return recovered


def close_abandoned(lease: HeldLease, now: str) -> None:
    """Closes turns that their own server could not close in time, for instance because the disk was full. A no-op when
    another server has the lease now."""
    if leases.holder_of(lease.conversation_id) == lease:
        close_open_turns(lease.conversation_id, now)
        leases.release(lease)


def close_open_turns(conversation_id: ConversationId, now: str) -> list[TurnId]:
    """Ends the open turns of the conversation, and keeps their shown text as messages. The caller knows that no server
    runs them."""
    closed: list[TurnId] = []
    turn_ids = execute(f"SELECT id FROM turn WHERE conversation = ? AND {IS_OPEN}", conversation_id).fetchall()
    for (turn_id,) in turn_ids:
        end = TurnEnd(
            TurnState.INTERRUPTED,
            error_message="The server ended before the answer was complete. The shown part is kept.",
        )
        if Ending.COMPLETE in _close_steps(conversation_id, turn_id, Ending.INTERRUPTED, now):
            end = TurnEnd(ENDING_STATES[Ending.COMPLETE], stop_reason="end")
        _write_end(turn_id, end, now)
        closed.append(turn_id)
    return closed


def _close_steps(conversation_id: ConversationId, turn_id: TurnId, ending: Ending, now: str) -> list[Ending]:
    """Ends the turn's open steps and keeps their shown text as messages. Returns the ending of each: complete, if its
    answer was whole."""
    endings: list[Ending] = []
    open_steps = execute("SELECT id FROM step WHERE turn = ? AND ending IS NULL", turn_id).fetchall()
    for (step_id,) in open_steps:
        events = [numbered.event for numbered in stream_journal.events_of(step_id)]
        said = to_messages(events, ending)
        message_log.append(conversation_id, said, now, turn_id=turn_id, step_id=step_id)
        is_whole = any(event.type is EventType.DONE for event in events) and not any(each.calls for each in said)
        endings.append(Ending.COMPLETE if is_whole else ending)
        _finish_step(turn_id, step_id, StepEnd(endings[-1], usage_of(events), None, None), now)
    return endings


def _finish_step(turn_id: TurnId, step_id: StepId, end: StepEnd, now: str) -> None:
    execute(
        """UPDATE step SET ending = ?, ended_at = ?, last_seq = (SELECT next_seq - 1 FROM turn WHERE id = ?)
        WHERE id = ?""",
        *(end.ending.value, now, turn_id, step_id),
    )
    usage = end.usage
    if usage is not None:
        execute(
            """UPDATE step SET input_tokens = ?, cache_read_tokens = ?, cache_write_tokens = ?, output_tokens = ?
            WHERE id = ?""",
            *(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens, step_id),
        )
    model_calls.record_step(step_id, end.ending, usage, end.nanodollars, now)
    execute("DELETE FROM stream_journal WHERE step = ?", step_id)
    contents.end_step(step_id)


def _write_end(turn_id: TurnId, end: TurnEnd, now: str) -> None:
    error_kind = None if end.error_kind is None else end.error_kind.value
    execute(
        "UPDATE turn SET state = ?, stop_reason = ?, error_kind = ?, error_message = ?, ended_at = ? WHERE id = ?",
        *(end.state.value, end.stop_reason, error_kind, end.error_message, now, turn_id),
    )
