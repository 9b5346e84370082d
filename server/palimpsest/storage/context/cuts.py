"""What a conversation's context is made of: its cuts, its summaries, its previews.

A cut is never changed: choosing a new one adds a version. Messages behind its end are live without being named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.context.cut_history import CutHistory, Standing
from palimpsest.domain.context.summaries.extractive import AUTHOR
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.facts.fact import FactId
from palimpsest.domain.messages import Content, ConversationId, MessageId, SummaryId, TurnId, canonical_json
from palimpsest.storage import leases
from palimpsest.storage.context import rules as ledger
from palimpsest.storage.conversation import conversations
from palimpsest.storage.conversation.conversations import HiddenRange
from palimpsest.storage.facts import facts
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.tables import execute, execute_many


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
    row = execute(f"{_CUTS} WHERE conversation = ? ORDER BY version DESC LIMIT 1", conversation_id).fetchone()
    return None if row is None else _cut(row)


def read_cut(conversation_id: ConversationId, version: int) -> CutRecord | None:
    """A cut as it was; None for a version that was never stored, such as 0."""
    row = execute(f"{_CUTS} WHERE conversation = ? AND version = ?", conversation_id, version).fetchone()
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


_CUTS: Final = """SELECT version, cause, model, factor, sigma, overhead, frame_digest, end_message_id, blocks, front,
    left_out FROM cut"""


def _cut(row: tuple[Any, ...]) -> CutRecord:
    """Of a row of `_CUTS`."""
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
    lease: HeldLease, cut: CutRecord, previews: Mapping[MessageId, Content], report: RecutReport, now: str
) -> None:
    """A new version, and with it the conversation's model. Its previews are written whole, so one version can be read
    without another."""
    leases.check(lease)
    conversation_id = lease.conversation_id
    if conversations.get(conversation_id).model != cut.model:
        conversations.set_model(conversation_id, cut.model, now)
    _insert_cut(conversation_id, cut, report, now)
    write_previews(conversation_id, cut.version, previews)


def _insert_cut(conversation_id: ConversationId, cut: CutRecord, report: RecutReport, now: str) -> None:
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


@dataclass(frozen=True, slots=True)
class Hid:
    """What hiding messages did."""

    last_hidden: int
    """See `conversations.last_hidden`."""
    has_new_cut: bool
    """Whether something left the context with them: memory is to be read anew."""
    has_lost_summaries: bool
    """Whether summaries did, so that other messages are live again."""


def hide(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> Hid:
    """Hides the messages [start, end), closes the facts of them, and takes out of every context what speaks of them:
    summaries of this conversation, what stands in front of it, which may say rules of theirs, and what others were told
    of those facts. Nothing hidden is sent, whatever becomes of the caller. A better cut may be chosen afterwards.

    A turn that runs in another conversation keeps what it was told before; the next one there is told it no more."""
    conversations.hide(conversation_id, start, end, now)
    closed = facts.close_from(conversation_id, start, end, now)
    _end_telling(facts.told_in(closed) - {conversation_id}, now)
    cut = latest_cut(conversation_id)
    gone: list[SummaryId] = []
    if cut is not None:
        hidden = conversations.hidden_ranges(conversation_id)
        gone = [each.id for each in read_summaries(conversation_id, cut.blocks) if not is_usable(each, hidden)]
    has_new_cut = cut is not None and bool(gone or cut.front)
    if has_new_cut:
        add_cut_without(conversation_id, gone, now, has_front=False)
    return Hid(conversations.last_hidden(conversation_id), has_new_cut, bool(gone))


def untell(ids: Sequence[FactId], now: str) -> None:
    """The facts are about to be removed: no turn was told them any more. Once they are gone, nobody could find what was
    told of them, and a purge of the words they rest on would leave it. As with `hide`, a turn that runs keeps what it
    was told."""
    tellers = facts.told_in(ids)
    for teller in tellers:
        _forget_recall(teller)
    _end_telling(tellers, now)


def _end_telling(tellers: Collection[ConversationId], now: str) -> None:
    """Their next requests say it no more. Whoever writes at the moment owns the cuts, and goes on with what was told;
    the next turn finds something taken away, and reads the context anew."""
    for teller in sorted(tellers):
        if leases.holder_of(teller) is None:
            add_cut_without(teller, (), now)
        else:
            _forget_recall(teller)


def _forget_recall(conversation_id: ConversationId) -> None:
    execute("DELETE FROM injection WHERE conversation = ? AND kind = 'recall'", conversation_id)


def add_cut_without(
    conversation_id: ConversationId, gone: Collection[int], now: str, *, has_front: bool = True
) -> None:
    """The newest cut again without those blocks, as a version of its own, so that every server loads it. What was
    added behind messages goes, as with every cut; without its front, what the user ruled is told to the next turn. Of a
    conversation that has none: one without a frame, so that the next request takes everything up anew."""
    latest = latest_cut(conversation_id)
    if latest is None:
        model = conversations.get(conversation_id).model
        latest = CutRecord(0, CutCause.ROLLBACK, model, Estimator(), "", MessageId(0), ())
    blocks = tuple(block for block in latest.blocks if block not in gone)
    cut = replace(latest, version=latest.version + 1, cause=CutCause.ROLLBACK, blocks=blocks)
    cut = cut if has_front else replace(cut, front="")
    _insert_cut(conversation_id, cut, RecutReport(), now)
    execute(
        """INSERT INTO preview (conversation, cut_version, message_id, content)
        SELECT conversation, ?, message_id, content FROM preview WHERE conversation = ? AND cut_version = ?""",
        *(cut.version, conversation_id, latest.version),
    )


def write_previews(conversation_id: ConversationId, cut_version: int, previews: Mapping[MessageId, Content]) -> None:
    """What stands for large messages, from `cut_version` until the next."""
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


def write_injection(lease: HeldLease, turn_id: TurnId, cut_version: int, kind: str, text: str, now: str) -> int:
    """What is added to the request of a turn behind the user's text, until the cut after `cut_version`. Returns what
    `last_injection` is now."""
    leases.check(lease)
    execute(
        """INSERT INTO injection (conversation, turn, cut_version, kind, text, created_at)
        VALUES (?, ?, ?, ?, ?, ?)""",
        *(lease.conversation_id, turn_id, cut_version, kind, text, now),
    )
    return last_injection(lease.conversation_id)


def last_injection(conversation_id: ConversationId) -> int:
    """A number for what was added behind messages, under any cut: another one when something was added or taken away,
    0 when there is nothing. Memory that knows another one is not in step."""
    query = "SELECT COALESCE(MAX(id), 0), COUNT(*) FROM injection WHERE conversation = ?"
    ((newest, n),) = execute(query, conversation_id)
    return int(newest) << 20 | int(n)


def read_injections(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, str]:
    """What stands behind the user's messages under that cut, by message."""
    rows = execute(
        """SELECT user_message_id, text FROM injection JOIN turn ON turn.id = injection.turn
        WHERE injection.conversation = ? AND cut_version = ? ORDER BY injection.id""",
        *(conversation_id, cut_version),
    )
    found: dict[MessageId, str] = {}
    for message_id, text in rows:
        before = found.get(MessageId(message_id))
        found[MessageId(message_id)] = text if before is None else f"{before}\n\n{text}"
    return found


def expand(conversation_id: ConversationId, start: MessageId, end: MessageId) -> None:
    """The user wants the messages [start, end) to stand as originals, as long as they fit."""
    execute(
        "INSERT OR IGNORE INTO expansion (conversation, start_message_id, end_message_id) VALUES (?, ?, ?)",
        *(conversation_id, start, end),
    )


def keep_expansions(conversation_id: ConversationId, kept: Collection[tuple[MessageId, MessageId]]) -> None:
    """The user wants these, each [start, end), to stand as originals, and no others any more."""
    for start, end in set(expansions(conversation_id)).difference(kept):
        execute(
            "DELETE FROM expansion WHERE conversation = ? AND start_message_id = ? AND end_message_id = ?",
            *(conversation_id, start, end),
        )
    for start, end in kept:
        expand(conversation_id, start, end)


def expansions(conversation_id: ConversationId) -> list[tuple[MessageId, MessageId]]:
    """What the user expanded: [start, end), oldest first."""
    found = execute("SELECT start_message_id, end_message_id FROM expansion WHERE conversation = ?", conversation_id)
    return sorted((MessageId(start), MessageId(end)) for start, end in found)


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
        blocks = tuple(SummaryId(new_ids[block]) for block in cut.blocks if block in new_ids)
        left_out = tuple((start, min(end, at)) for start, end in cut.left_out if start < at)
        front = "" if _may_quote_from(parent, cut, at) else cut.front
        own = replace(cut, version=1, end=min(cut.end, at), blocks=blocks, front=front, left_out=left_out)
        _insert_cut(child, own, RecutReport(), now)
        previews = {m: c for m, c in read_previews(parent, cut.version).items() if m < at}
        write_previews(child, 1, previews)


def _may_quote_from(conversation_id: ConversationId, cut: CutRecord, at: MessageId) -> bool:
    """Whether what stands in front of the conversation may say rules of its messages from `at` on: of those that were
    taken back by command, and of messages that are left out. What is missing then of the others the next turn is told.
    """
    is_told = any(entry.message_id >= at for entry in ledger.withdrawals(conversation_id))
    return is_told or any(end > at for _, end in cut.left_out)


def write_summary(conversation_id: ConversationId, new: NewSummary, now: str) -> Summary:
    """A node of the forest. Whether it is used is for a cut to say."""
    summary_id = execute(
        """INSERT INTO summary (
            conversation, start_message_id, end_message_id, level, kind, text, original_tokens, author, children,
            duration_ms, input_tokens, output_tokens, created_at
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        *(conversation_id, new.start, new.end, new.level, new.kind, new.text, new.original_tokens, new.author),
        *(json.dumps(new.children), new.duration_ms, new.input_tokens, new.output_tokens, now),
    ).lastrowid
    return Summary(
        SummaryId(summary_id or 0),
        new.start,
        new.end,
        new.level,
        new.kind,
        new.text,
        new.original_tokens,
        new.author,
        now,
        new.children,
    )


def write_later_summary(conversation_id: ConversationId, new: NewSummary, last_hidden: int, now: str) -> Summary | None:
    """As `write_summary`, for a text of pieces that were chosen when `last_hidden` had been hidden last; None, and
    nothing is stored, when what it speaks of was hidden since."""
    if hidden_since(conversation_id, new.start, new.end, last_hidden):
        return None
    return write_summary(conversation_id, new, now)


def hidden_since(conversation_id: ConversationId, start: int, end: int, last_hidden: int) -> bool:
    """Whether any of the messages [start, end) was hidden or purged since. `last_hidden`: as `conversations`' was."""
    found = execute(
        """SELECT 1 FROM hidden
        WHERE conversation = ? AND id > ? AND start_message_id < ? AND end_message_id > ? LIMIT 1""",
        *(conversation_id, last_hidden, end, start),
    )
    return next(iter(found), None) is not None


def find_written(conversation_id: ConversationId, start: MessageId, end: MessageId) -> list[Summary]:
    """Summaries by a model that begin at `start`, end at or before `end` and speak of nothing hidden, newest first."""
    rows = execute(
        f"""{_SUMMARIES} WHERE conversation = ? AND start_message_id = ? AND end_message_id <= ? AND author <> ?
        ORDER BY id DESC""",
        *(conversation_id, start, end, AUTHOR),
    )
    hidden = conversations.hidden_ranges(conversation_id)
    return [summary for row in rows if is_usable(summary := _summary(row), hidden)]


def is_usable(summary: Summary, hidden: Sequence[HiddenRange]) -> bool:
    """Whether it speaks of nothing that was hidden when it was written or since."""
    return not any(
        summary.id <= each.last_summary and summary.start < each.end and each.start < summary.end for each in hidden
    )


def read_summaries(conversation_id: ConversationId, ids: Sequence[SummaryId] | None = None) -> list[Summary]:
    """The summaries of those ids, or all of the conversation, by id."""
    if ids is None:
        rows = execute(f"{_SUMMARIES} WHERE conversation = ? ORDER BY id", conversation_id)
    else:
        rows = execute(
            f"{_SUMMARIES} WHERE conversation = ? AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
            *(conversation_id, json.dumps(ids)),
        )
    return [_summary(row) for row in rows]


_SUMMARIES: Final = """SELECT id, start_message_id, end_message_id, level, kind, text, original_tokens, author,
    created_at, children FROM summary"""


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
    rows = execute(
        """SELECT cause, saved, tokens_before, tokens_after, duration_ms FROM cut
        WHERE conversation = ? ORDER BY version""",
        conversation_id,
    )
    return [(CutCause(cause), RecutReport(json.loads(saved), *numbers)) for cause, saved, *numbers in rows]


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
    costs = execute(
        """SELECT kind, COUNT(*), SUM(input_tokens), SUM(output_tokens), SUM(duration_ms) FROM summary
        WHERE conversation = ? GROUP BY kind ORDER BY kind""",
        conversation_id,
    )
    refused = execute(
        """SELECT COUNT(*), SUM(input_tokens), SUM(output_tokens), SUM(duration_ms) FROM refused_summary
        WHERE conversation = ?""",
        conversation_id,
    )
    return [*(SummaryCost(*row) for row in costs), *(SummaryCost(REFUSED, *row) for row in refused if row[0])]


def write_refused(
    conversation_id: ConversationId, input_tokens: int, output_tokens: int, duration_ms: int, now: str
) -> None:
    """What a model took for a text that could not be used."""
    execute(
        """INSERT INTO refused_summary (conversation, input_tokens, output_tokens, duration_ms, created_at)
        VALUES (?, ?, ?, ?, ?)""",
        *(conversation_id, input_tokens, output_tokens, duration_ms, now),
    )


def _summary(row: tuple[Any, ...]) -> Summary:
    """Of a row of `_SUMMARIES`."""
    summary_id, start, end, level, kind, text, original_tokens, author, created_at, children = row
    return Summary(
        SummaryId(summary_id),
        MessageId(start),
        MessageId(end),
        level,
        kind,
        text,
        original_tokens,
        author,
        created_at,
        tuple(SummaryId(child) for child in json.loads(children)),
    )
