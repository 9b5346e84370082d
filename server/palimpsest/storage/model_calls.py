"""What calls of models took. A row is written with the end of the call, in the transaction that keeps what it brought;
nothing removes one, because what was paid stays paid."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from palimpsest.domain.messages import ConversationId, StepId, TurnId
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.domain.turns.journal import Ending, EventType, counted_of
from palimpsest.storage.sql import execute

ANSWER: Final = "answer"
"""The purpose of a call whose text is part of a conversation. Other calls have the topic of the helping model."""
_OFFLINE: Final = "offline"
_SAID: Final = ", ".join(
    f"'{each.value}'" for each in (EventType.TEXT, EventType.THINKING, EventType.TOOL_CALL, EventType.TOOL_ARGUMENTS)
)
_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call that a service answered, to its end or not."""

    purpose: str
    provider: str
    model: str
    """The name in the conversation or the settings."""
    usage: TokenUsage
    is_estimated: bool
    """Whether the service did not say what it counted, as when the call was cut off."""
    nanodollars: int | None
    """None when no price was known."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The calls of one purpose and model, added up."""

    purpose: str
    provider: str
    model: str
    n_calls: int
    n_estimated: int
    usage: TokenUsage
    nanodollars: int
    """Of those with a known price."""
    unpriced: TokenUsage
    """Of those without one."""


def record(call: ModelCall, conversation_id: ConversationId | None, now: str) -> None:
    """Stores a call that is no step of a turn."""
    usage = call.usage
    execute(
        f"INSERT INTO model_call ({_COLUMNS}) VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(now, conversation_id, call.purpose, call.provider, call.model),
        *(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens),
        *(call.is_estimated, call.nanodollars),
    )


def record_step(step_id: StepId, ending: Ending, usage: TokenUsage | None, nanodollars: int | None, now: str) -> None:
    """Stores the call of a step that ends, before its journal is pruned. Without a usage it is estimated: the request
    as the service counted it or else as it was estimated, and what the model said, a token for each four bytes. A call
    that failed before the service counted or said anything was refused, and costs nothing, and so does one that was
    stopped before the service began with it."""
    place = "FROM step JOIN turn ON turn.id = step.turn WHERE step.id = ? AND step.provider <> ?"
    if usage is not None and usage.prompt_tokens + usage.output_tokens:
        execute(
            f"""INSERT OR IGNORE INTO model_call ({_COLUMNS})
            SELECT ?, turn.conversation, step.id, ?, step.provider, step.model, ?, ?, ?, ?, 0, ? {place}""",
            *(now, ANSWER),
            *(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens),
            *(nanodollars, step_id, _OFFLINE),
        )
        return
    counted = execute(
        "SELECT content FROM stream_journal WHERE step = ? AND event_type = ? ORDER BY seq DESC LIMIT 1",
        *(step_id, EventType.COUNTED.value),
    ).fetchone()
    sent = TokenUsage() if counted is None else counted_of(counted[0])
    execute(
        f"""INSERT OR IGNORE INTO model_call ({_COLUMNS})
        SELECT ?, turn.conversation, step.id, ?, step.provider, step.model, COALESCE(?, step.estimated_tokens), ?, ?,
            (SELECT (COALESCE(SUM(LENGTH(CAST(content AS BLOB))), 0) + ?) / ? FROM stream_journal
            WHERE stream_journal.step = step.id AND event_type IN ({_SAID})), 1, NULL
        {place} AND (? OR EXISTS (
            SELECT 1 FROM stream_journal WHERE stream_journal.step = step.id AND event_type IN ({_SAID})
        ))""",
        *(now, ANSWER, sent.input_tokens if sent.prompt_tokens else None),
        *(sent.cache_read_tokens, sent.cache_write_tokens),
        *(_BYTES_PER_TOKEN - 1, _BYTES_PER_TOKEN, step_id, _OFFLINE),
        bool(sent.prompt_tokens) or (counted is not None and ending is not Ending.ERRORED),
    )


def of_conversation(conversation_id: ConversationId) -> list[Spent]:
    """All calls for the conversation."""
    return _spent("conversation = ?", conversation_id)


def of_turn(turn_id: TurnId) -> list[Spent]:
    """The calls of the turn's steps; what helping models took meanwhile is not among them."""
    return _spent("step IN (SELECT id FROM step WHERE turn = ?)", turn_id)


def since(at: str) -> list[Spent]:
    """The calls for all conversations of the folder from then on (UTC, ISO 8601)."""
    return _spent("at >= ?", at)


def since_in(database: Path, at: str) -> list[Spent]:
    """`since` of another folder's store, which may be in use; empty for one that cannot be read or is older than this
    account."""
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as connection:
            return _read(connection.execute(_SELECT.format("at >= ?"), (at,)))
    except sqlite3.Error:
        return []


_COLUMNS: Final = """at, conversation, step, purpose, provider, model, input_tokens, cache_read_tokens,
    cache_write_tokens, output_tokens, is_estimated, nanodollars"""
_COUNTS: Final = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_SELECT: Final = f"""SELECT purpose, provider, model, COUNT(*), SUM(is_estimated), COALESCE(SUM(nanodollars), 0),
    {", ".join(f"SUM({name})" for name in _COUNTS)},
    {", ".join(f"COALESCE(SUM({name}) FILTER (WHERE nanodollars IS NULL), 0)" for name in _COUNTS)}
    FROM model_call WHERE {{}} GROUP BY purpose, provider, model ORDER BY purpose, provider, model"""


def _spent(where: str, *values: Any) -> list[Spent]:
    return _read(execute(_SELECT.format(where), *values))


def _read(rows: Iterable[Any]) -> list[Spent]:
    return [
        Spent(purpose, provider, model, n, n_estimated, TokenUsage(*counts[:4]), nanodollars, TokenUsage(*counts[4:]))
        for purpose, provider, model, n, n_estimated, nanodollars, *counts in rows
    ]
