"""What stands in a store, read with plain SQL over the sqlite3 module: an oracle that asks the code it judges would
share its mistakes."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.simulation.service import WORD

from palimpsest.domain.messages import Content, Role
from palimpsest.storage.directory import DATABASE_NAME


@dataclass(slots=True)
class Row:
    """A message as it was first seen, and whether it is purged now."""

    owner: str
    id: int
    turn: str | None
    digests: tuple[str, str]
    role: Role
    text: str
    words: frozenset[str]
    is_purged: bool = False


@dataclass(slots=True)
class StoreView:
    """Every message that was ever seen, and what hides some of them now."""

    directory: Path
    rows: dict[int, Row] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    """Messages that are not what they were."""
    parents: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    """By conversation: what it was forked from, and where."""
    copies: frozenset[str] = frozenset()
    """Conversations that were imported as copies of others."""
    hidden: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _database: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        return (self.directory / DATABASE_NAME).exists()

    def ask(self, query: str, *of: object) -> list[tuple[Any, ...]]:
        if self._database is None:
            path = self.directory / DATABASE_NAME
            # In a context of its own: asked for by a server, it would end with that.
            self._database = Context().run(sqlite3.connect, f"{path.as_uri()}?mode=ro", uri=True)
        return self._database.execute(query, of).fetchall()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def renew(self) -> None:
        """Takes in what has happened since."""
        found = self.ask("SELECT id, parent, fork_message_id FROM conversation")
        self.parents = {each: (parent, fork_at) for each, parent, fork_at in found}
        self.copies = self.read_copies()
        self.hidden = {}
        for owner, start, end in self.ask("SELECT conversation, start_message_id, end_message_id FROM hidden"):
            self.hidden.setdefault(owner, []).append((start, end))
        for row_id, owner, at, digest, own, is_purged in self.ask(
            "SELECT id, conversation, message_id, digest, content_digest, content IS NULL FROM message"
        ):
            if (known := self.rows.get(row_id)) is None:
                known = self.rows[row_id] = self._read(row_id)
            if (known.owner, known.id, known.digests) != (owner, at, (digest, own)):
                if not self._is_moved(known, owner, at, own):
                    self.changed.append(f"{owner} {at}")
                known.owner, known.digests = owner, (digest, own)
            known.is_purged = bool(is_purged)

    def read_copies(self) -> frozenset[str]:
        return frozenset(key[7:] for (key,) in self.ask("SELECT key FROM meta WHERE key GLOB 'origin:*'"))

    def _is_moved(self, known: Row, owner: str, at: int, own: str) -> bool:
        """Whether it is the same message in a fork into which it moved, or in a fork of such a fork."""
        above: str | None = owner
        while above is not None and above not in self.copies:
            above = self.parents[above][0]
        return above is not None and (known.id, known.digests[1]) == (at, own)

    def _read(self, row_id: int) -> Row:
        columns = "conversation, message_id, turn, digest, content_digest, content"
        ((owner, at, turn, digest, own, content),) = self.ask(f"SELECT {columns} FROM message WHERE id = ?", row_id)
        said = Content.from_json(json.loads(content)) if content else Content(Role.USER, ())
        return Row(owner, at, turn, (digest, own), said.role, said.text, frozenset(WORD.findall(content or "")))

    def messages_of(self, conversation_id: str) -> list[Row]:
        """Those that the conversation reads, also of what it was forked from."""
        found: list[Row] = []
        after, owner = 1 << 60, conversation_id or None
        while owner is not None:
            parent, fork_at = self.parents[owner]
            found += [row for row in self.rows.values() if row.owner == owner and fork_at <= row.id < after]
            after, owner = min(after, fork_at), parent
        return found

    def is_hidden(self, conversation_id: str, at: int) -> bool:
        return any(start <= at < end for start, end in self.hidden.get(conversation_id, ()))

    def purged_words(self) -> frozenset[str]:
        """The words that only purged messages hold."""
        purged = [row for row in self.rows.values() if row.is_purged]
        return words_of(purged) - words_of(row for row in self.rows.values() if not row.is_purged) if purged else NONE

    def hidden_words(self, conversation_id: str) -> frozenset[str]:
        """That the conversation hides, and no other shows: what is shown there may be recalled here. A turn keeps what
        it was told, so to one that runs here, what is hidden there since it began is shown still."""
        if not self.hidden.get(conversation_id):
            return NONE
        own = [row for row in self.messages_of(conversation_id) if self.is_hidden(conversation_id, row.id)]
        hidden = self._hidden_for(conversation_id)
        shown = words_of(
            row
            for each in self.parents
            for row in self.messages_of(each)
            if not any(row.id in span for span in hidden[each])
        )
        return words_of(own) - shown

    def _hidden_for(self, conversation_id: str) -> defaultdict[str, list[range]]:
        """What each conversation hides; others, of what they hid before somebody began to write this one."""
        found: defaultdict[str, list[range]] = defaultdict(list)
        for owner, start, end in self.ask(
            """SELECT hidden.conversation, start_message_id, end_message_id FROM hidden LEFT JOIN lease
            ON lease.conversation = ? AND lease.server IS NOT NULL
            AND hidden.conversation != lease.conversation AND hidden.created_at >= lease.acquired_at
            WHERE lease.conversation IS NULL""",
            conversation_id,
        ):
            found[owner].append(range(start, end))
        return found

    def words_out_of_sight(self) -> frozenset[str]:
        """The words that only messages hold which every conversation with them hides."""
        if not any(self.hidden.values()):
            return NONE
        has = [(each, row) for each in self.parents for row in self.messages_of(each)]
        shown = [row for each, row in has if not self.is_hidden(each, row.id)]
        return words_of(row for _, row in has) - words_of(shown)

    def verified_words(self) -> frozenset[str]:
        """The words of facts that a person confirmed, wherever they came from."""
        said = self.ask("SELECT content FROM fact WHERE verified_at IS NOT NULL")
        return frozenset(word for (content,) in said for word in WORD.findall(content))

    def table_of(self, word: str) -> str:
        """The table that holds a word, as far as SQLite shows it."""
        for (name,) in self.ask("SELECT name FROM sqlite_master WHERE type = 'table'"):
            with contextlib.suppress(sqlite3.Error):
                if any(word in str(row) for row in self.ask(f"SELECT * FROM {name}")):
                    return f"in {name}"
        return "in no table"


NONE: frozenset[str] = frozenset()


def words_of(rows: Iterable[Row]) -> frozenset[str]:
    return frozenset(word for row in rows for word in row.words)
