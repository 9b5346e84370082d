"""The cuts of a conversation, with their previews, and the ranges that the user expanded.

A cut is never changed: choosing a new one adds a version. The messages behind its end are live without being named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.context.cut_history import CutHistory, Standing
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.messages import Content, ConversationId, MessageId, SummaryId, canonical_json
from palimpsest.storage import leases
from palimpsest.storage.conversation import conversations
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.sql import execute, execute_many


@dataclass(frozen=True, slots=True)
class CutRecord:
    """A stored cut: its blocks, and the model, estimator and frame it was chosen for."""

    version: int
    cause: CutCause
    model: str
    estimator: Estimator
    frame_digest: str
    end: MessageId
    """The id after the last message that the cut was chosen over."""
    blocks: tuple[SummaryId, ...]
    """The summaries in the cut, oldest first. Every message they do not cover is live, unless it is left out."""
    front: str = ""
    """The text in front of the conversation: pins, and the other rules that the user gave by command."""
    left_out: tuple[tuple[MessageId, MessageId], ...] = ()
    """Ranges [start, end) of messages that are not sent at all, oldest first; empty unless `context.infinity` is off.
    """


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """The effect of a compaction, in tokens of the model."""

    saved: Mapping[str, int] = field(default_factory=dict)
    """The tokens that each strategy saved, by its name."""
    tokens_before: int = 0
    tokens_after: int = 0
    duration_ms: int = 0


def latest_version(conversation_id: ConversationId) -> int:
    """The version of the conversation's newest cut; 0 when it has none."""
    ((version,),) = execute("SELECT COALESCE(MAX(version), 0) FROM cut WHERE conversation = ?", conversation_id)
    return int(version)


def latest_cut(conversation_id: ConversationId) -> CutRecord | None:
    row = execute(f"{_CUTS} WHERE conversation = ? ORDER BY version DESC LIMIT 1", conversation_id).fetchone()
    return None if row is None else _cut(row)


def read_cut(conversation_id: ConversationId, version: int) -> CutRecord | None:
    """The cut of that version; None for a version that was never stored, such as 0."""
    row = execute(f"{_CUTS} WHERE conversation = ? AND version = ?", conversation_id, version).fetchone()
    return None if row is None else _cut(row)


def cut_history(conversation_id: ConversationId) -> CutHistory:
    """The conversation's cuts, as undo walks through them."""
    rows = execute("SELECT cause, blocks, left_out FROM cut WHERE conversation = ? ORDER BY version", conversation_id)
    return CutHistory.of(
        (
            CutCause(cause),
            Standing(
                tuple(SummaryId(each) for each in json.loads(blocks)),
                tuple((MessageId(start), MessageId(end)) for start, end in json.loads(left_out)),
            ),
        )
        for cause, blocks, left_out in rows
    )


_CUTS: Final = """SELECT version, cause, model, factor, sigma, overhead, frame_digest, end_message_id, blocks, front,
    left_out FROM cut"""


def _cut(row: tuple[Any, ...]) -> CutRecord:
    """The record of a row of `_CUTS`."""
    version, cause, model, factor, sigma, overhead, frame_digest, end, blocks, front, left_out = row
    return CutRecord(
        version,
        CutCause(cause),
        model,
        Estimator(factor, sigma, overhead),
        frame_digest,
        MessageId(end),
        tuple(SummaryId(each) for each in json.loads(blocks)),
        front,
        tuple((MessageId(first), MessageId(after)) for first, after in json.loads(left_out)),
    )


def write_cut(
    lease: HeldLease, cut: CutRecord, previews: Mapping[MessageId, Content], report: CompactionReport, now: str
) -> None:
    """Stores a new version, and with it the conversation's model. Every version has all of its previews, so it can be
    read without another. Raises LeaseLost."""
    leases.check(lease)
    conversation_id = lease.conversation_id
    if conversations.get(conversation_id).model != cut.model:
        conversations.set_model(conversation_id, cut.model, now)
    insert_cut(conversation_id, cut, report, now)
    write_previews(conversation_id, cut.version, previews)


def insert_cut(conversation_id: ConversationId, cut: CutRecord, report: CompactionReport, now: str) -> None:
    execute(
        """INSERT INTO cut (
            conversation, version, cause, model, factor, sigma, overhead, frame_digest, end_message_id, blocks, front,
            left_out, saved, tokens_before, tokens_after, duration_ms, created_at
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        *(conversation_id, cut.version, cut.cause.value, cut.model),
        *(cut.estimator.factor, cut.estimator.sigma, cut.estimator.overhead),
        *(cut.frame_digest, cut.end, json.dumps(cut.blocks), cut.front, json.dumps(cut.left_out)),
        *(json.dumps(dict(report.saved)), report.tokens_before, report.tokens_after, report.duration_ms, now),
    )


def add_cut_without(
    conversation_id: ConversationId, gone: Collection[int], now: str, *, has_front: bool = True
) -> None:
    """Adds a version: the newest cut without the blocks `gone`, so that every server loads the context anew. Injections
    end with it, as with every cut. Without its front, the next turn is told the user's rules again. A conversation
    without a cut gets one without a frame, so that its next request takes everything up anew."""
    latest = latest_cut(conversation_id)
    if latest is None:
        model = conversations.get(conversation_id).model
        latest = CutRecord(0, CutCause.ROLLBACK, model, Estimator(), "", MessageId(0), ())
    blocks = tuple(block for block in latest.blocks if block not in gone)
    cut = replace(latest, version=latest.version + 1, cause=CutCause.ROLLBACK, blocks=blocks)
    cut = cut if has_front else replace(cut, front="")
    insert_cut(conversation_id, cut, CompactionReport(), now)
    execute(
        """INSERT INTO preview (conversation, cut_version, message_id, content)
        SELECT conversation, ?, message_id, content FROM preview WHERE conversation = ? AND cut_version = ?""",
        *(cut.version, conversation_id, latest.version),
    )


def write_previews(conversation_id: ConversationId, cut_version: int, previews: Mapping[MessageId, Content]) -> None:
    """Stores the previews of large messages, which hold from `cut_version` until the next version."""
    execute_many(
        "INSERT INTO preview (conversation, cut_version, message_id, content) VALUES (?, ?, ?, ?)",
        [
            (conversation_id, cut_version, message_id, canonical_json(content.to_json()))
            for message_id, content in previews.items()
        ],
    )


def read_previews(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, Content]:
    found = execute(
        "SELECT message_id, content FROM preview WHERE conversation = ? AND cut_version = ?",
        *(conversation_id, cut_version),
    )
    return {MessageId(message_id): Content.from_json(json.loads(content)) for message_id, content in found}


def expand(conversation_id: ConversationId, start: MessageId, end: MessageId) -> None:
    """Notes that the user wants the originals of the messages [start, end), as long as they fit."""
    execute(
        "INSERT OR IGNORE INTO expansion (conversation, start_message_id, end_message_id) VALUES (?, ?, ?)",
        *(conversation_id, start, end),
    )


def keep_expansions(conversation_id: ConversationId, kept: Collection[tuple[MessageId, MessageId]]) -> None:
    """Makes `kept`, each [start, end), the only ranges of which the user wants the originals."""
    for start, end in set(expansions(conversation_id)).difference(kept):
        execute(
            "DELETE FROM expansion WHERE conversation = ? AND start_message_id = ? AND end_message_id = ?",
            *(conversation_id, start, end),
        )
    for start, end in kept:
        expand(conversation_id, start, end)


def expansions(conversation_id: ConversationId) -> list[tuple[MessageId, MessageId]]:
    """The ranges that the user expanded: [start, end), oldest first."""
    found = execute("SELECT start_message_id, end_message_id FROM expansion WHERE conversation = ?", conversation_id)
    return sorted((MessageId(start), MessageId(end)) for start, end in found)
