"""All values of a conversation, for its move from one store to another.

`file_format` writes and reads the file, and `checks` checks the lines that were read.

Left out because they follow from the rest: token counts, and the time of the last change. Left out because they belong
elsewhere: the costs of steps, journals, and the folder's pins.
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
    """The conversation that this one is a copy of."""

    id: ConversationId
    digest: Digest | None = None
    """The digest of the original's last message; None without messages."""


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
    """The first message id that is not the parent's; 0 when it is no fork."""
    parent: ConversationId | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class MessageLine:
    id: MessageId
    created_at: Instant
    content_digest: Digest
    digest: Digest
    conversation: ConversationId | None = None
    """The conversation whose row holds the message, and whose id its digest covers; None for the exported
    conversation."""
    turn: TurnId | None = None
    content: Content | None = None
    """None when it was purged: the digests are its tombstone."""
    purged_role: Role | None = None
    """The role of a purged message, when it is known."""
    author: str | None = None
    """The member of a hub whom the digest covers; None for version 1."""
    stand_in: Content | None = None
    """What is read in place of content that another store shared without its text; None for any other message."""


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
    """The number of summaries at that time. Those that overlap the range may mention hidden messages."""
    created_at: Instant


@dataclass(frozen=True, slots=True)
class ExpansionLine:
    start: MessageId
    end: MessageId


@dataclass(frozen=True, slots=True)
class WithdrawalLine:
    """A standing rule, by its number in its message, that the user withdrew by command."""

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
    """The tokens that each strategy saved, by its name."""
    tokens_before: int
    tokens_after: int
    duration_ms: int
    created_at: Instant


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """The preview that replaces a large message in the newest cut."""

    message: MessageId
    content: Content


@dataclass(frozen=True, slots=True)
class ContentLine:
    """The bytes of a picture in the messages."""

    digest: Digest
    data: str
    """Base64."""


Line = (
    MessageLine
    | TurnLine
    | SummaryLine
    | HiddenLine
    | ExpansionLine
    | WithdrawalLine
    | CutLine
    | PreviewLine
    | ContentLine
)

KINDS: Final[Mapping[str, type[Line]]] = {
    "message": MessageLine,
    "turn": TurnLine,
    "summary": SummaryLine,
    "hidden": HiddenLine,
    "expansion": ExpansionLine,
    "withdrawal": WithdrawalLine,
    "cut": CutLine,
    "preview": PreviewLine,
    "content": ContentLine,
}
"""The kinds of lines by their `type`, in the order of the file."""
NAMES: Final = {kind: name for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Transfer:
    """A whole conversation. Each list is in the order of the file."""

    header: Header
    messages: tuple[MessageLine, ...] = ()
    """Ordered by id."""
    turns: tuple[TurnLine, ...] = ()
    """The ended turns, ordered by their user's messages, then by id."""
    summaries: tuple[SummaryLine, ...] = ()
    """Ordered by id."""
    hidden: tuple[HiddenLine, ...] = ()
    """Ordered by start; they may overlap."""
    expansions: tuple[ExpansionLine, ...] = ()
    """Ordered by range."""
    withdrawals: tuple[WithdrawalLine, ...] = ()
    """Ordered by message and rule."""
    cuts: tuple[CutLine, ...] = ()
    """Ordered by version."""
    previews: tuple[PreviewLine, ...] = ()
    """Ordered by message."""
    contents: tuple[ContentLine, ...] = ()
    """Ordered by digest; those that were here."""


def as_copy(transfer: Transfer, conversation_id: ConversationId, turn_ids: Mapping[TurnId, TurnId]) -> Transfer:
    """The conversation under another id, with new turn ids (`turn_ids`: new by old), as no fork.

    Digests cover the ids, so they are computed anew; the header names the original.
    """
    predecessor: Digest | None = None
    messages: list[MessageLine] = []
    for old in transfer.messages:
        turn = None if old.turn is None else turn_ids[old.turn]
        predecessor = message_digest(predecessor, conversation_id, old.id, old.created_at, turn, old.content_digest)
        messages.append(replace(old, conversation=None, turn=turn, digest=predecessor, author=None))
    origin = Origin(transfer.header.id, transfer.messages[-1].digest if transfer.messages else None)
    return replace(
        transfer,
        header=replace(transfer.header, id=conversation_id, parent=None, fork_start=MessageId(0), origin=origin),
        messages=tuple(messages),
        turns=tuple(replace(turn, id=turn_ids[turn.id]) for turn in transfer.turns),
    )
