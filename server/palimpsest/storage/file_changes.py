"""Edits of files that a user accepted in a turn, each with the whole text before and after it.

A row is written before an editor is asked to apply the edit, so that a crash leaves at most an edit of which it is
unknown whether it was applied. Rows are no part of an export and of what is shared. A purge of the messages of a step
removes those of its edits; time and room remove the oldest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from palimpsest.domain.messages import ConversationId, Digest, MessageId, TurnId
from palimpsest.domain.taking_back import ChangeState
from palimpsest.storage import contents
from palimpsest.storage.conversation import conversations
from palimpsest.storage.sql import execute

KEPT_FOR: Final = timedelta(days=30)
MOST_BYTES: Final = 128 * 1024 * 1024
"""The bytes of all texts of a folder together, each counted as often as an edit has it. The newest edit stays."""


@dataclass(frozen=True, slots=True)
class NewChange:
    """An edit that an editor is about to be asked to apply."""

    id: str
    turn_id: TurnId
    path: str
    before: str | None
    """None: there is no such file."""
    after: str
    n_added: int
    n_removed: int


@dataclass(frozen=True, slots=True)
class StoredChange:
    """An edit as it is stored."""

    id: str
    turn_id: TurnId
    path: str
    """Below the workspace folder, with `/`."""
    before: Digest | None
    after: Digest
    n_added: int
    """Lines; likewise `n_removed`."""
    n_removed: int
    state: ChangeState
    asked_at: str


def begin(change: NewChange, now: str) -> None:
    """Stores an edit that an editor is about to be asked to apply, for the open step of its turn."""
    data = [None if text is None else text.encode("utf-8", "surrogatepass") for text in (change.before, change.after)]
    before, after = (None if each is None else contents.keep(each) for each in data)
    step = execute("SELECT MAX(id) FROM step WHERE turn = ? AND ending IS NULL", change.turn_id).fetchone()
    execute(
        f"""INSERT INTO file_change (id, turn, step, path, before, after, n_bytes, n_added, n_removed, state, asked_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '{ChangeState.ASKED.value}', ?)""",
        *(change.id, change.turn_id, step[0], change.path, before, after, sum(len(each or b"") for each in data)),
        *(change.n_added, change.n_removed, now),
    )
    _drop_oldest(now)


def settle(change_ids: Iterable[str], state: ChangeState, now: str) -> None:
    """Stores what became of edits. A purged one stays away."""
    for each in change_ids:
        execute("UPDATE file_change SET state = ?, settled_at = ? WHERE id = ?", state.value, now, each)


def drop(change_id: str) -> None:
    """Removes an edit that no editor was asked to apply, or that was refused."""
    _drop("id = ?", change_id)


def of_conversation(conversation_id: ConversationId) -> list[StoredChange]:
    """The edits of all its turns, oldest first; of a fork, with those of the messages that it inherited. Raises
    NotFound."""
    inherited = [each for each in conversations.lineage(conversation_id) if each[0] != conversation_id]
    where = [f"turn IN (SELECT id FROM turn WHERE conversation = ?) OR {_IN_MESSAGES}"]
    found = {number: change for number, change in _select(where[0], conversation_id, conversation_id, 0, _NO_END)}
    for stretch in inherited:
        found |= dict(_select(_IN_MESSAGES, *stretch))
    return [found[number] for number in sorted(found)]


def of_messages(conversation_id: ConversationId, start: int, end: int | None = None) -> list[StoredChange]:
    """The edits of the messages [start, end), oldest first. Raises NotFound."""
    found: dict[int, StoredChange] = {}
    for stretch in conversations.lineage(conversation_id, start, end):
        found |= dict(_select(_IN_MESSAGES, *stretch))
    return [found[number] for number in sorted(found)]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """An edit that was taken back."""

    number: int
    """Never used for another edit of the store."""
    path: str
    message_id: MessageId
    """The answer that made it."""


def taken_back(conversation_id: ConversationId) -> list[TakenBack]:
    """The edits of its messages that were taken back, oldest first. Raises NotFound."""
    found: dict[int, TakenBack] = {}
    for conversation, start, end in conversations.lineage(conversation_id):
        rows = execute(
            # From the few edits to their messages: SQLite itself would go through all messages.
            f"""SELECT number, path, MIN(message_id) FROM file_change
            CROSS JOIN message INDEXED BY message_turn
            ON message.turn = file_change.turn AND message.step = file_change.step
            WHERE state = '{ChangeState.TAKEN_BACK.value}' AND conversation = ? AND message_id >= ? AND message_id < ?
            GROUP BY number""",
            *(conversation, start, end),
        )
        found |= {number: TakenBack(number, path, MessageId(message_id)) for number, path, message_id in rows}
    return [found[number] for number in sorted(found)]


def newest(most_bytes: int) -> list[tuple[StoredChange, str | None, str]]:
    """The newest edits whose texts take no more than that together, oldest first, with the texts before and after."""
    total = "SELECT number, SUM(n_bytes) OVER (ORDER BY number DESC) AS total FROM file_change"
    chosen = _select(f"number IN (SELECT number FROM ({total}) WHERE total <= ?)", most_bytes)
    found: list[tuple[StoredChange, str | None, str]] = []
    for _, change in chosen:
        before, after = (None if digest is None else text(digest) for digest in (change.before, change.after))
        if after is not None and (before is not None or change.before is None):
            found.append((change, before, after))
    return found


def text(digest: Digest) -> str | None:
    """A text; None when it is no longer kept."""
    data = contents.read(digest)
    return None if data is None else data.decode("utf-8", "surrogatepass")


def drop_of(stretches: Sequence[tuple[str, int, int]]) -> None:
    """Removes the edits of messages that are purged: the rows (conversation, first, after)."""
    for stretch in stretches:
        _drop(_IN_MESSAGES, *stretch)


_NO_END: Final = 2**62
_IN_MESSAGES: Final = """step IN (
    SELECT step FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ? AND step IS NOT NULL)"""


def _select(where: str, *values: Any) -> list[tuple[int, StoredChange]]:
    found = execute(
        f"""SELECT number, id, turn, path, before, after, n_added, n_removed, state, asked_at
        FROM file_change WHERE {where} ORDER BY number""",
        *values,
    )
    return [
        (
            number,
            StoredChange(
                change_id,
                TurnId(turn_id),
                path,
                None if before is None else Digest(before),
                Digest(after),
                n_added,
                n_removed,
                ChangeState(state),
                asked_at,
            ),
        )
        for number, change_id, turn_id, path, before, after, n_added, n_removed, state, asked_at in found
    ]


def _drop(where: str, *values: Any) -> None:
    rows = execute(f"SELECT before, after FROM file_change WHERE {where}", *values).fetchall()
    if rows:
        execute(f"DELETE FROM file_change WHERE {where}", *values)
        contents.forget(digest for row in rows for digest in row if digest is not None)


def _drop_oldest(now: str) -> None:
    """Removes what is too old, and what takes too much room."""
    _drop("asked_at < ?", (datetime.fromisoformat(now) - KEPT_FOR).isoformat())
    ((n_bytes,),) = execute("SELECT SUM(n_bytes) FROM file_change")
    if n_bytes > MOST_BYTES:
        total = "SELECT number, SUM(n_bytes) OVER (ORDER BY number DESC) AS total FROM file_change"
        over = f"SELECT number FROM ({total}) WHERE total > ?"
        _drop(f"number IN ({over}) AND number < (SELECT MAX(number) FROM file_change)", MOST_BYTES)
