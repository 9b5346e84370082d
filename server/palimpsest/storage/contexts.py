"""What a conversation's context is made of: its cuts, its summaries, its previews.

A cut is never changed: choosing a new one adds a version. Messages behind its end are live without being named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from peewee import fn

from palimpsest.domain.cut import CutCause
from palimpsest.domain.cut_history import CutHistory, Standing
from palimpsest.domain.extractive import AUTHOR
from palimpsest.domain.forest import Summary
from palimpsest.domain.messages import Content, ConversationId, MessageId, SummaryId, TurnId, canonical_json
from palimpsest.domain.tokens import Estimator
from palimpsest.storage import conversations, facts, leases, tables
from palimpsest.storage.conversations import HiddenRange
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.tables import execute


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
    """The summaries that stand in it, oldest first. Every message they do not cover is live, unless it is left out."""
    front: str = ""
    """What stands before the conversation: pins, and what else the user ruled by command."""
    left_out: tuple[tuple[MessageId, MessageId], ...] = ()
    """[start, end) of messages that are not sent at all, oldest first; only where nothing is summarised."""


@dataclass(frozen=True, slots=True)
class RecutReport:
    """What a re-cut did. Tokens are the model's."""

    saved: Mapping[str, int] = field(default_factory=dict)
    """Tokens that each strategy saved, by its name."""
    tokens_before: int = 0
    tokens_after: int = 0
    duration_ms: int = 0


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
    input_tokens: int = 0
    """What the model that wrote it was sent, cached or not; 0 for a deterministic one."""
    output_tokens: int = 0


def latest_version(conversation_id: ConversationId) -> int:
    """Of the conversation's cuts; 0 when none was stored."""
    ((version,),) = execute("SELECT COALESCE(MAX(version), 0) FROM cut WHERE conversation = ?", conversation_id)
    return int(version)


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


def cut_history(conversation_id: ConversationId) -> CutHistory:
    """The conversation's cuts, as a person walks through them."""
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


def _cut(row: tables.Cut) -> CutRecord:
    return CutRecord(
        row.version,
        CutCause(row.cause),
        row.model,
        Estimator(row.factor, row.sigma, row.overhead),
        row.frame_digest,
        MessageId(row.end_message_id),
        tuple(SummaryId(each) for each in json.loads(row.blocks)),
        row.front,
        tuple((MessageId(start), MessageId(end)) for start, end in json.loads(row.left_out)),
    )


def write_cut(
    lease: HeldLease, cut: CutRecord, previews: Mapping[MessageId, Content], report: RecutReport, now: str
) -> None:
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
        saved=json.dumps(dict(report.saved)),
        tokens_before=report.tokens_before,
        tokens_after=report.tokens_after,
        duration_ms=report.duration_ms,
        front=cut.front,
        left_out=json.dumps(cut.left_out),
        created_at=now,
    )
    write_previews(conversation_id, cut.version, previews)


@dataclass(frozen=True, slots=True)
class Hid:
    """What hiding messages did."""

    last_hidden: int
    """See `conversations.last_hidden`."""
    has_new_cut: bool
    """Whether summaries left the context with them, so that other messages are live again."""


def hide(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> Hid:
    """Hides the messages [start, end), closes the facts of them, and takes out of every context what speaks of them:
    summaries of this conversation, and what others were told of those facts. Nothing hidden is sent, whatever becomes
    of the caller. A better cut may be chosen afterwards.

    A conversation that somebody writes at the moment keeps what its turn has sent already, until its next cut."""
    conversations.hide(conversation_id, start, end, now)
    for teller in facts.told_in(facts.close_from(conversation_id, start, end, now)) - {conversation_id}:
        if leases.holder_of(teller) is None:
            add_cut_without(teller, (), now)
    cut = latest_cut(conversation_id)
    gone: list[SummaryId] = []
    if cut is not None:
        hidden = conversations.hidden_ranges(conversation_id)
        gone = [each.id for each in read_summaries(conversation_id, cut.blocks) if not is_usable(each, hidden)]
    if gone:
        add_cut_without(conversation_id, gone, now)
    return Hid(conversations.last_hidden(conversation_id), bool(gone))


_KEPT: Final = ("model", "factor", "sigma", "overhead", "frame_digest", "end_message_id", "front", "left_out")
"""What a cut without some of its blocks has of the one before."""


def add_cut_without(conversation_id: ConversationId, gone: Collection[int], now: str) -> None:
    """The newest cut again without those blocks, as a version of its own, so that every server loads it. What was
    added behind messages goes, as with every cut."""
    rows = tables.Cut.select().where(tables.Cut.conversation == conversation_id)
    latest = rows.order_by(tables.Cut.version.desc()).first()
    kept = first_cut(conversation_id) if latest is None else {name: getattr(latest, name) for name in _KEPT}
    blocks = [] if latest is None else json.loads(latest.blocks)
    version = 0 if latest is None else latest.version
    tables.Cut.create(
        **kept | {"blocks": json.dumps([block for block in blocks if block not in gone])},
        conversation=conversation_id,
        version=version + 1,
        cause=CutCause.ROLLBACK.value,
        created_at=now,
    )
    write_previews(conversation_id, version + 1, read_previews(conversation_id, version))


def first_cut(conversation_id: ConversationId) -> dict[str, object]:
    """The columns of a cut for a conversation that has none: without a frame, so that the next request takes everything
    up anew."""
    start = Estimator()
    return {
        "model": conversations.get(conversation_id).model,
        "factor": start.factor,
        "sigma": start.sigma,
        "overhead": start.overhead,
        "frame_digest": "",
        "end_message_id": 0,
        "blocks": "[]",
    }


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


def write_injection(lease: HeldLease, turn_id: TurnId, cut_version: int, kind: str, text: str, now: str) -> None:
    """What is added to the request of a turn behind the user's text, until the cut after `cut_version`."""
    leases.check(lease)
    tables.Injection.create(
        conversation=lease.conversation_id,
        turn=turn_id,
        cut_version=cut_version,
        kind=kind,
        text=text,
        created_at=now,
    )


def read_injections(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, str]:
    """What stands behind the user's messages under that cut, by message."""
    query = (
        tables.Injection.select(tables.Turn.user_message_id, tables.Injection.text)
        .join(tables.Turn, on=(tables.Turn.id == tables.Injection.turn))
        .where(tables.Injection.conversation == conversation_id, tables.Injection.cut_version == cut_version)
        .order_by(tables.Injection.id)
    )
    found: dict[MessageId, str] = {}
    for message_id, text in tables.rows(query):
        before = found.get(MessageId(message_id))
        found[MessageId(message_id)] = text if before is None else f"{before}\n\n{text}"
    return found


def expand(conversation_id: ConversationId, start: MessageId, end: MessageId) -> None:
    """The user wants the messages [start, end) to stand as originals, as long as they fit."""
    tables.Expansion.insert(
        conversation=conversation_id, start_message_id=start, end_message_id=end
    ).on_conflict_ignore().execute()


def keep_expansions(conversation_id: ConversationId, kept: Collection[tuple[MessageId, MessageId]]) -> None:
    """The user wants these, each [start, end), to stand as originals, and no others any more."""
    for start, end in set(expansions(conversation_id)).difference(kept):
        tables.Expansion.delete().where(
            tables.Expansion.conversation == conversation_id,
            tables.Expansion.start_message_id == start,
            tables.Expansion.end_message_id == end,
        ).execute()
    for start, end in kept:
        expand(conversation_id, start, end)


def expansions(conversation_id: ConversationId) -> list[tuple[MessageId, MessageId]]:
    """What the user expanded: [start, end), oldest first."""
    query = tables.Expansion.select().where(tables.Expansion.conversation == conversation_id)
    return sorted((MessageId(row.start_message_id), MessageId(row.end_message_id)) for row in query)


_INHERITED = ("cause", "model", "factor", "sigma", "overhead", "frame_digest", "front")
"""What the cut of a fork has of its parent's."""


def inherit(child: ConversationId, parent: ConversationId, at: MessageId, now: str) -> None:
    """Gives a fork the summaries of its parent that end at or before `at`, the cut made of them, and what is hidden."""
    new_ids: dict[int, int] = {}
    hidden = sorted(
        (each for each in conversations.hidden_ranges(parent) if each.start < at), key=lambda each: each.last_summary
    )
    summaries = [each for each in read_summaries(parent) if each.end <= at]
    for old in summaries:
        # In the order it happened: a summary written after something was hidden rightly reaches over it.
        while hidden and hidden[0].last_summary < old.id:
            each = hidden.pop(0)
            conversations.hide(child, each.start, min(each.end, at), now)
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
    for each in hidden:
        conversations.hide(child, each.start, min(each.end, at), now)
    cut = latest_cut(parent)
    if cut is not None:
        blocks = json.dumps([new_ids[block] for block in cut.blocks if block in new_ids])
        row = tables.Cut.get(tables.Cut.conversation == parent, tables.Cut.version == cut.version)
        tables.Cut.create(
            **{name: getattr(row, name) for name in _INHERITED},
            conversation=child,
            version=1,
            end_message_id=min(cut.end, at),
            blocks=blocks,
            left_out=json.dumps([(start, min(end, at)) for start, end in cut.left_out if start < at]),
            saved="{}",
            tokens_before=0,
            tokens_after=0,
            duration_ms=0,
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
        input_tokens=new.input_tokens,
        output_tokens=new.output_tokens,
        created_at=now,
    )
    return _summary(row)


def write_later_summary(
    conversation_id: ConversationId, new: NewSummary, known_hidden: Sequence[HiddenRange], now: str
) -> Summary | None:
    """As `write_summary`, for a text that was begun when `known_hidden` was all that was hidden; None, and nothing is
    stored, when what it speaks of was hidden meanwhile."""
    if hidden_since(conversation_id, new.start, new.end, known_hidden):
        return None
    return write_summary(conversation_id, new, now)


def hidden_since(conversation_id: ConversationId, start: int, end: int, known_hidden: Sequence[HiddenRange]) -> bool:
    """Whether any of the messages [start, end) was hidden or purged since `known_hidden` was all that was hidden."""
    fresh = [each for each in conversations.hidden_ranges(conversation_id) if each not in known_hidden]
    return any(each.start < end and start < each.end for each in fresh)


def find_written(conversation_id: ConversationId, start: MessageId, end: MessageId) -> list[Summary]:
    """Summaries by a model that begin at `start`, end at or before `end` and speak of nothing hidden, newest first."""
    query = (
        tables.Summary.select()
        .where(
            tables.Summary.conversation == conversation_id,
            tables.Summary.start_message_id == start,
            tables.Summary.end_message_id <= end,
            tables.Summary.author != AUTHOR,
        )
        .order_by(tables.Summary.id.desc())
    )
    hidden = conversations.hidden_ranges(conversation_id)
    return [summary for row in query if is_usable(summary := _summary(row), hidden)]


def is_usable(summary: Summary, hidden: Sequence[HiddenRange]) -> bool:
    """Whether it speaks of nothing that was hidden when it was written or since."""
    return not any(
        summary.id <= each.last_summary and summary.start < each.end and each.start < summary.end for each in hidden
    )


def read_summaries(conversation_id: ConversationId, ids: Sequence[SummaryId] | None = None) -> list[Summary]:
    """The summaries of those ids, or all of the conversation, by id."""
    query = tables.Summary.select().where(tables.Summary.conversation == conversation_id)
    if ids is not None:
        query = query.where(tables.Summary.id.in_(list(ids)))
    return [_summary(row) for row in query.order_by(tables.Summary.id)]


REFUSED: Final = "refused"
"""Stands for the kind of texts that could not be used."""


@dataclass(frozen=True, slots=True)
class SummaryCost:
    """What the summaries of one kind took to write."""

    kind: str
    n_summaries: int
    input_tokens: int
    output_tokens: int
    duration_ms: int


def recut_reports(conversation_id: ConversationId) -> list[tuple[CutCause, RecutReport]]:
    """Every re-cut of the conversation with its cause, oldest first."""
    query = tables.Cut.select().where(tables.Cut.conversation == conversation_id).order_by(tables.Cut.version)
    return [
        (CutCause(row.cause), RecutReport(json.loads(row.saved), row.tokens_before, row.tokens_after, row.duration_ms))
        for row in query
    ]


@dataclass(frozen=True, slots=True)
class ContextMoment:
    """A request, or a re-cut, as the time line of a context shows it."""

    at: str
    tokens: int
    """Of a request, as its service counted them, or else as they were estimated; of a context behind its re-cut."""
    cause: CutCause | None
    """Why the cut was taken anew; None: it is a request."""
    tokens_before: int | None
    """Of a re-cut."""


def moments(conversation_id: ConversationId, n_most: int) -> list[ContextMoment]:
    """The newest, oldest first. By the clock, because requests and re-cuts are numbered apart: for showing only."""
    found = execute(
        """SELECT at, tokens, cause, tokens_before FROM (
            SELECT step.started_at AS at, step.id AS number, NULL AS cause, NULL AS tokens_before, COALESCE(
                NULLIF(input_tokens + cache_read_tokens + cache_write_tokens, 0), estimated_tokens
            ) AS tokens FROM step JOIN turn ON turn.id = step.turn WHERE turn.conversation = ?
            UNION ALL
            SELECT created_at, version, cause, tokens_before, tokens_after FROM cut WHERE conversation = ?
        ) ORDER BY at DESC, cause IS NULL DESC, number DESC LIMIT ?""",
        *(conversation_id, conversation_id, n_most),
    )
    newest = [
        ContextMoment(at, tokens, None if cause is None else CutCause(cause), before)
        for at, tokens, cause, before in found
    ]
    return newest[::-1]


def summary_costs(conversation_id: ConversationId) -> list[SummaryCost]:
    """By kind, those that were never adopted included, and last what was refused: they were paid for."""
    kind = tables.Summary.kind
    sums = (tables.Summary.input_tokens, tables.Summary.output_tokens, tables.Summary.duration_ms)
    query = (
        tables.Summary.select(kind, fn.COUNT(tables.Summary.id), *(fn.SUM(each) for each in sums))
        .where(tables.Summary.conversation == conversation_id)
        .group_by(kind)
        .order_by(kind)
    )
    refused = (
        tables.RefusedSummary.input_tokens,
        tables.RefusedSummary.output_tokens,
        tables.RefusedSummary.duration_ms,
    )
    lost = tables.RefusedSummary.select(
        fn.COUNT(tables.RefusedSummary.created_at), *(fn.SUM(each) for each in refused)
    ).where(tables.RefusedSummary.conversation == conversation_id)
    costs = [SummaryCost(*row) for row in tables.rows(query)]
    return costs + [SummaryCost(REFUSED, *row) for row in tables.rows(lost) if row[0]]


def write_refused(
    conversation_id: ConversationId, input_tokens: int, output_tokens: int, duration_ms: int, now: str
) -> None:
    """What a model took for a text that could not be used."""
    tables.RefusedSummary.create(
        conversation=conversation_id,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        duration_ms=duration_ms,
        created_at=now,
    )


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
