"""Rescue: reads everything that a damaged database still holds into a sound one.

It reads table by table, and row by row around pages that cannot be read. A message whose text is lost or altered, but
whose digests are there, becomes the same as a purged one (hidden, so that no request shows it), because then the
messages after it still follow from those before. A message that follows from none is handed back as loose text.

The damaged file is never opened: a private copy of it is, with its log.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from palimpsest.domain.conversation.chain import content_digest, covered_author, message_digest
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, TurnId
from palimpsest.storage import contents
from palimpsest.storage.conversation import search
from palimpsest.storage.sql import execute
from palimpsest.storage.tables import Conversation, Hidden, Message

_CARRIED: Final = ("conversation", "message", "turn", "summary", "hidden", "expansion", "withdrawal", "cut", "preview")
"""The tables an export is made of."""
_BEYOND: Final = 10_000
"""How far beyond the last readable row others are looked for."""
_MODEL: Final = "offline"
"""The model of a conversation whose own row is lost."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Loose:
    """A message that does not follow from those before it any more."""

    conversation_id: str
    message_id: int
    text: str


@dataclass(slots=True)
class Rescued:
    """The result of a rescue."""

    n_messages: int = 0
    """The messages in conversations whose chains verify."""
    n_emptied: int = 0
    """The number of these messages whose text is lost."""
    conversations: list[ConversationId] = field(default_factory=list)
    """The rescued conversations; forks come after their parents."""
    loose: list[Loose] = field(default_factory=list)


def copy_damaged(database: Path, directory: Path) -> Path:
    """Copies the database and its log into a folder of ours. Makes and changes nothing beside the original. Raises
    OSError."""
    target = directory / "damaged.db"
    for suffix in ("", "-wal"):
        source = database.with_name(database.name + suffix)
        if not suffix or source.exists():
            with open(os.open(f"{target}{suffix}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                with source.open("rb") as damaged:
                    shutil.copyfileobj(damaged, file)
    return target


def pour(damaged: Path, now: str) -> Rescued:
    """Writes every readable row of the damaged database into the store of this thread, which is empty. Called inside
    one transaction, with foreign keys checked at its end at the earliest."""
    execute("PRAGMA defer_foreign_keys = 1")
    read = {name: list(_rows_of(damaged, name)) for name in _CARRIED}
    rescued = Rescued()
    messages = _by_conversation(read["message"])
    for row in _in_order(_complete(read["conversation"], messages, now)):
        _pour_conversation(row, messages.pop(row["id"], {}), rescued, now)
    for conversation_id, rows in sorted(messages.items()):
        rescued.loose += [_loose(conversation_id, row) for _, row in sorted(rows.items())]
    _pour_contents(damaged)
    ends = {each.id: each.next_message_id for each in Conversation.select()}
    for name in _CARRIED[2:]:
        for row in read[name]:
            if _reaches(row) <= ends.get(row.get("conversation", ""), -1):
                _insert(name, row)
    return rescued


def _pour_contents(damaged: Path) -> None:
    """The bytes that are what their digests say, and that a rescued message names."""
    for row in _rows_of(damaged, "content"):
        if isinstance(data := row["bytes"], bytes) and contents.digest_of(data) == row["digest"]:
            contents.keep(data)
    for row_id, text in execute("SELECT id, content FROM message WHERE INSTR(content, '\"image\"')").fetchall():
        contents.refer_message(row_id, Content.from_json(json.loads(text)))
    execute(f"DELETE {contents.UNUSED}")


def carve(damaged: Path) -> list[Loose]:
    """The messages that are in one piece in a file that is no database any more, in the order of the file."""
    data = damaged.read_bytes()
    decoder, found, at = json.JSONDecoder(), list[Loose](), 0
    while (at := data.find(b'{"', at)) >= 0:
        if data.startswith((b'{"notes":', b'{"parts":'), at):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                value, _ = decoder.raw_decode(data[at : at + _LARGEST_CARVED].decode("utf-8", "replace"))
                found.append(Loose("", len(found), search.text_of(Content.from_json(value))))
        at += 2
    return found


_LARGEST_CARVED: Final = 1 << 16


def _rows_of(damaged: Path, table: str) -> Iterator[Row]:
    """Each readable row of the table, once."""
    with contextlib.closing(sqlite3.connect(damaged)) as database:
        # Text that is not UTF-8 any more does not match its digest either.
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        database.row_factory = sqlite3.Row
        try:
            columns = [each[1] for each in database.execute(f'PRAGMA table_info("{table}")')]
            (sql,) = database.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        except (sqlite3.Error, TypeError):
            return
        has_rowid = "WITHOUT ROWID" not in sql
        key = ["rowid"] if has_rowid else [each[1] for each in _key_columns(database, table)]
        yield from _Reader(database, table, columns, key).rows(has_rowid)


def _key_columns(database: sqlite3.Connection, table: str) -> list[Any]:
    found = [each for each in database.execute(f'PRAGMA table_info("{table}")') if each[5]]
    return sorted(found, key=lambda each: each[5])


@dataclass(slots=True)
class _Reader:
    """Reads one table from both ends, and the part between by ever smaller ranges."""

    database: sqlite3.Connection
    table: str
    columns: list[str]
    key: list[str]

    def rows(self, has_rowid: bool) -> Iterator[Row]:
        forward, is_whole = self._walk("ASC")
        yield from (row for _, row in forward)
        if is_whole:
            return
        backward, _ = self._walk("DESC")
        seen = {key for key, _ in forward}
        yield from (row for key, row in reversed(backward) if key not in seen)
        if has_rowid:
            first = int(forward[-1][0][0]) + 1 if forward else 1
            after = int(backward[-1][0][0]) if backward else first + _BEYOND
            yield from self._between(first, after)

    def _walk(self, direction: str) -> tuple[list[tuple[tuple[Any, ...], Row]], bool]:
        """Reads from one end as far as possible: the rows as (key, row), and whether the end of the table was
        reached."""
        order = ", ".join(f'"{each}" {direction}' for each in self.key)
        found: list[tuple[tuple[Any, ...], Row]] = []
        try:
            for row in self._select(self.columns, f"ORDER BY {order}"):
                found.append((tuple(row[: len(self.key)]), self._named(row, self.columns)))
        except sqlite3.Error:
            return found, False
        return found, True

    def _between(self, first: int, after: int) -> Iterator[Row]:
        """The rows with first <= rowid < after."""
        if first >= after:
            return
        try:
            yield from [
                self._named(row, self.columns)
                for row in self._select(self.columns, "WHERE rowid >= ? AND rowid < ?", first, after)
            ]
        except sqlite3.Error:
            if after - first > 1:
                middle = (first + after) // 2
                yield from self._between(first, middle)
                yield from self._between(middle, after)
            else:
                yield from self._one(first)

    def _one(self, row_id: int) -> Iterator[Row]:
        """Reads a row by its id: unlike the end of a range, that does not touch the page behind it. A long text has
        pages of its own, so the rest of its row may be readable without it."""
        shorter = self.columns[: self.columns.index("content")] if "content" in self.columns else self.columns
        for columns in (self.columns, shorter):
            with contextlib.suppress(sqlite3.Error):
                for row in self._select(columns, "WHERE rowid = ?", row_id):
                    yield {**dict.fromkeys(self.columns), **self._named(row, columns)}
                return

    def _select(self, columns: list[str], rest: str, *parameters: int) -> sqlite3.Cursor:
        names = ", ".join(f'"{each}"' for each in (*self.key, *columns))
        return self.database.execute(f'SELECT {names} FROM "{self.table}" {rest}', parameters)

    def _named(self, row: sqlite3.Row, columns: list[str]) -> Row:
        return dict(zip(columns, tuple(row)[len(self.key) :], strict=True))


def _by_conversation(rows: list[Row]) -> dict[str, dict[int, Row]]:
    found: dict[str, dict[int, Row]] = {}
    for row in rows:
        if isinstance(row["conversation"], str) and isinstance(row["message_id"], int):
            found.setdefault(row["conversation"], {})[row["message_id"]] = row
    return found


def _complete(rows: list[Row], messages: dict[str, dict[int, Row]], now: str) -> list[Row]:
    """The rows of conversations, with made-up ones for conversations whose messages were found from the first on."""
    known = {row["id"] for row in rows if isinstance(row["id"], str)}
    lost = [each for each in sorted(messages) if each not in known and 0 in messages[each]]
    new = {"title": "", "has_user_title": 0, "model": _MODEL, "parent": None, "fork_message_id": 0, "draft": ""}
    return [row for row in rows if row["id"] in known] + [
        {**new, "id": each, "created_at": now, "updated_at": now, "is_archived": 0} for each in lost
    ]


def _in_order(rows: list[Row]) -> Iterator[Row]:
    """Forks after their parents, and no fork without its parent."""
    done: set[str | None] = {None}
    left = rows
    while left:
        ready = [row for row in left if row.get("parent") in done]
        if not ready:
            return
        done |= {row["id"] for row in ready}
        left = [row for row in left if row["id"] not in done]
        yield from ready


def _pour_conversation(row: Row, messages: dict[int, Row], rescued: Rescued, now: str) -> None:
    conversation_id = ConversationId(row["id"])
    start = row.get("fork_message_id") or 0
    predecessor: Digest | None = None
    if start:
        predecessor = _digest_before(row["parent"], start)
        if predecessor is None:
            rescued.loose += [_loose(conversation_id, each) for _, each in sorted(messages.items())]
            return
    at, emptied = start, list[int]()
    _insert("conversation", {**row, "next_message_id": start, "head_digest": predecessor, "change_seq": 1})
    while (message := messages.get(at)) is not None:
        verified = _verified(message, conversation_id, predecessor)
        if verified is None:
            break
        if verified["content"] is None and message.get("purged_role") is None:
            emptied.append(at)
        _insert("message", verified)
        predecessor = Digest(verified["digest"])
        at += 1
    Conversation.update(next_message_id=at, head_digest=predecessor).where(Conversation.id == conversation_id).execute()
    rescued.n_emptied += len(emptied)
    for each in emptied:
        Hidden.create(
            conversation=conversation_id,
            start_message_id=each,
            end_message_id=each + 1,
            last_summary=0,
            created_at=now,
        )
    rescued.conversations.append(conversation_id)
    rescued.n_messages += at - start
    rescued.loose += [_loose(conversation_id, each) for key, each in sorted(messages.items()) if not start <= key < at]


def _digest_before(parent: str, start: int) -> Digest | None:
    """The digest of the last message that a fork shares; None when it was not rescued."""
    owner: str | None = parent
    while owner is not None:
        found = Message.get_or_none(Message.conversation == owner, Message.message_id == start - 1)
        if found is not None:
            return Digest(found.digest)
        row = Conversation.get_or_none(Conversation.id == owner)
        owner = None if row is None or row.fork_message_id < start else row.parent
    return None


def _verified(row: Row, conversation_id: ConversationId, predecessor: Digest | None) -> Row | None:
    """The row if it follows from the one before, and without its content when that does not match the digest."""
    with contextlib.suppress(TypeError, ValueError):
        turn = None if row["turn"] is None else TurnId(row["turn"])
        derived = message_digest(
            *(predecessor, conversation_id, MessageId(row["message_id"]), row["created_at"], turn),
            *(row["content_digest"], covered_author(row["digest_version"], row.get("author"))),
        )
        if derived == row["digest"]:
            content = _content(row)
            is_whole = content is not None and content_digest(content) == row["content_digest"]
            # Neither the turn's step nor the id of the row is copied: the other tables of the copy do not use them.
            return {**row, "content": row["content"] if is_whole else None, "step": None}
    return None


def _content(row: Row) -> Content | None:
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Content.from_json(json.loads(row["content"]))
    return None


def _loose(conversation_id: str, row: Row) -> Loose:
    content = _content(row)
    return Loose(conversation_id, row["message_id"], "" if content is None else search.text_of(content))


def _reaches(row: Row) -> int:
    """The end of the range of messages that a row belongs to."""
    ends = [row.get(name) for name in ("end_message_id", "message_id", "user_message_id")]
    return max((each + (name > 0) for name, each in enumerate(ends) if isinstance(each, int)), default=0)


def _insert(table: str, row: Row) -> None:
    """Inserts the row without columns that the new schema lacks. A row that breaks its constraints is skipped."""
    known = {each[1] for each in execute(f'PRAGMA table_info("{table}")')}
    given = {name: value for name, value in row.items() if name in known}
    names, marks = ", ".join(f'"{name}"' for name in given), ", ".join("?" * len(given))
    with contextlib.suppress(sqlite3.IntegrityError):
        execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', *given.values())
