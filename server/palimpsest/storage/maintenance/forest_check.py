"""Checks that the summaries are a forest, and that the cut of every conversation partitions its visible messages."""

from __future__ import annotations

import json
from collections.abc import Iterable

from palimpsest.domain.context.cut import MessagePiece, Piece, SummaryPiece, is_partition
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role
from palimpsest.storage.context import cuts, summary_tree
from palimpsest.storage.conversation import conversations, hidden_ranges
from palimpsest.storage.maintenance.chain_check import lineage_faults
from palimpsest.storage.sql import execute


def summary_faults() -> list[str]:
    """The faults, as clauses; empty when the summaries are a forest over existing messages."""
    found: list[str] = []
    for conversation_id, n_messages in _conversations():
        summaries = {each.id: each for each in summary_tree.read(conversation_id)}
        for summary in summaries.values():
            what = f"summary {summary.id} of conversation {conversation_id}"
            if summary.end > n_messages or summary.level < 1:
                found.append(f"{what} covers messages that do not exist, or has no level")
            children = [summaries.get(child) for child in summary.children]
            if any(child is None for child in children):
                found.append(f"{what} is made of one that is not there")
            elif any(child is not None and not _is_below(child, summary) for child in children):
                found.append(f"{what} is made of one that is not below it")
    return found


def cut_faults() -> list[str]:
    """The faults, as clauses; empty when every cut names existing summaries, and the newest one of each conversation
    partitions its visible messages."""
    found: list[str] = []
    lost = lineage_faults()
    for conversation_id, n_messages in _conversations():
        summaries = {each.id for each in summary_tree.read(conversation_id)}
        versions = execute(
            "SELECT version, blocks, end_message_id FROM cut WHERE conversation = ? ORDER BY version", conversation_id
        )
        for version, blocks, end in versions:
            if end > n_messages or any(block not in summaries for block in json.loads(blocks)):
                found.append(
                    f"cut {version} of conversation {conversation_id} names a summary or a message that does not exist"
                )
        if conversation_id not in lost and not _partitions(conversation_id, n_messages):
            found.append(f"the context of conversation {conversation_id} does not show each message exactly once")
    return found


def _conversations() -> list[tuple[ConversationId, int]]:
    found = execute("SELECT id, next_message_id FROM conversation ORDER BY id").fetchall()
    return [(ConversationId(each), n_messages) for each, n_messages in found]


def _is_below(child: Summary, summary: Summary) -> bool:
    return summary.start <= child.start and child.end <= summary.end and child.level < summary.level


def _partitions(conversation_id: ConversationId, n_messages: int) -> bool:
    """Whether the blocks and the live messages cover each visible message once, by the rules for loading a context: a
    message is live when no usable block covers it and it is neither hidden nor left out."""
    cut = cuts.latest_cut(conversation_id)
    ranges = hidden_ranges.read(conversation_id)
    blocks = [] if cut is None else summary_tree.read(conversation_id, cut.blocks)
    blocks = [each for each in blocks if summary_tree.is_usable(each, ranges)]
    absent = _ids((each.start, each.end) for each in ranges) | (set() if cut is None else _ids(cut.left_out))
    covered = _ids((each.start, each.end) for each in blocks)
    pieces: list[Piece] = [SummaryPiece(each, 0) for each in blocks]
    pieces += [_live(each) for each in _stored_ids(conversation_id) if each not in absent and each not in covered]
    return is_partition(sorted(pieces, key=lambda piece: piece.start), n_messages, absent - covered)


def _ids(ranges: Iterable[tuple[MessageId, MessageId]]) -> set[MessageId]:
    return {MessageId(each) for start, end in ranges for each in range(start, end)}


def _stored_ids(conversation_id: ConversationId) -> list[MessageId]:
    found: list[MessageId] = []
    for owner, first, after in conversations.lineage(conversation_id):
        rows = execute(
            "SELECT message_id FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ?",
            *(owner, first, after),
        )
        found += [MessageId(each) for (each,) in rows]
    return found


def _live(message_id: MessageId) -> MessagePiece:
    """A piece for a live message, of which only the position counts here."""
    nothing = Content(Role.USER, ())
    return MessagePiece(StoredMessage(ConversationId(""), message_id, nothing, "", None, Digest("")), 0)
