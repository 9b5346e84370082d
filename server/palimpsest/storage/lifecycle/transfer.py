"""The rows of a conversation as a `Transfer`, and back. Each function is called inside one transaction."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.conversation.chain import covered_author, digest_version
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, SummaryId, TurnId, canonical_json
from palimpsest.domain.transfer.conversation import (
    ContentLine,
    CutLine,
    ExpansionLine,
    Header,
    HiddenLine,
    Instant,
    MessageLine,
    Origin,
    PreviewLine,
    SummaryLine,
    Transfer,
    TurnLine,
    WithdrawalLine,
)
from palimpsest.domain.turns.recovery import Resolution
from palimpsest.domain.turns.states import FINAL_STATES, TurnState
from palimpsest.storage import contents, sql, tables
from palimpsest.storage.context import cuts, summary_tree
from palimpsest.storage.conversation import conversations, message_log, pending_work
from palimpsest.storage.sql import execute


def read(conversation_id: ConversationId) -> Transfer:
    """Everything stored of the conversation; a fork has its parent's messages too. Raises NotFound.

    The uncommitted part of a running turn is not in it.
    """
    record = conversations.get(conversation_id)
    row = tables.Conversation.get_by_id(conversation_id)
    messages = _messages(conversation_id)
    summaries = summary_tree.read(conversation_id)
    numbers = {summary.id: SummaryId(number) for number, summary in enumerate(summaries)}
    newest = cuts.latest_cut(conversation_id)
    previews = cuts.read_previews(conversation_id, 0 if newest is None else newest.version)
    return Transfer(
        Header(
            record.id,
            record.title,
            bool(row.has_user_title),
            record.model,
            Instant(record.created_at),
            record.n_messages,
            record.is_archived,
            record.draft,
            record.fork_at,
            record.parent,
            _origin(conversation_id),
        ),
        messages,
        _turns(conversation_id, messages),
        _summaries(conversation_id, numbers),
        _hidden(conversation_id, numbers),
        tuple(ExpansionLine(start, end) for start, end in cuts.expansions(conversation_id)),
        _withdrawals(conversation_id),
        _cuts(conversation_id, numbers),
        tuple(PreviewLine(message_id, content) for message_id, content in sorted(previews.items())),
        _contents(messages),
    )


def can_keep(transfer: Transfer) -> bool:
    """Whether the transfer can be written unchanged: its id and its turns are free here, and its parent's messages are
    here and the same. Only then do its digests stay valid."""
    header = transfer.header
    if conversations.find(header.id) is not None:
        return False
    if header.parent is not None:
        if conversations.find(header.parent) is None:
            return False
        theirs = [(each.digest, each.content is None) for each in transfer.messages[: header.fork_start]]
        ours = [(each.digest, each.content is None) for each in _messages(header.parent, header.fork_start)]
        if theirs != ours:
            return False
    known = tables.rows(tables.Turn.select(tables.Turn.id, tables.Turn.request_id))
    taken = {each for row in known for each in row}
    return not any(turn.id in taken for turn in _own_turns(transfer))


def write(transfer: Transfer, now: str) -> ConversationRecord:
    """Stores the conversation of a transfer that `can_keep` allows and `domain.transfer.checks` has checked."""
    header = transfer.header
    tables.Conversation.create(
        id=header.id,
        title=header.title,
        has_user_title=header.has_user_title,
        model=header.model,
        next_message_id=len(transfer.messages),
        head_digest=transfer.messages[-1].digest if transfer.messages else None,
        change_seq=1,
        created_at=header.created_at,
        updated_at=now,
        parent=header.parent,
        fork_message_id=header.fork_start,
        is_archived=header.is_archived,
        draft=header.draft,
    )
    if header.origin is not None:
        origin = _written(header.origin)
        tables.Meta.insert(key=_origin_key(header.id), value=origin).on_conflict_replace().execute()
    for line in transfer.contents:
        contents.keep(base64.b64decode(line.data))
    _write_messages(transfer)
    contents.forget(line.digest for line in transfer.contents)  # those of the parent's messages are there already
    _write_turns(transfer)
    ids = _write_summaries(transfer)
    _write_context(transfer, ids)
    pending_work.index(header.id, MessageId(len(transfer.messages)))
    return conversations.get(header.id)


def _messages(conversation_id: ConversationId, end: int | None = None) -> tuple[MessageLine, ...]:
    found: list[MessageLine] = []
    for owner, first, after in conversations.lineage(conversation_id, 0, end):
        rows = sql.execute(
            """SELECT message_id, created_at, content_digest, digest, turn, content, purged_role,
                digest_version, author FROM message
            WHERE conversation = ? AND message_id >= ? AND message_id < ? ORDER BY message_id""",
            *(owner, first, after),
        )
        going = pending_work.being_purged(owner)
        for message_id, created_at, own, digest, turn, content, role, version, author in rows:
            is_gone = content is None or any(start <= message_id < stop for start, stop in going)
            found.append(
                MessageLine(
                    MessageId(message_id),
                    Instant(created_at),
                    Digest(own),
                    Digest(digest),
                    None if owner == conversation_id else ConversationId(owner),
                    None if turn is None else TurnId(turn),
                    None if is_gone else Content.from_json(json.loads(content)),
                    message_log.purged_role(role, content) if is_gone else None,
                    covered_author(version, author),
                    message_log.stand_in(owner, message_id) if content is None else None,
                )
            )
    return tuple(found)


def _turns(conversation_id: ConversationId, messages: Iterable[MessageLine]) -> tuple[TurnLine, ...]:
    shared = {message.turn for message in messages if message.conversation is not None}
    owners = {message.conversation for message in messages if message.conversation is not None}
    query = tables.Turn.select().where(
        tables.Turn.conversation.in_([conversation_id, *owners]),
        tables.Turn.state.in_([state.value for state in FINAL_STATES]),
    )
    found = [
        TurnLine(
            TurnId(row.id),
            MessageId(row.user_message_id),
            TurnState(row.state),
            row.model,
            Instant(row.started_at),
            None if row.ended_at is None else Instant(row.ended_at),
            row.stop_reason,
            None if row.error_kind is None else ErrorKind(row.error_kind),
            row.error_message,
        )
        for row in query
        if row.conversation == conversation_id or row.id in shared
    ]
    return tuple(sorted(found, key=lambda turn: (turn.user_message, turn.id)))


def _contents(messages: Iterable[MessageLine]) -> tuple[ContentLine, ...]:
    """The bytes of the pictures in the messages, as far as they are here."""
    digests = {image.digest for each in messages if each.content is not None for image in each.content.images}
    found = ((digest, contents.read(digest)) for digest in sorted(digests))
    return tuple(
        ContentLine(digest, base64.b64encode(data).decode("ascii")) for digest, data in found if data is not None
    )


def _own_turns(transfer: Transfer) -> list[TurnLine]:
    """The turns whose messages are the conversation's own."""
    shared = {message.turn for message in transfer.messages if message.conversation is not None}
    return [turn for turn in transfer.turns if turn.id not in shared]


def _summaries(conversation_id: ConversationId, numbers: Mapping[SummaryId, SummaryId]) -> tuple[SummaryLine, ...]:
    query = tables.Summary.select().where(tables.Summary.conversation == conversation_id).order_by(tables.Summary.id)
    return tuple(
        SummaryLine(
            numbers[SummaryId(row.id)],
            MessageId(row.start_message_id),
            MessageId(row.end_message_id),
            row.level,
            row.kind,
            row.text,
            row.original_tokens,
            row.author,
            Instant(row.created_at),
            _numbered(row.children, numbers),
            row.duration_ms,
            row.input_tokens,
            row.output_tokens,
        )
        for row in query
    )


def _numbered(ids: str, numbers: Mapping[SummaryId, SummaryId]) -> tuple[SummaryId, ...]:
    """The numbers of stored summaries in the file; a purged one has none."""
    return tuple(numbers[each] for each in json.loads(ids) if each in numbers)


def _hidden(conversation_id: ConversationId, numbers: Mapping[SummaryId, SummaryId]) -> tuple[HiddenLine, ...]:
    query = tables.Hidden.select().where(tables.Hidden.conversation == conversation_id)
    return tuple(
        HiddenLine(
            MessageId(row.start_message_id),
            MessageId(row.end_message_id),
            sum(summary_id <= row.last_summary for summary_id in numbers),
            Instant(row.created_at),
        )
        for row in query.order_by(tables.Hidden.start_message_id, tables.Hidden.id)
    )


def _withdrawals(conversation_id: ConversationId) -> tuple[WithdrawalLine, ...]:
    query = tables.Withdrawal.select().where(tables.Withdrawal.conversation == conversation_id)
    return tuple(
        WithdrawalLine(MessageId(row.message_id), row.rule, Instant(row.created_at))
        for row in query.order_by(tables.Withdrawal.message_id, tables.Withdrawal.rule)
    )


def _cuts(conversation_id: ConversationId, numbers: Mapping[SummaryId, SummaryId]) -> tuple[CutLine, ...]:
    query = tables.Cut.select().where(tables.Cut.conversation == conversation_id).order_by(tables.Cut.version)
    return tuple(
        CutLine(
            cause=CutCause(row.cause),
            end=MessageId(row.end_message_id),
            blocks=_numbered(row.blocks, numbers),
            left_out=tuple((MessageId(start), MessageId(end)) for start, end in json.loads(row.left_out)),
            saved=tuple(json.loads(row.saved).items()),
            **{name: getattr(row, name) for name in _SAME_IN_CUTS},
        )
        for row in query
    )


_SAME_IN_CUTS: Final = (
    *("version", "model", "factor", "sigma", "overhead", "frame_digest", "front"),
    *("tokens_before", "tokens_after", "duration_ms", "created_at"),
)
"""The fields of a cut that have a column of the same name."""


def _write_messages(transfer: Transfer) -> None:
    conversation_id = transfer.header.id
    sql.execute_many(
        """INSERT INTO message (
            conversation, message_id, created_at, turn, digest_version, content_digest, digest, content, purged_role,
            author
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            (
                *(conversation_id, message.id, message.created_at, message.turn),
                digest_version(message.author),
                *(message.content_digest, message.digest),
                None if message.content is None else canonical_json(message.content.to_json()),
                None if message.purged_role is None else message.purged_role.value,
                message.author,
            )
            for message in transfer.messages
            if message.conversation is None
        ),
    )

    own = [each for each in transfer.messages if each.conversation is None]
    message_log.refer(conversation_id, ((each.id, each.content) for each in own if each.content is not None))
    for message in transfer.messages:
        if message.conversation is None and message.stand_in is not None:
            message_log.write_stand_in(conversation_id, message.id, message.stand_in)


def _write_turns(transfer: Transfer) -> None:
    """Stores the turns, and those that messages of the parent name but the parent's import did not bring, because they
    had not ended when it was exported."""
    own = {turn.id for turn in _own_turns(transfer)}
    owners: dict[TurnId, ConversationId] = {}
    for owner, first, after in conversations.lineage(transfer.header.id, 0, transfer.header.fork_start):
        for (turn_id,) in sql.execute(
            """SELECT DISTINCT turn FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ?
            AND turn NOT IN (SELECT id FROM turn UNION SELECT request_id FROM turn)""",
            *(owner, first, after),
        ):
            owners[TurnId(turn_id)] = ConversationId(owner)
    for turn in transfer.turns:
        if turn.id not in own and turn.id not in owners:
            continue
        tables.Turn.create(
            id=turn.id,
            conversation=owners.get(turn.id, transfer.header.id),
            # Only a running editor repeats a request, so the id only has to be unique.
            request_id=turn.id,
            user_message_id=turn.user_message,
            state=turn.state.value,
            model=turn.model,
            next_seq=1,
            stop_reason=turn.stop_reason,
            error_kind=None if turn.error_kind is None else turn.error_kind.value,
            error_message=turn.error_message,
            started_at=turn.started_at,
            ended_at=turn.ended_at,
            # Resolved: whoever exported the turn has seen how it ended.
            resolution=Resolution.KEEP.value,
        )


def _write_summaries(transfer: Transfer) -> list[SummaryId]:
    """Stores the summaries. Returns their ids here, by their numbers in the file; both ascend."""
    ids: list[SummaryId] = []
    for line in transfer.summaries:
        new = summary_tree.NewSummary(
            line.start,
            line.end,
            line.level,
            line.kind,
            line.text,
            line.original_tokens,
            line.author,
            tuple(ids[child] for child in line.children),
            line.duration_ms,
            line.input_tokens,
            line.output_tokens,
        )
        ids.append(summary_tree.write(transfer.header.id, new, line.created_at).id)
    return ids


def _write_context(transfer: Transfer, ids: list[SummaryId]) -> None:
    conversation_id = transfer.header.id
    for hidden in transfer.hidden:
        tables.Hidden.create(
            conversation=conversation_id,
            start_message_id=hidden.start,
            end_message_id=hidden.end,
            last_summary=ids[hidden.n_summaries - 1] if hidden.n_summaries else 0,
            created_at=hidden.created_at,
        )
    for expansion in transfer.expansions:
        cuts.expand(conversation_id, expansion.start, expansion.end)
    for withdrawal in transfer.withdrawals:
        tables.Withdrawal.create(
            conversation=conversation_id,
            message_id=withdrawal.message,
            rule=withdrawal.rule,
            created_at=withdrawal.created_at,
        )
    for cut in transfer.cuts:
        tables.Cut.create(
            conversation=conversation_id,
            cause=cut.cause.value,
            end_message_id=cut.end,
            blocks=json.dumps([ids[block] for block in cut.blocks]),
            left_out=json.dumps(cut.left_out),
            saved=json.dumps(dict(cut.saved)),
            **{name: getattr(cut, name) for name in _SAME_IN_CUTS},
        )
    version = transfer.cuts[-1].version if transfer.cuts else 0
    cuts.write_previews(conversation_id, version, {line.message: line.content for line in transfer.previews})


def has_copy(transfer: Transfer, but: Collection[ConversationId]) -> bool:
    """Whether the conversation was imported as a copy before, whatever has become of the copy since; the ids in `but`
    do not count."""
    origin = Origin(transfer.header.id, transfer.messages[-1].digest if transfer.messages else None)
    keys = [key for (key,) in execute("SELECT key FROM meta WHERE key LIKE 'origin:%' AND value = ?", _written(origin))]
    copies = {ConversationId(key.removeprefix("origin:")) for key in keys}.difference(but)
    return any(conversations.find(each) is not None for each in copies)


def _written(origin: Origin) -> str:
    return canonical_json({"id": origin.id, "digest": origin.digest})


def _origin_key(conversation_id: ConversationId) -> str:
    return f"origin:{conversation_id}"


def _origin(conversation_id: ConversationId) -> Origin | None:
    """The origin of the conversation, if it was imported as a copy."""
    row = tables.Meta.get_or_none(tables.Meta.key == _origin_key(conversation_id))
    if row is None:
        return None
    value: dict[str, Any] = json.loads(row.value)
    digest = value["digest"]
    return Origin(ConversationId(value["id"]), None if digest is None else Digest(digest))
