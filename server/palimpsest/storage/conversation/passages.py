"""The index for retrieval: passages of messages, each with the nearest words of its neighbors.

It is separate from the index for a person's search (`search`), which finds every word of a message as a whole. This one
compares a question with passages, and of a tool's result it has only the ends, so that output cannot crowd out what
people said.

The index has two tables. `passage_search` (FTS5, contentless) has a row for each passage and for each fact.
`indexed_message` has a row for each message, with the data for scoring and the neighbors' words, because a row of a
contentless index is removed by repeating its text. Both follow from the messages and the hidden ranges: after every
transaction they are what `rebuild` would make, and a purge removes a message's words from its neighbors' rows too. The
module `passage_search` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from palimpsest.domain.facts.retrieval.passages import MOST_PASSAGES, TOP_UP_WORDS, Saying, around, sets_rule, to_saying
from palimpsest.domain.facts.retrieval.question import day_of
from palimpsest.domain.messages import Content, ConversationId, MessageId
from palimpsest.storage.sql import execute

SESSION_GAP_S: Final = 30 * 60
"""The longest time between two messages of a session. Another date begins a new session too."""
_ROWS_AT_ONCE: Final = 200
_NO_ROLE: Final = ""
"""The role of a purged message."""
PROSE: Final = "role <> 'tool' AND role <> '' AND n_words > 0"
"""The same condition as in the migration's partial index."""


@dataclass(frozen=True, slots=True)
class Added:
    """A stored message."""

    row_id: int
    message_id: MessageId
    created_at: str
    content: Content | None
    """None for a purged message."""


def add(conversation_id: ConversationId, added: Sequence[Added]) -> None:
    """Indexes messages that were appended to the conversation, in their order."""
    if not added:
        return
    neighbours = _Neighbours(conversation_id)
    sayings = [None if each.content is None else to_saying(each.content) for each in added]
    session, last_at = _last_session(conversation_id, added[0].message_id)
    for each, saying in zip(added, sayings, strict=True):
        if last_at is None or _is_apart(last_at, each.created_at):
            session = each.message_id
        last_at = each.created_at
        _insert_message(conversation_id, each, saying, session)
        if each.content is not None:
            neighbours.remember(each.row_id, each.content)
    for each, saying in zip(added, sayings, strict=True):
        if saying is not None:
            words = neighbours.words_around(each.message_id) if _is_short(saying) else ""
            if words:
                execute("UPDATE indexed_message SET around = ? WHERE message = ?", words, each.row_id)
            _insert_passages(each.row_id, saying, words)
    neighbours.refresh(neighbours.before(added[0].message_id))


def add_missing(conversation_id: ConversationId, first: int, after: int) -> None:
    """Indexes the messages [first, after), which were not stored through `message_log.append`, such as imported ones.
    The caller has stored their hidden ranges, and begins with the oldest messages."""
    found = execute(
        """SELECT id, message_id, created_at, content FROM message
        WHERE conversation = ? AND message_id >= ? AND message_id < ?
        AND NOT EXISTS (SELECT 1 FROM indexed_message WHERE message = message.id) ORDER BY message_id""",
        *(conversation_id, first, after),
    )
    batch = [
        Added(row_id, MessageId(message_id), created_at, _content(content))
        for row_id, message_id, created_at, content in found
    ]
    add(conversation_id, batch)


def rebuild() -> None:
    """Makes the passages of all messages anew. The rows of facts stay."""
    execute("INSERT INTO passage_search (passage_search) VALUES ('delete-all')")
    execute("DELETE FROM indexed_message")
    stored = execute("SELECT conversation, MAX(message_id) FROM message GROUP BY conversation ORDER BY conversation")
    for conversation_id, newest in list(stored):
        for first in range(0, newest + 1, _ROWS_AT_ONCE):
            add_missing(ConversationId(conversation_id), first, first + _ROWS_AT_ONCE)


def remove(row_id: int, content: Content) -> None:
    """Removes a message that is being purged from the index, if it is in. `refresh` updates its neighbors. Until
    `settle`, its words are still in the file."""
    for role, words in list(execute("SELECT role, around FROM indexed_message WHERE message = ?", row_id)):
        if role != _NO_ROLE:
            _delete_passages(row_id, to_saying(content), words)
            execute(
                """UPDATE indexed_message SET role = '', name = '', n_words = 0, is_rule = 0, around = ''
                WHERE message = ?""",
                row_id,
            )


def refresh(conversation_id: ConversationId, start: int, end: int) -> None:
    """Gives the messages [start, end) and those beside them their present neighbors. Called when messages were hidden
    or purged."""
    neighbours = _Neighbours(conversation_id)
    inside = [
        message_id
        for (message_id,) in execute(
            f"""SELECT message_id FROM indexed_message
            WHERE conversation = ? AND message_id >= ? AND message_id < ? AND {PROSE}
            AND n_words < {TOP_UP_WORDS}""",
            conversation_id,
            start,
            end,
        )
    ]
    for each in (neighbours.before(start), *inside, neighbours.behind(end - 1)):
        neighbours.refresh(each)


def refresh_beside(conversation_id: ConversationId, start: int, end: int) -> None:
    """As `refresh`, for a caller that removed the messages [start, end) from the index, or has just added them."""
    neighbours = _Neighbours(conversation_id)
    for each in (neighbours.before(start), neighbours.behind(end - 1)):
        neighbours.refresh(each)


def row_ids(row_id: int) -> tuple[int, int]:
    """The first index row that may belong to a message, and the one after its last."""
    return row_id * MOST_PASSAGES, (row_id + 1) * MOST_PASSAGES


def expected(after: int, limit: int) -> list[tuple[int, list[tuple[int, str, str, str]]]]:
    """The rows that the index should have for the messages behind the row `after`: (row id, rows)."""
    found = execute(
        """SELECT id, content, around FROM message JOIN indexed_message ON message.id = indexed_message.message
        WHERE id > ? AND content IS NOT NULL ORDER BY id LIMIT ?""",
        after,
        limit,
    )
    return [
        (row_id, _rows(row_id, to_saying(Content.from_json(json.loads(content))), words))
        for row_id, content, words in found
    ]


def settle() -> None:
    """Rewrites the index without the words of removed rows."""
    execute("INSERT INTO passage_search (passage_search) VALUES ('optimize')")


def _insert_message(conversation_id: ConversationId, each: Added, saying: Saying | None, session: int) -> None:
    execute(
        """INSERT INTO indexed_message
        (message, conversation, message_id, role, name, n_words, is_rule, session, day, around)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '')""",
        each.row_id,
        conversation_id,
        each.message_id,
        *(
            (_NO_ROLE, "", 0, False)
            if saying is None or each.content is None
            else (saying.role.value, saying.name, saying.n_words, sets_rule(each.content, saying))
        ),
        session,
        day_of(each.created_at),
    )


def _rows(row_id: int, saying: Saying, words: str) -> list[tuple[int, str, str, str]]:
    return [(row_id * MOST_PASSAGES + number, *saying.columns(number), words) for number in range(len(saying.passages))]


def _insert_passages(row_id: int, saying: Saying, words: str) -> None:
    for row in _rows(row_id, saying, words):
        execute("INSERT INTO passage_search (rowid, words, parts, around) VALUES (?, ?, ?, ?)", *row)


def _delete_passages(row_id: int, saying: Saying, words: str) -> None:
    for row in _rows(row_id, saying, words):
        execute(
            """INSERT INTO passage_search (passage_search, rowid, words, parts, around)
            VALUES ('delete', ?, ?, ?, ?)""",
            *row,
        )


def _is_short(saying: Saying) -> bool:
    return saying.is_prose and saying.n_words < TOP_UP_WORDS


def _last_session(conversation_id: ConversationId, message_id: MessageId) -> tuple[int, str | None]:
    """The session of the message before `message_id`, and the time of that message."""
    found = execute(
        """SELECT session, created_at FROM indexed_message JOIN message ON message.id = indexed_message.message
        WHERE indexed_message.conversation = ? AND indexed_message.message_id = ?""",
        conversation_id,
        message_id - 1,
    )
    return next(((int(session), str(created_at)) for session, created_at in found), (message_id, None))


def _is_apart(before: str, after: str) -> bool:
    """Whether a session ends between two times. Clocks may be set back; an imported time may be none."""
    if before[:10] != after[:10]:
        return True
    try:
        gap = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    except (ValueError, TypeError):
        return False
    return abs(gap.total_seconds()) > SESSION_GAP_S


def _content(text: str | None) -> Content | None:
    return None if text is None else Content.from_json(json.loads(text))


@dataclass(slots=True)
class _Neighbours:
    """The visible messages of one conversation beside each other.

    A hidden message has no neighbors in its own conversation, but a fork may read it.
    """

    conversation_id: ConversationId
    _hidden: list[tuple[int, int]] = field(default_factory=list)
    _contents: dict[int, Content] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = execute(
            "SELECT start_message_id, end_message_id FROM hidden WHERE conversation = ?", self.conversation_id
        )
        self._hidden = [(start, end) for start, end in found]

    def remember(self, row_id: int, content: Content) -> None:
        """Keeps the content, which saves reading it again."""
        self._contents[row_id] = content

    def before(self, message_id: int) -> int | None:
        """The nearest visible message of prose with a smaller id."""
        at = message_id
        while True:
            nearest = self._one("message_id < ?", "DESC", at)
            if nearest is None or (hidden := self._hides(nearest)) is None:
                return nearest
            at = hidden[0]

    def behind(self, message_id: int) -> int | None:
        """The nearest visible message of prose with a greater id."""
        at = message_id
        while True:
            nearest = self._one("message_id > ?", "ASC", at)
            if nearest is None or (hidden := self._hides(nearest)) is None:
                return nearest
            at = hidden[1] - 1

    def words_around(self, message_id: int) -> str:
        """The neighbors' words that top up a short message."""
        if self._hides(message_id) is not None:
            return ""
        _, session, n_words, _ = self._row(message_id)
        sides: list[list[str]] = []
        for neighbour in (self.before(message_id), self.behind(message_id)):
            row = None if neighbour is None else self._row(neighbour)
            sides.append(self._words(row[0]) if row is not None and row[1] == session else [])
        return around(n_words, *sides)

    def refresh(self, message_id: int | None) -> None:
        """Rewrites a message's row if its neighbors have changed."""
        if message_id is None:
            return
        row_id, _, n_words, stored = self._row(message_id)
        if n_words >= TOP_UP_WORDS:
            return
        words = self.words_around(message_id)
        if words != stored:
            saying = to_saying(self._content(row_id))
            _delete_passages(row_id, saying, stored)
            _insert_passages(row_id, saying, words)
            execute("UPDATE indexed_message SET around = ? WHERE message = ?", words, row_id)

    def _hides(self, message_id: int) -> tuple[int, int] | None:
        return next((each for each in self._hidden if each[0] <= message_id < each[1]), None)

    def _one(self, condition: str, order: str, at: int) -> int | None:
        found = execute(
            f"""SELECT message_id FROM indexed_message
            WHERE conversation = ? AND {condition} AND {PROSE} ORDER BY message_id {order} LIMIT 1""",
            self.conversation_id,
            at,
        )
        return next((int(message_id) for (message_id,) in found), None)

    def _row(self, message_id: int) -> tuple[int, int, int, str]:
        """Row id, session, number of words, and the neighbors' words, as they are stored."""
        ((row_id, session, n_words, words),) = execute(
            """SELECT message, session, n_words, around FROM indexed_message
            WHERE conversation = ? AND message_id = ?""",
            self.conversation_id,
            message_id,
        )
        return row_id, session, n_words, words

    def _words(self, row_id: int) -> list[str]:
        return self._content(row_id).text.split()

    def _content(self, row_id: int) -> Content:
        if row_id not in self._contents:
            ((text,),) = execute("SELECT content FROM message WHERE id = ?", row_id)
            self._contents[row_id] = Content.from_json(json.loads(text))
        return self._contents[row_id]
