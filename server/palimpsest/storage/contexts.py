"""What a conversation's context is made of: its cuts, its summaries, its previews.

A cut is never changed: choosing a new one adds a version. Messages behind its end are live without being named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.domain.cut import CutCause
from palimpsest.domain.forest import Summary
from palimpsest.domain.messages import Content, ConversationId, MessageId, SummaryId, canonical_json
from palimpsest.domain.tokens import Estimator
from palimpsest.storage import conversations, leases, tables
from palimpsest.storage.leases import HeldLease


@dataclass(frozen=True, slots=True)
class CutRecord:
    """A stored cut: its blocks, and what it was chosen with."""

    version: int
    cause: CutCause
    model: str
    estimator: Estimator
    frame_digest: str
    end: MessageId
    """One more than the last message it was chosen over."""
    blocks: tuple[SummaryId, ...]
    """The summaries that stand in it, oldest first. Every message they do not cover is live."""


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary that was written and has no id yet."""

    start: MessageId
    end: MessageId
    level: int
    kind: str
    text: str
    original_tokens: int
    author: str
    children: tuple[SummaryId, ...]
    duration_ms: int


def latest_cut(conversation_id: ConversationId) -> CutRecord | None:
    row = (
        tables.Cut.select()
        .where(tables.Cut.conversation == conversation_id)
        .order_by(tables.Cut.version.desc())
        .first()
    )
    return None if row is None else _cut(row)


def read_cut(conversation_id: ConversationId, version: int) -> CutRecord | None:
    """A cut as it was; None for a version that was never stored, such as 0."""
    row = tables.Cut.get_or_none(tables.Cut.conversation == conversation_id, tables.Cut.version == version)
    return None if row is None else _cut(row)


def _cut(row: tables.Cut) -> CutRecord:
    return CutRecord(
        row.version,
        CutCause(row.cause),
        row.model,
        Estimator(row.factor, row.sigma, row.overhead),
        row.frame_digest,
        MessageId(row.end_message_id),
        tuple(SummaryId(each) for each in json.loads(row.blocks)),
    )


def write_cut(lease: HeldLease, cut: CutRecord, previews: Mapping[MessageId, Content], now: str) -> None:
    """A new version, and with it the conversation's model. Its previews are written whole, so one version can be read
    without another."""
    leases.check(lease)
    conversation_id = lease.conversation_id
    if conversations.get(conversation_id).model != cut.model:
        conversations.set_model(conversation_id, cut.model, now)
    tables.Cut.create(
        conversation=conversation_id,
        version=cut.version,
        cause=cut.cause.value,
        model=cut.model,
        factor=cut.estimator.factor,
        sigma=cut.estimator.sigma,
        overhead=cut.estimator.overhead,
        frame_digest=cut.frame_digest,
        end_message_id=cut.end,
        blocks=json.dumps(list(cut.blocks)),
        created_at=now,
    )
    write_previews(conversation_id, cut.version, previews)


def write_previews(conversation_id: ConversationId, cut_version: int, previews: Mapping[MessageId, Content]) -> None:
    """What stands for large messages, from `cut_version` until the next."""
    for message_id, content in previews.items():
        tables.Preview.create(
            conversation=conversation_id,
            cut_version=cut_version,
            message_id=message_id,
            content=canonical_json(content.to_json()),
        )


def read_previews(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, Content]:
    query = tables.Preview.select().where(
        tables.Preview.conversation == conversation_id, tables.Preview.cut_version == cut_version
    )
    return {MessageId(row.message_id): Content.from_json(json.loads(row.content)) for row in query}


def expand(conversation_id: ConversationId, start: MessageId, end: MessageId) -> None:
    """The user wants the messages [start, end) to stand as originals, as long as they fit."""
    tables.Expansion.insert(
        conversation=conversation_id, start_message_id=start, end_message_id=end
    ).on_conflict_ignore().execute()


def collapse(conversation_id: ConversationId, start: MessageId, end: MessageId) -> None:
    """Takes back every expansion that touches [start, end)."""
    tables.Expansion.delete().where(
        tables.Expansion.conversation == conversation_id,
        tables.Expansion.start_message_id < end,
        tables.Expansion.end_message_id > start,
    ).execute()


def expansions(conversation_id: ConversationId) -> list[tuple[MessageId, MessageId]]:
    """What the user expanded: [start, end), oldest first."""
    query = tables.Expansion.select().where(tables.Expansion.conversation == conversation_id)
    return sorted((MessageId(row.start_message_id), MessageId(row.end_message_id)) for row in query)


def inherit(child: ConversationId, parent: ConversationId, at: MessageId, now: str) -> None:
    """Gives a fork the summaries of its parent that end at or before `at`, the cut made of them, and what is hidden."""
    new_ids: dict[int, int] = {}
    summaries = [each for each in read_summaries(parent) if each.end <= at]
    for old in summaries:
        new = NewSummary(
            old.start,
            old.end,
            old.level,
            old.kind,
            old.text,
            old.original_tokens,
            old.author,
            tuple(SummaryId(new_ids[each]) for each in old.children if each in new_ids),
            0,
        )
        new_ids[old.id] = write_summary(child, new, now).id
    for each in conversations.hidden_ranges(parent):
        if each.start < at:
            conversations.hide(child, each.start, min(each.end, at), now)
    cut = latest_cut(parent)
    if cut is not None:
        blocks = json.dumps([new_ids[block] for block in cut.blocks if block in new_ids])
        row = tables.Cut.get(tables.Cut.conversation == parent, tables.Cut.version == cut.version)
        tables.Cut.create(
            **{name: getattr(row, name) for name in ("cause", "model", "factor", "sigma", "overhead", "frame_digest")},
            conversation=child,
            version=1,
            end_message_id=min(cut.end, at),
            blocks=blocks,
            created_at=now,
        )
        previews = {m: c for m, c in read_previews(parent, cut.version).items() if m < at}
        write_previews(child, 1, previews)


def write_summary(conversation_id: ConversationId, new: NewSummary, now: str) -> Summary:
    """A node of the forest. Whether it is used is for a cut to say."""
    row = tables.Summary.create(
        conversation=conversation_id,
        start_message_id=new.start,
        end_message_id=new.end,
        level=new.level,
        kind=new.kind,
        text=new.text,
        original_tokens=new.original_tokens,
        author=new.author,
        children=json.dumps(list(new.children)),
        duration_ms=new.duration_ms,
        created_at=now,
    )
    return _summary(row)


def read_summaries(conversation_id: ConversationId, ids: Sequence[SummaryId] | None = None) -> list[Summary]:
    """The summaries of those ids, or all of the conversation, by id."""
    query = tables.Summary.select().where(tables.Summary.conversation == conversation_id)
    if ids is not None:
        query = query.where(tables.Summary.id.in_(list(ids)))
    return [_summary(row) for row in query.order_by(tables.Summary.id)]


def last_summary_at(conversation_id: ConversationId) -> str | None:
    row = (
        tables.Summary.select(tables.Summary.created_at)
        .where(tables.Summary.conversation == conversation_id)
        .order_by(tables.Summary.id.desc())
        .first()
    )
    return None if row is None else row.created_at


def _summary(row: tables.Summary) -> Summary:
    return Summary(
        SummaryId(row.id),
        MessageId(row.start_message_id),
        MessageId(row.end_message_id),
        row.level,
        row.kind,
        row.text,
        row.original_tokens,
        row.author,
        row.created_at,
        tuple(SummaryId(child) for child in json.loads(row.children)),
    )
