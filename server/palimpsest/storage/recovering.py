"""Ended turns whose answer broke off: which there are, what the user chose, and turns that go on from them.

A turn may be continued, discarded or run again as long as nothing visible was said behind it: then hiding what
follows its user's message hides its answer and nothing else. Messages behind it mean that the user went on, so it is
not listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from palimpsest.domain.chain import StoredMessage
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, MessageId, Role, TurnId
from palimpsest.domain.recovery import Rerun, Resolution
from palimpsest.domain.turns import TurnState
from palimpsest.storage import contexts, conversations, leases, turns
from palimpsest.storage.contexts import Hid
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.tables import Turn, rows
from palimpsest.storage.turns import TurnRecord

_WENT_ON: Final = (Resolution.CONTINUE.value, Resolution.RETRY.value)
_CUT_OFF: Final = ("output_limit", "tool_rounds")
"""Stop reasons of turns that were committed with more to say."""


@dataclass(frozen=True, slots=True)
class UnresolvedTurn:
    """A turn that broke off, and all that stands of the answer."""

    turn: TurnRecord
    title: str
    """The conversation's."""
    answer: tuple[StoredMessage, ...]
    """Every visible message behind the user's, oldest first, also of turns that this one went on from."""
    ended_at: str


@dataclass(frozen=True, slots=True)
class Reopened:
    """A turn that goes on from an ended one, or the one that the same choice had already made."""

    turn: TurnRecord
    lease: HeldLease | None
    """None when the turn existed before."""
    has_hidden: bool
    """Whether messages were hidden for it, so that the cut must be chosen without them."""


def unresolved() -> list[UnresolvedTurn]:
    """The turns that were interrupted or failed, about which nothing was chosen yet; the last ended last."""
    broken = (TurnState.INTERRUPTED.value, TurnState.ERRORED.value)
    query = Turn.select().where(Turn.state.in_(broken), Turn.resolution.is_null()).order_by(Turn.ended_at, Turn.id)
    found: list[UnresolvedTurn] = []
    for row in query:
        conversation_id = ConversationId(row.conversation)
        if _stands_last(row, conversation_id):
            title = conversations.get(conversation_id).title
            answer = conversations.read_visible(conversation_id, row.user_message_id + 1)
            found.append(
                UnresolvedTurn(turns.find(TurnId(row.id)), title, tuple(answer), row.ended_at or row.started_at)
            )
    return found


def last_turn(conversation_id: ConversationId) -> TurnId:
    """The one for the newest visible message of the user that no other turn took the place of; in a fork that has none
    of its own yet, the one of the conversation that it was forked from. Raises InvalidRequest when nothing was said."""
    for owner, first, after in reversed(conversations.lineage(conversation_id)):
        query = (
            Turn.select()
            .where(Turn.conversation == owner, Turn.user_message_id < after)
            .order_by(Turn.user_message_id.desc(), Turn.started_at.desc())
        )
        for row in query:
            is_own = owner == conversation_id
            if is_own and row.resolution in _WENT_ON:
                continue
            if (is_own or row.user_message_id >= first) and not _is_hidden(
                conversation_id, MessageId(row.user_message_id)
            ):
                return TurnId(row.id)
    raise InvalidRequest("Nothing was asked in this conversation yet, so there is nothing to go on from.")


def behind_which_turns_go_on(conversation_id: ConversationId) -> frozenset[MessageId]:
    """The partial answers that some turn of the conversation was asked to go on from."""
    query = Turn.select(Turn.goes_on_behind).where(
        Turn.conversation == conversation_id, Turn.goes_on_behind.is_null(False)
    )
    return frozenset(MessageId(message_id) for (message_id,) in rows(query))


def reopen(
    turn_id: TurnId,
    ended: TurnId,
    how: Rerun,
    conversation_id: ConversationId,
    server_id: str,
    is_alive: Callable[[str | None], bool],
    now: str,
) -> Reopened:
    """Begins the turn `turn_id` with the user's message of an ended one; a retry hides that one's answer. In a fork the
    ended turn may be one of the conversation it was forked from, where nothing changes then.

    Each turn is continued once, and run again once: the same choice again finds the turn it made. Raises NotFound,
    ConversationBusy, and InvalidRequest where there is nothing to go on from.
    """
    is_own = turns.find(ended).conversation_id == conversation_id
    request_id = f"{how.value}:{ended}" if is_own else f"{how.value}:{ended}:{conversation_id}"
    existing = Turn.get_or_none(Turn.request_id == request_id)
    if existing is not None:
        return Reopened(turns.find(TurnId(existing.id)), None, False)
    lease = leases.acquire(conversation_id, server_id, leases.TURN, is_alive, now)
    turns.close_open_turns(conversation_id, now)
    row = _resolvable(ended, conversation_id)
    is_whole = TurnState(row.state) is TurnState.COMMITTED and row.stop_reason not in _CUT_OFF
    if how is Resolution.CONTINUE and is_whole:
        raise InvalidRequest("This answer is complete, so there is nothing to continue. Send a message, or try again.")
    after = MessageId(row.user_message_id + 1)
    has_hidden = how is Resolution.RETRY and _hide(conversation_id, after, now) is not None
    if is_own:
        _set_resolution(ended, how)
    Turn.create(
        id=turn_id,
        conversation=conversation_id,
        request_id=request_id,
        user_message_id=row.user_message_id,
        state=TurnState.ADMITTED.value,
        model=conversations.get(conversation_id).model,
        next_seq=1,
        started_at=now,
        goes_on_behind=_last_said(conversation_id) if how is Resolution.CONTINUE else None,
    )
    return Reopened(turns.find(turn_id), lease, has_hidden)


def keep(ended: TurnId) -> None:
    """The answer stays as it is. Raises NotFound, and InvalidRequest when something else was chosen already."""
    row = _ended(ended)
    if row.resolution is None:
        _set_resolution(ended, Resolution.KEEP)
    elif row.resolution != Resolution.KEEP:
        raise InvalidRequest(_CHOSEN[Resolution(row.resolution)])


def is_discarded(ended: TurnId) -> bool:
    """Whether its answer was discarded. Raises NotFound, and InvalidRequest for a turn that has not ended."""
    return bool(_ended(ended).resolution == Resolution.DISCARD)


def discard(lease: HeldLease, ended: TurnId, hide: Literal["answer", "turn"], now: str) -> Hid | None:
    """Hides the answer, or the user's message as well, which then becomes the draft. None when nothing was there to
    hide, or it was discarded before. Raises as `reopen`.
    """
    leases.check(lease)
    if is_discarded(ended):
        return None
    conversation_id = lease.conversation_id
    row = _resolvable(ended, conversation_id)
    asked = MessageId(row.user_message_id)
    if hide == "turn":
        (message,) = conversations.read_messages(conversation_id, asked, asked + 1)
        conversations.set_draft(conversation_id, message.content.text, now)
    hid = _hide(conversation_id, asked if hide == "turn" else MessageId(asked + 1), now)
    _set_resolution(ended, Resolution.DISCARD)
    return hid


_CHOSEN: Final = {
    Resolution.CONTINUE: "This answer was continued already. Continue or retry the turn that went on from it.",
    Resolution.RETRY: "This turn was run again already. Continue or retry the turn that took its place.",
    Resolution.DISCARD: "This answer was discarded. It can be read, and its turn be run again.",
    Resolution.KEEP: "This answer was kept.",
}


def _ended(turn_id: TurnId) -> Turn:
    row = Turn.get_or_none(Turn.id == turn_id)
    if row is None:
        raise NotFound(f"There is no turn {turn_id!r} here. Read the conversation to see its messages.")
    if not TurnState(row.state).is_final:
        raise InvalidRequest("This turn is still running. Cancel it, or wait until it has ended.")
    return row


def _resolvable(turn_id: TurnId, conversation_id: ConversationId) -> Turn:
    """The ended turn. Raises InvalidRequest when another took its place or something was said behind it."""
    row = _ended(turn_id)
    if row.conversation == conversation_id and row.resolution in _WENT_ON:
        raise InvalidRequest(_CHOSEN[Resolution(row.resolution)])
    if not _stands_last(row, conversation_id):
        raise InvalidRequest(
            "This turn is not the conversation's last one, or its message was taken back. "
            "Roll the conversation back to it, or fork it there."
        )
    return row


def _set_resolution(turn_id: TurnId, resolution: Resolution) -> None:
    Turn.update(resolution=resolution.value).where(Turn.id == turn_id).execute()


def _stands_last(row: Turn, conversation_id: ConversationId) -> bool:
    """Whether its user's message is visible, and behind it only what was said for that message."""
    asked = MessageId(row.user_message_id)
    if row.conversation != conversation_id and row.conversation != conversations.owner_of(conversation_id, asked):
        return False
    newest = _newest_visible(conversation_id)
    if newest is None or newest < asked or _is_hidden(conversation_id, asked):
        return False
    if newest == asked:
        return True
    (message,) = conversations.read_messages(conversation_id, newest, newest + 1)
    own = Turn.get_or_none(Turn.id == message.turn_id)
    return own is not None and (own.conversation, own.user_message_id) == (row.conversation, asked)


def _is_hidden(conversation_id: ConversationId, message_id: MessageId) -> bool:
    return any(each.start <= message_id < each.end for each in conversations.hidden_ranges(conversation_id))


def _newest_visible(conversation_id: ConversationId) -> MessageId | None:
    ranges = conversations.hidden_ranges(conversation_id)
    position = conversations.get(conversation_id).n_messages - 1
    while position >= 0 and (over := [each.start for each in ranges if each.start <= position < each.end]):
        position = min(over) - 1
    return None if position < 0 else MessageId(position)


def _last_said(conversation_id: ConversationId) -> MessageId | None:
    """The newest visible message when it is the assistant's: a partial answer, with no results behind it."""
    newest = _newest_visible(conversation_id)
    if newest is None:
        return None
    (message,) = conversations.read_messages(conversation_id, newest, newest + 1)
    return newest if message.content.role is Role.ASSISTANT else None


def _hide(conversation_id: ConversationId, start: MessageId, now: str) -> Hid | None:
    """Hides what is visible from `start` on; None when nothing is."""
    newest = _newest_visible(conversation_id)
    if newest is None or newest < start:
        return None
    end = MessageId(conversations.get(conversation_id).n_messages)
    return contexts.hide(conversation_id, start, end, now)
