"""A conversation as it leaves one store and enters another: all of it, as values.

`transfer_format` makes a file of them and reads one, `transfer_rules` holds what is read to the rules.

Left out because it follows from the rest: token counts, and when the conversation last changed. Left out because it
belongs elsewhere: what steps cost, journals, the pins of the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NewType

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.conversation.chain import message_digest
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role, SummaryId, TurnId
from palimpsest.domain.turns.states import TurnState

Instant = NewType("Instant", str)
"""UTC, ISO 8601, as `machine.utc_now` writes it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a conversation is a copy of."""

    id: ConversationId
    digest: Digest | None = None
    """Of its last message."""


@dataclass(frozen=True, slots=True)
class Header:
    """The conversation itself."""

    id: ConversationId
    title: str
    has_user_title: bool
    model: str
    created_at: Instant
    n_messages: int
    is_archived: bool
    draft: str
    fork_start: MessageId
    """The first message that is its own; 0 when it is no fork."""
    parent: ConversationId | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class MessageLine:
    id: MessageId
    created_at: Instant
    content_digest: Digest
    digest: Digest
    conversation: ConversationId | None = None
    """Whose row holds it, which its digest covers; None for the conversation's own."""
    turn: TurnId | None = None
    content: Content | None = None
    """None when it was purged: the digests are its tombstone."""
    purged_role: Role | None = None
    """Of a tombstone, where it is known."""


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn that has ended."""

    id: TurnId
    user_message: MessageId
    state: TurnState
    model: str
    started_at: Instant
    ended_at: Instant | None = None
    stop_reason: str | None = None
    error_kind: ErrorKind | None = None
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class SummaryLine:
    id: SummaryId
    start: MessageId
    end: MessageId
    level: int
    kind: str
    text: str
    original_tokens: int
    author: str
    created_at: Instant
    children: tuple[SummaryId, ...]
    duration_ms: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class HiddenLine:
    """Messages [start, end) that were rolled back or purged."""

    start: MessageId
    end: MessageId
    n_summaries: int
    """How many of the summaries there were then: those that overlap the range may speak of what is hidden."""
    created_at: Instant


@dataclass(frozen=True, slots=True)
class ExpansionLine:
    start: MessageId
    end: MessageId


@dataclass(frozen=True, slots=True)
class WithdrawalLine:
    """A standing rule, by its number in its message, that the user took back by command."""

    message: MessageId
    rule: int
    created_at: Instant


@dataclass(frozen=True, slots=True)
class CutLine:
    version: int
    cause: CutCause
    model: str
    factor: float
    sigma: float
    overhead: int
    frame_digest: str
    end: MessageId
    blocks: tuple[SummaryId, ...]
    front: str
    left_out: tuple[tuple[MessageId, MessageId], ...]
    saved: tuple[tuple[str, int], ...]
    """Tokens that each strategy saved, by its name."""
    tokens_before: int
    tokens_after: int
    duration_ms: int
    created_at: Instant


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """What stands for a large message in the newest cut."""

    message: MessageId
    content: Content


Line = MessageLine | TurnLine | SummaryLine | HiddenLine | ExpansionLine | WithdrawalLine | CutLine | PreviewLine

KINDS: Final[Mapping[str, type[Line]]] = {
    "message": MessageLine,
    "turn": TurnLine,
    "summary": SummaryLine,
    "hidden": HiddenLine,
    "expansion": ExpansionLine,
    "withdrawal": WithdrawalLine,
    "cut": CutLine,
    "preview": PreviewLine,
}
"""By the `type` of a line, in the order in which they stand."""
NAMES: Final = {kind: name for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Transfer:
    """All of a conversation, each list in the order of its file."""

    header: Header
    messages: tuple[MessageLine, ...] = ()
    """By id."""
    turns: tuple[TurnLine, ...] = ()
    """By their user's messages, then by id. Those that had ended."""
    summaries: tuple[SummaryLine, ...] = ()
    """By id."""
    hidden: tuple[HiddenLine, ...] = ()
    """By their start; they may overlap."""
    expansions: tuple[ExpansionLine, ...] = ()
    """By range."""
    withdrawals: tuple[WithdrawalLine, ...] = ()
    """By message and rule."""
    cuts: tuple[CutLine, ...] = ()
    """By version."""
    previews: tuple[PreviewLine, ...] = ()
    """By message."""


def as_copy(transfer: Transfer, conversation_id: ConversationId, turn_ids: Mapping[TurnId, TurnId]) -> Transfer:
    """The same conversation under another id, with turns of its own (`turn_ids`: by the old), which is no fork.

    Digests cover the ids, so they are derived anew; the header says what it is a copy of.
    """
    predecessor: Digest | None = None
    messages: list[MessageLine] = []
    for old in transfer.messages:
        turn = None if old.turn is None else turn_ids[old.turn]
        predecessor = message_digest(predecessor, conversation_id, old.id, old.created_at, turn, old.content_digest)
        messages.append(replace(old, conversation=None, turn=turn, digest=predecessor))
    origin = Origin(transfer.header.id, transfer.messages[-1].digest if transfer.messages else None)
    return replace(
        transfer,
        header=replace(transfer.header, id=conversation_id, parent=None, fork_start=MessageId(0), origin=origin),
        messages=tuple(messages),
        turns=tuple(replace(turn, id=turn_ids[turn.id]) for turn in transfer.turns),
    )
