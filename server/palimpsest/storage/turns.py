"""Turns and their steps: admission, the journal, the one commit, recovery (invariants 2, 3, 10).

A step's messages are committed exactly once, in one transaction that inserts them, marks the step and prunes its
journal. Every write of a running turn checks the lease in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from peewee import JOIN

from palimpsest.domain.chain import StoredMessage
from palimpsest.domain.errors import ErrorKind, NotFound
from palimpsest.domain.journal import Ending, EventType, JournalEvent, Numbered, shown_text, to_messages
from palimpsest.domain.messages import Content, ConversationId, MessageId, Role, StepId, TurnId
from palimpsest.domain.provider import TokenUsage
from palimpsest.domain.turns import ENDING_STATES, FINAL_STATES, TurnState, may_follow
from palimpsest.storage import contexts, conversations, leases
from palimpsest.storage.conversations import ConversationRecord, Counts
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.tables import (
    Conversation,
    Lease,
    Message,
    Step,
    StreamJournal,
    Turn,
    execute,
    raw_connection,
    rows,
)


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
class StepEnd:
    """What is written when a step is committed."""

    ending: Ending
    usage: TokenUsage | None
    """None when the provider did not get to say."""
    turn_end: TurnEnd | None
    """None when another step follows."""


def admit(
    turn_id: TurnId,
    conversation_id: ConversationId,
    request_id: str,
    content: Content,
    counts: Counts,
    server_id: str,
    is_alive: Callable[[str | None], bool],
    now: str,
    new: ConversationRecord | None = None,
) -> Admission:
    """Commits the user's message and begins the turn. Raises ConversationBusy or NotFound. `new`: the conversation,
    when it is to be stored at the same time.

    What a dead server left open in this conversation is closed first, so that the messages stand in order.
    """
    existing = Turn.get_or_none(Turn.request_id == request_id)
    if existing is not None:
        return Admission(_record(existing), None, None)
    if new is not None:
        conversations.create(conversation_id, new.title, new.model, now)
    record = conversations.get(conversation_id)
    lease = leases.acquire(conversation_id, server_id, leases.TURN, is_alive, now)
    has_closed = bool(close_open_turns(conversation_id, now))
    if record.draft:
        conversations.set_draft(conversation_id, "", now)
    stored = conversations.append(conversation_id, [content], now, turn_id=turn_id, counts=counts)
    row = Turn.create(
        id=turn_id,
        conversation=conversation_id,
        request_id=request_id,
        user_message_id=stored[0].id,
        state=TurnState.ADMITTED.value,
        model=record.model,
        next_seq=1,
        stop_reason=None,
        error_kind=None,
        error_message=None,
        started_at=now,
        ended_at=None,
    )
    return Admission(_record(row), lease, None if has_closed else stored[0])


def begin_step(
    lease: HeldLease, turn_id: TurnId, number: int, provider: str, model: str, estimated_tokens: int, now: str
) -> StepId:
    """A new step of the turn. Its id is never used again."""
    leases.check(lease)
    row = Step.create(
        turn=turn_id,
        number=number,
        provider=provider,
        model=model,
        server=lease.server_id,
        epoch=lease.epoch,
        estimated_tokens=estimated_tokens,
        started_at=now,
    )
    turn = Turn.get_by_id(turn_id)
    # After a request that was not taken the turn is prepared already.
    if TurnState(turn.state) is not TurnState.PREPARED:
        _advance(turn, TurnState.PREPARED)
    return StepId(row.id)


def append_events(
    lease: HeldLease, turn_id: TurnId, step_id: StepId, events: Sequence[JournalEvent], now: str
) -> list[Numbered]:
    """Makes events durable and gives them their numbers. Only then may an editor see them (invariant 2).

    In plain SQL on the connection itself, because every delta of an answer waits for it: peewee's queries take several
    times as long, and its way to a connection as long again.
    """
    connection = raw_connection()
    found = list(
        connection.execute(
            "SELECT turn.next_seq, turn.state FROM turn JOIN lease ON lease.conversation = turn.conversation "
            "WHERE turn.id = ? AND lease.server = ? AND lease.epoch = ?",
            (turn_id, lease.server_id, lease.epoch),
        )
    )
    if not found:
        leases.check(lease)
        raise NotFound(f"There is no turn {turn_id!r} here. Read the conversation to see its messages.")
    ((next_seq, stored_state),) = found
    numbered = [Numbered(next_seq + offset, event) for offset, event in enumerate(events)]
    for seq, event in ((each.seq, each.event) for each in numbered):
        connection.execute(
            "INSERT INTO stream_journal (step, seq, event_type, content, call_id, name, is_error, created_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (step_id, seq, event.type.value, event.text, event.call_id, event.name, event.is_error, now),
        )
    state = TurnState(stored_state)
    if state is TurnState.PREPARED:
        state = _following(state, TurnState.STREAMING)
    if state is TurnState.STREAMING and any(event.type is EventType.TOOL_START for event in events):
        state = _following(state, TurnState.TOOLS)
    ended = (next_seq + len(events), state.value, turn_id)
    connection.execute("UPDATE turn SET next_seq = ?, state = ? WHERE id = ?", ended)
    return numbered


def commit_step(
    lease: HeldLease,
    turn_id: TurnId,
    step_id: StepId,
    contents: Sequence[Content],
    counts: Counts,
    previews: Mapping[int, Content],
    cut_version: int,
    end: StepEnd,
    now: str,
) -> list[StoredMessage]:
    """The step's messages, its mark and the pruning of its journal, at once. Ends the turn and frees the
    conversation when `end` says so.

    `previews`: by index into `contents`, what stands in the context for a message that is too large.
    """
    leases.check(lease)
    stored = conversations.append(lease.conversation_id, contents, now, turn_id=turn_id, step_id=step_id, counts=counts)
    by_id = {stored[index].id: preview for index, preview in previews.items()}
    contexts.write_previews(lease.conversation_id, cut_version, by_id)
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


def recover(is_alive: Callable[[str | None], bool], now: str) -> list[TurnId]:
    """Closes the turns that dead servers left open: what they had shown is kept as messages (invariant 3).

    Running it again changes nothing: a closed turn is not open any more.
    """
    recovered: list[TurnId] = []
    for row in Turn.select().where(Turn.state.not_in([state.value for state in FINAL_STATES])):
        lease = leases.holder_of(ConversationId(row.conversation))
        if lease is None or not is_alive(lease.server_id):
            recovered += close_open_turns(ConversationId(row.conversation), now)
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
    query = Turn.select().where(
        Turn.conversation == conversation_id, Turn.state.not_in([state.value for state in FINAL_STATES])
    )
    for turn in list(query):
        turn_id = TurnId(turn.id)
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
    for step in list(Step.select().where(Step.turn == turn_id, Step.ending.is_null())):
        events = [numbered.event for numbered in _journal(StepId(step.id))]
        contents = to_messages(events, ending)
        conversations.append(conversation_id, contents, now, turn_id=turn_id, step_id=StepId(step.id))
        is_whole = any(event.type is EventType.DONE for event in events) and not any(c.calls for c in contents)
        endings.append(Ending.COMPLETE if is_whole else ending)
        _finish_step(turn_id, StepId(step.id), endings[-1], None, now)
    return endings


def find(turn_id: TurnId) -> TurnRecord:
    """Raises NotFound."""
    row = Turn.get_or_none(Turn.id == turn_id)
    if row is None:
        raise NotFound(f"There is no turn {turn_id!r} here. Read the conversation to see its messages.")
    return _record(row)


def has_turn(turn_id: TurnId) -> bool:
    return bool(Turn.select().where(Turn.id == turn_id).exists())


def conversation_of_request(request_id: str) -> ConversationId | None:
    """The conversation in which the request already made a turn."""
    row = Turn.get_or_none(Turn.request_id == request_id)
    return None if row is None else ConversationId(row.conversation)


def message_ids(turn_id: TurnId) -> list[MessageId]:
    """The turn's messages so far, oldest first; the user's is the first, also where an earlier turn stored it."""
    turn = Turn.get_by_id(turn_id)
    query = (
        Message.select(Message.message_id)
        .where(Message.conversation == turn.conversation, Message.turn == turn_id)
        .order_by(Message.message_id)
    )
    asked = MessageId(turn.user_message_id)
    return [asked, *(MessageId(message_id) for (message_id,) in rows(query) if message_id != asked)]


def first_unfinished(conversation_id: ConversationId, n_messages: int) -> MessageId:
    """The first message of a turn that goes on; the next message's id when none does."""
    final = [state.value for state in TurnState if state.is_final]
    marks = ", ".join("?" for _ in final)
    ((first,),) = execute(
        f"SELECT MIN(user_message_id) FROM turn WHERE conversation = ? AND state NOT IN ({marks})",
        *(conversation_id, *final),
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
    query = Turn.select(Turn.id, Turn.model).where(Turn.conversation == conversation_id)
    return {TurnId(turn_id): model for turn_id, model in rows(query)}


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
    row = Turn.get_or_none(
        Turn.conversation == conversation_id, Turn.state.not_in([state.value for state in FINAL_STATES])
    )
    return None if row is None else _record(row)


def standings() -> dict[ConversationId, Standing]:
    """How every conversation stands."""
    query = Conversation.select(Conversation.id, Conversation.change_seq, Lease.server, Lease.epoch).join(
        Lease, JOIN.LEFT_OUTER, on=(Lease.conversation == Conversation.id)
    )
    return {ConversationId(row_id): Standing(seq, server, epoch or 0) for row_id, seq, server, epoch in rows(query)}


def request_cancel(turn_id: TurnId) -> None:
    """Asks the server that runs the turn to stop it. Without effect on a turn that is over."""
    Turn.update(cancel_requested=True).where(
        Turn.id == turn_id, Turn.state.not_in([state.value for state in FINAL_STATES])
    ).execute()


def cancels_among(turn_ids: Sequence[TurnId]) -> list[TurnId]:
    """Which of these turns somebody has asked to stop."""
    query = Turn.select(Turn.id).where(Turn.id.in_(list(turn_ids)), Turn.cancel_requested)
    return [TurnId(turn_id) for (turn_id,) in rows(query)]


def said_after(turn_id: TurnId, seq: int) -> Said:
    """What the turn has said after its event `seq`. Raises NotFound."""
    turn = find(turn_id)
    lease = leases.holder_of(turn.conversation_id)
    ended = Step.select().where(Step.turn == turn_id, Step.ending.is_null(False), Step.last_seq > seq)
    committed = [(StepId(row.id), row.last_seq or 0, _text_of(turn, StepId(row.id))) for row in ended.order_by(Step.id)]
    step = Step.get_or_none(Step.turn == turn_id, Step.ending.is_null())
    events = [] if step is None else _journal(StepId(step.id))
    before = shown_text(each.event for each in events if each.seq <= seq)
    return Said(
        turn,
        None if lease is None else lease.server_id,
        tuple(committed),
        None if step is None else StepId(step.id),
        len(before),
        tuple(each for each in events if each.seq > seq),
    )


def _text_of(turn: TurnRecord, step_id: StepId) -> str:
    """What the assistant said in a step that is committed."""
    query = (
        Message.select(Message.content)
        .where(
            Message.conversation == turn.conversation_id,
            Message.message_id > turn.user_message_id,
            Message.turn == turn.id,
            Message.step == step_id,
            Message.content.is_null(False),
        )
        .order_by(Message.message_id)
    )
    said = [Content.from_json(json.loads(content)) for (content,) in rows(query)]
    return "".join(content.text for content in said if content.role is Role.ASSISTANT)


def read_journal(turn_id: TurnId) -> list[Numbered]:
    """What the open step of a turn has shown so far; empty when there is none."""
    step = Step.get_or_none(Step.turn == turn_id, Step.ending.is_null())
    return [] if step is None else _journal(StepId(step.id))


def _advance(turn: Turn, new: TurnState) -> None:
    """Moves a turn along an edge of its state machine; `turn` is updated too."""
    turn.state = _following(TurnState(turn.state), new).value
    Turn.update(state=turn.state).where(Turn.id == turn.id).execute()


def _following(state: TurnState, new: TurnState) -> TurnState:
    """`new`, when a turn may go there."""
    if not may_follow(state, new):
        raise AssertionError(f"a turn cannot go from {state.value} to {new}")
    return new


def _journal(step_id: StepId) -> list[Numbered]:
    query = StreamJournal.select().where(StreamJournal.step == step_id).order_by(StreamJournal.seq)
    return [
        Numbered(
            row.seq, JournalEvent(EventType(row.event_type), row.content, row.call_id, row.name, bool(row.is_error))
        )
        for row in query
    ]


def _finish_step(turn_id: TurnId, step_id: StepId, ending: Ending, usage: TokenUsage | None, now: str) -> None:
    turn = Turn.get_by_id(turn_id)
    changes: dict[str, object] = {"ending": ending.value, "ended_at": now, "last_seq": turn.next_seq - 1}
    if usage is not None:
        changes |= {
            "input_tokens": usage.input_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "output_tokens": usage.output_tokens,
        }
    Step.update(**changes).where(Step.id == step_id).execute()
    StreamJournal.delete().where(StreamJournal.step == step_id).execute()


def _write_end(turn_id: TurnId, end: TurnEnd, now: str) -> None:
    Turn.update(
        state=end.state.value,
        stop_reason=end.stop_reason,
        error_kind=None if end.error_kind is None else end.error_kind.value,
        error_message=end.error_message,
        ended_at=now,
    ).where(Turn.id == turn_id).execute()


def _record(row: Turn) -> TurnRecord:
    return TurnRecord(
        TurnId(row.id),
        ConversationId(row.conversation),
        MessageId(row.user_message_id),
        TurnState(row.state),
        row.model,
        row.next_seq - 1,
        row.stop_reason,
        None if row.error_kind is None else ErrorKind(row.error_kind),
        row.error_message,
    )
