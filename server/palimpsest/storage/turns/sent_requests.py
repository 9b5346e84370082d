"""The requests of steps, as outlines: written when a step begins, and read with the words that they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.context.prepared import ToolChoice
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.sent_request import Outline, SentRequest
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, StepId, SummaryId, TurnId
from palimpsest.storage.context import cuts, injections, summary_tree
from palimpsest.storage.context.cuts import CutRecord
from palimpsest.storage.conversation import message_log
from palimpsest.storage.sql import execute


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step with its request."""

    turn_id: TurnId
    number: int
    """The place of the step in its turn, from 0."""
    provider: str
    model: str
    estimated_tokens: int
    started_at: str
    request: SentRequest | None
    """None for a step of a version that did not store its request."""


@dataclass(frozen=True, slots=True)
class Words:
    """What some requests of one conversation were made of, as far as it is still stored."""

    messages: dict[MessageId, StoredMessage]
    """Purged ones are tombstones."""
    summaries: dict[SummaryId, Summary]
    injections: dict[int, str]
    previews: dict[int, dict[MessageId, Content]]
    """By the version of the cut."""
    cuts: dict[int, CutRecord]
    """By their versions; version 0 is never stored."""


def write(step_id: StepId, request: SentRequest) -> None:
    """Stores the request of a step, and its frame where no request had it before."""
    frame = request.frame.digest()
    execute("INSERT OR IGNORE INTO frame (digest, content) VALUES (?, ?)", frame, request.frame.to_text())
    execute(
        """INSERT INTO sent_request (step, frame, cut_version, outline, n_known_pieces, is_redacted, tool_choice,
            upper_tokens, limit_tokens, max_output_tokens, window_tokens, digest)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        *(step_id, frame, request.cut_version, request.outline.to_text(), request.n_known_pieces, request.is_redacted),
        *(request.tool_choice, request.upper_tokens, request.limit_tokens, request.max_output_tokens),
        *(request.window_tokens, request.digest),
    )


_STEPS: Final = """SELECT step.turn, step.number, provider, step.model, estimated_tokens, step.started_at,
        frame.content, cut_version, outline, n_known_pieces, is_redacted, tool_choice, upper_tokens, limit_tokens,
        max_output_tokens, window_tokens, sent_request.digest
    FROM step
    LEFT JOIN sent_request ON sent_request.step = step.id
    LEFT JOIN frame ON frame.digest = sent_request.frame"""


def steps_of(turn_id: TurnId) -> list[StepRecord]:
    """The steps of a turn, in their order."""
    return _records(execute(f"{_STEPS} WHERE step.turn = ? ORDER BY step.number", turn_id))


def place_of(owner: str, message_id: MessageId) -> tuple[TurnId, int | None] | None:
    """The turn of a message in its own conversation, and the number of the step that it is of: None for what the user
    said. None without a turn, as of what was imported."""
    row = execute(
        """SELECT message.turn, step.number FROM message LEFT JOIN step ON step.id = message.step
        WHERE message.conversation = ? AND message_id = ?""",
        *(owner, message_id),
    ).fetchone()
    return None if row is None or row[0] is None else (TurnId(row[0]), row[1])


def steps_in(conversation_id: ConversationId) -> list[StepRecord]:
    """The steps of the conversation's own turns, in the order in which they began."""
    own = "WHERE step.turn IN (SELECT id FROM turn WHERE conversation = ?) ORDER BY step.id"
    return _records(execute(f"{_STEPS} {own}", conversation_id))


def _records(rows: Iterable[tuple[Any, ...]]) -> list[StepRecord]:
    frames: dict[str, Frame] = {}
    found: list[StepRecord] = []
    for turn_id, number, provider, model, estimated_tokens, started_at, frame, *columns in rows:
        request: SentRequest | None = None
        if frame is not None:
            frames[frame] = frames.get(frame) or Frame.from_text(frame)
            request = _request(frames[frame], *columns)
        found.append(StepRecord(TurnId(turn_id), number, provider, model, estimated_tokens, started_at, request))
    return found


def _request(
    frame: Frame,
    cut_version: int,
    outline: str,
    n_known_pieces: int,
    is_redacted: int,
    tool_choice: ToolChoice,
    upper_tokens: int,
    limit_tokens: int,
    max_output_tokens: int,
    window_tokens: int,
    digest: str,
) -> SentRequest:
    """The request of a row of `_STEPS`."""
    return SentRequest(
        frame,
        cut_version,
        Outline.from_text(outline),
        n_known_pieces,
        bool(is_redacted),
        tool_choice,
        upper_tokens,
        limit_tokens,
        max_output_tokens,
        window_tokens,
        Digest(digest),
    )


def read_words(conversation_id: ConversationId, requests: Sequence[SentRequest]) -> Words:
    """What is left of the words of these requests, which were sent in that conversation."""
    outlines = [request.outline for request in requests]
    message_ids = {each for outline in outlines for each in outline.message_ids}
    summary_ids = {each for outline in outlines for each in outline.summary_ids}
    injection_ids = {each for outline in outlines for each in outline.injection_ids}
    versions = {request.cut_version for request in requests}
    messages = [
        message
        for first, end in _runs(sorted(message_ids))
        for message in message_log.read(conversation_id, first, end)
    ]
    found_cuts = ((version, cuts.read_cut(conversation_id, version)) for version in versions)
    return Words(
        {message.id: message for message in messages},
        {summary.id: summary for summary in summary_tree.read(conversation_id, sorted(summary_ids))},
        injections.read_texts(conversation_id, injection_ids),
        {version: cuts.read_previews(conversation_id, version) for version in versions},
        {version: cut for version, cut in found_cuts if cut is not None},
    )


def _runs(ids: Sequence[MessageId]) -> list[tuple[MessageId, MessageId]]:
    """The stretches [first, end) without a gap; the ids ascend."""
    runs: list[tuple[MessageId, MessageId]] = []
    for each in ids:
        if runs and runs[-1][1] == each:
            runs[-1] = (runs[-1][0], MessageId(each + 1))
        else:
            runs.append((each, MessageId(each + 1)))
    return runs
