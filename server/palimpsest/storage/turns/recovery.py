"""Recovery: ended turns whose answer broke off, the user's choice about each, and turns that go on from them.

A turn may be continued, discarded or run again as long as no visible message comes after its answer: then hiding
everything after its user's message hides its answer and nothing else. Messages after the answer mean that the user went
on, so such a turn is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, MessageId, Role, TurnId
from palimpsest.domain.turns.recovery import Rerun, Resolution
from palimpsest.domain.turns.states import TURN, TurnState
from palimpsest.storage import leases
from palimpsest.storage.context import visibility
from palimpsest.storage.context.visibility import HidingEffect
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.leases import HeldLease, Writer
from palimpsest.storage.sql import execute
from palimpsest.storage.turns import turn_records, turns
from palimpsest.storage.turns.turn_records import TurnRecord

_WENT_ON: Final = (Resolution.CONTINUE.value, Resolution.RETRY.value)
_CUT_OFF: Final = ("output_limit", "tool_rounds")
"""Stop reasons of turns that were committed with more to say."""


@dataclass(frozen=True, slots=True)
class UnresolvedTurn:
    """A turn that broke off, and what is left of its answer."""

    turn: TurnRecord
    title: str
    """The title of the conversation."""
    answer: tuple[StoredMessage, ...]
    """Every visible message after the user's, oldest first, with those of turns that this one went on from."""
    ended_at: str


@dataclass(frozen=True, slots=True)
class Reopened:
    """A turn that goes on from an ended one, or the turn that the same choice had already made."""

    turn: TurnRecord
    lease: HeldLease | None
    """None when the turn existed before."""
    has_hidden: bool
    """Whether messages were hidden for the turn, so that the cut must be chosen without them."""


def unresolved() -> list[UnresolvedTurn]:
    """The turns that were interrupted or failed and wait for a choice, in the order of their ends."""
    broken = execute(
        f"{_ROWS} WHERE state IN (?, ?) AND resolution IS NULL ORDER BY ended_at, id",
        *(TurnState.INTERRUPTED.value, TurnState.ERRORED.value),
    )
    found: list[UnresolvedTurn] = []
    for row in [_Row.of(each) for each in broken]:
        if _is_last(row, row.conversation_id):
            title = conversations.get(row.conversation_id).title
            answer = message_log.read_visible(row.conversation_id, row.asked + 1)
            found.append(
                UnresolvedTurn(turn_records.find(row.id), title, tuple(answer), row.ended_at or row.started_at)
            )
    return found


def last_turn(conversation_id: ConversationId) -> TurnId:
    """The turn of the newest visible message of the user, unless another turn took its place. In a fork without
    messages of its own, it is the parent's turn. Raises InvalidRequest when there is no such message."""
    for owner, first, after in reversed(conversations.lineage(conversation_id)):
        found = execute(
            f"{_ROWS} WHERE conversation = ? AND user_message_id < ? ORDER BY user_message_id DESC, started_at DESC",
            *(owner, after),
        )
        for row in map(_Row.of, found):
            is_own = owner == conversation_id
            if is_own and row.resolution in _WENT_ON:
                continue
            if (is_own or row.asked >= first) and not _is_hidden(conversation_id, row.asked):
                return row.id
    raise InvalidRequest("Nothing was asked in this conversation, or it was rolled back: there is nothing to answer.")


def behind_which_turns_go_on(conversation_id: ConversationId) -> frozenset[MessageId]:
    """The partial answers from which some turn of the conversation goes on."""
    found = execute(
        "SELECT goes_on_behind FROM turn WHERE conversation = ? AND goes_on_behind IS NOT NULL", conversation_id
    )
    return frozenset(MessageId(message_id) for (message_id,) in found)


def made_by(ended: TurnId, how: Rerun, conversation_id: ConversationId) -> TurnRecord | None:
    """The turn that this choice has made; None when it was not chosen yet. Raises NotFound."""
    _, request_id = _choice(ended, how, conversation_id)
    existing = execute("SELECT id FROM turn WHERE request_id = ?", request_id).fetchone()
    return None if existing is None else turn_records.find(TurnId(existing[0]))


def _choice(ended: TurnId, how: Rerun, conversation_id: ConversationId) -> tuple[bool, str]:
    """Whether the turn is the conversation's own, and the key of the choice, which is made at most once."""
    is_own = turn_records.find(ended).conversation_id == conversation_id
    return is_own, f"{how.value}:{ended}" if is_own else f"{how.value}:{ended}:{conversation_id}"


def reopen(writer: Writer, turn_id: TurnId, ended: TurnId, how: Rerun, conversation_id: ConversationId) -> Reopened:
    """Begins the turn `turn_id` with the user's message of an ended one; a retry hides the ended one's answer. In a
    fork the ended turn may be the parent's, which is not changed.

    Each turn is continued at most once, and retried at most once: the same choice again finds the turn it made. Raises
    NotFound, ConversationBusy, and InvalidRequest where there is nothing to go on from.
    """
    if (made := made_by(ended, how, conversation_id)) is not None:
        return Reopened(made, None, False)
    is_own, request_id = _choice(ended, how, conversation_id)
    lease, _ = turns.take(writer, conversation_id, TURN)
    now = writer.now
    row = _resolvable(ended, conversation_id)
    is_whole = row.state is TurnState.COMMITTED and row.stop_reason not in _CUT_OFF
    if how is Resolution.CONTINUE and is_whole:
        raise InvalidRequest("This answer is complete, so there is nothing to continue. Send a message, or try again.")
    after = MessageId(row.asked + 1)
    has_hidden = how is Resolution.RETRY and _hide(conversation_id, after, now) is not None
    if is_own:
        _set_resolution(ended, how)
    execute(
        """INSERT INTO turn
        (id, conversation, request_id, user_message_id, state, model, next_seq, started_at, goes_on_behind)
        VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)""",
        *(turn_id, conversation_id, request_id, row.asked, TurnState.ADMITTED.value),
        *(conversations.get(conversation_id).model, now),
        _last_said(conversation_id) if how is Resolution.CONTINUE else None,
    )
    return Reopened(turn_records.find(turn_id), lease, has_hidden)


def keep(ended: TurnId) -> None:
    """Chooses to keep the answer as it is. Raises NotFound, and InvalidRequest when something else was chosen
    already."""
    row = _ended(ended)
    if row.resolution is None:
        _set_resolution(ended, Resolution.KEEP)
    elif row.resolution != Resolution.KEEP:
        raise InvalidRequest(_CHOSEN[Resolution(row.resolution)])


def first_hidden_by(ended: TurnId, how: Literal[Resolution.RETRY, Resolution.DISCARD]) -> MessageId | None:
    """The first message that the choice would hide, with all behind it; None when it was made before. Raises as
    `reopen`."""
    conversation_id = turn_records.find(ended).conversation_id
    if is_discarded(ended) if how is Resolution.DISCARD else made_by(ended, how, conversation_id) is not None:
        return None
    return MessageId(_resolvable(ended, conversation_id).asked + 1)


def is_discarded(ended: TurnId) -> bool:
    """Whether its answer was discarded. Raises NotFound, and InvalidRequest for a turn that has not ended."""
    return bool(_ended(ended).resolution == Resolution.DISCARD)


def discard(lease: HeldLease, ended: TurnId, hide: Literal["answer", "turn"], now: str) -> HidingEffect | None:
    """Hides the answer, or the user's message as well, which then becomes the draft. Returns None when there was
    nothing to hide, or the answer was discarded before. Raises as `reopen`."""
    leases.check(lease)
    if is_discarded(ended):
        return None
    conversation_id = lease.conversation_id
    row = _resolvable(ended, conversation_id)
    asked = row.asked
    if hide == "turn":
        (message,) = message_log.read(conversation_id, asked, asked + 1)
        conversations.set_draft(conversation_id, message.content.text, now)
    hid = _hide(conversation_id, asked if hide == "turn" else MessageId(asked + 1), now)
    _set_resolution(ended, Resolution.DISCARD)
    return hid


_CHOSEN: Final = {
    Resolution.CONTINUE: "This answer was continued already. Continue or retry the turn that went on from it.",
    Resolution.RETRY: "This turn was run again already. Continue or retry the turn that took its place.",
    Resolution.DISCARD: "This answer was discarded. It can be read, and its turn can be run again.",
    Resolution.KEEP: "This answer was kept.",
}


_ROWS: Final = """SELECT id, conversation, user_message_id, state, stop_reason, resolution, started_at, ended_at
    FROM turn"""


@dataclass(frozen=True, slots=True)
class _Row:
    """The columns of a turn that recovery needs."""

    id: TurnId
    conversation_id: ConversationId
    asked: MessageId
    """The id of the user's message."""
    state: TurnState
    stop_reason: str | None
    resolution: str | None
    started_at: str
    ended_at: str | None

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> _Row:
        """The record of a row of `_ROWS`."""
        turn_id, conversation, asked, state, *rest = row
        return cls(TurnId(turn_id), ConversationId(conversation), MessageId(asked), TurnState(state), *rest)


def _ended(turn_id: TurnId) -> _Row:
    found = execute(f"{_ROWS} WHERE id = ?", turn_id).fetchone()
    if found is None:
        raise NotFound(f"There is no turn {turn_id!r} here. Read the conversation to see its messages.")
    row = _Row.of(found)
    if not row.state.is_final:
        raise InvalidRequest("This turn is still running. Cancel it, or wait until it has ended.")
    return row


def _resolvable(turn_id: TurnId, conversation_id: ConversationId) -> _Row:
    """The ended turn. Raises InvalidRequest when another turn took its place or messages come after its answer."""
    row = _ended(turn_id)
    if row.conversation_id == conversation_id and row.resolution in _WENT_ON:
        raise InvalidRequest(_CHOSEN[Resolution(row.resolution)])
    if not _is_last(row, conversation_id):
        raise InvalidRequest(
            "This turn is not the conversation's last one, or its message is hidden. "
            "Roll the conversation back to it, or fork it there."
        )
    return row


def _set_resolution(turn_id: TurnId, resolution: Resolution) -> None:
    execute("UPDATE turn SET resolution = ? WHERE id = ?", resolution.value, turn_id)


def _is_last(row: _Row, conversation_id: ConversationId) -> bool:
    """Whether the turn's user message is visible, and every visible message after it belongs to an answer to it."""
    asked = row.asked
    if conversation_id != row.conversation_id != conversations.owner_of(conversation_id, asked):
        return False
    newest = _newest_visible(conversation_id)
    if newest is None or newest < asked or _is_hidden(conversation_id, asked):
        return False
    if newest == asked:
        return True
    (message,) = message_log.read(conversation_id, newest, newest + 1)
    own = execute("SELECT conversation, user_message_id FROM turn WHERE id = ?", message.turn_id).fetchone()
    return bool(own == (row.conversation_id, asked))


def _is_hidden(conversation_id: ConversationId, message_id: MessageId) -> bool:
    return any(each.start <= message_id < each.end for each in hidden_ranges.read(conversation_id))


def _newest_visible(conversation_id: ConversationId) -> MessageId | None:
    ranges = hidden_ranges.read(conversation_id)
    position = conversations.get(conversation_id).n_messages - 1
    while position >= 0 and (over := [each.start for each in ranges if each.start <= position < each.end]):
        position = min(over) - 1
    return None if position < 0 else MessageId(position)


def _last_said(conversation_id: ConversationId) -> MessageId | None:
    """The newest visible message when it is the assistant's: a partial answer without tool results after it."""
    newest = _newest_visible(conversation_id)
    if newest is None:
        return None
    (message,) = message_log.read(conversation_id, newest, newest + 1)
    return newest if message.content.role is Role.ASSISTANT else None


def _hide(conversation_id: ConversationId, start: MessageId, now: str) -> HidingEffect | None:
    """Hides the visible messages from `start` on; None when there are none."""
    newest = _newest_visible(conversation_id)
    if newest is None or newest < start:
        return None
    end = MessageId(conversations.get(conversation_id).n_messages)
    return visibility.hide(conversation_id, start, end, now)
