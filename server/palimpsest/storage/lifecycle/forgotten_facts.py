"""Forgotten facts: in no list, search or request any more, and for some time still restorable.

They are in no table that other modules read. `facts.forget` leaves a digest of the statement, so that the same words do
not make the fact again; only a restoration removes that digest. Purging the words behind a fact drops the forgotten
fact.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.domain.errors import NotFound
from palimpsest.domain.facts.fact import Evidence, Fact, FactId, FactType, Origin, Span
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage.context import visibility
from palimpsest.storage.conversation import hidden_ranges
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import search as fact_search
from palimpsest.storage.sql import execute

_FACT = (
    "fact_type, content, turn_number, conversation, message_id, quote, origin, created_at, closed_at, verified_at, "
    "n_uses, superseded_by, closed_by_conversation, closed_by_message"
)
_LINK = "anchor, symbol, start_line, end_line, state"
_SOURCE = "file_path, sha256, updated_at"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A fact that can be restored."""

    id: FactId
    """The id that it had, and has again when it is restored."""
    content: str
    forgotten_at: str


@dataclass(frozen=True, slots=True)
class Ruled:
    """The statement of a forgotten fact and its evidence."""

    fact: Fact
    evidence: Evidence | None
    forgotten_at: str


def forget(fact_id: FactId, now: str, before: str) -> None:
    """Forgets a fact. Facts that were forgotten before the time `before` are dropped for good. Raises NotFound."""
    drop_before(before)
    (row,) = execute(f"SELECT {_FACT} FROM fact WHERE id = ?", facts.get(fact_id).id)
    links = execute(
        f"SELECT {_LINK}, {_SOURCE}, hex(lines) FROM fact_source_link JOIN fact_source ON fact_source.id = source "
        "WHERE fact = ? ORDER BY fact_source_link.id",
        fact_id,
    )
    entities = execute("SELECT entity FROM fact_entity WHERE fact = ?", fact_id)
    author = execute("SELECT member, name FROM fact_author WHERE fact = ?", fact_id).fetchone()
    kept = {"fact": row, "links": list(links), "entities": [entity for (entity,) in entities], "author": author}
    execute(
        "INSERT INTO forgotten (fact, forgotten_at, conversation, message_id, kept) VALUES (?, ?, ?, ?, ?)",
        *(fact_id, now, row[3], row[4], json.dumps(kept)),
    )
    visibility.untell([fact_id], now)
    facts.forget([fact_id])


def find(fact_id: FactId) -> Ruled:
    """Raises NotFound."""
    kept, at = _find(fact_id)
    fact_type, content, _, conversation, message_id, quote, origin = kept["fact"][:7]
    evidence = None
    if conversation is not None:
        evidence = Evidence(ConversationId(conversation), MessageId(message_id), quote, Origin(origin))
    return Ruled(Fact(FactType(fact_type), content, tuple(kept["entities"])), evidence, at)


def _find(fact_id: FactId) -> tuple[dict[str, Any], str]:
    found = next(iter(execute("SELECT kept, forgotten_at FROM forgotten WHERE fact = ?", fact_id)), None)
    if found is None:
        raise NotFound(f"There is no forgotten fact {fact_id} that could be restored. List those that can be.")
    return json.loads(found[0]), found[1]


def restore(fact_id: FactId, now: str) -> FactId:
    """Puts a fact back as it was. It is closed when its message was rolled back meanwhile, and merged with an open fact
    of the same statement. Returns the id that it has now. Raises NotFound."""
    kept, _ = _find(fact_id)
    execute("DELETE FROM forgotten WHERE fact = ?", fact_id)
    columns = _FACT.split(", ")[: len(kept["fact"])]  # facts forgotten by an older version have fewer columns
    row = dict(zip(columns, kept["fact"], strict=True))
    if (by := row.get("superseded_by")) is not None and not facts.read([by]):
        row["superseded_by"] = None
    execute(f"INSERT INTO fact (id, {', '.join(row)}) VALUES (?, {', '.join('?' * len(row))})", fact_id, *row.values())
    for entity in kept["entities"]:
        execute("INSERT INTO fact_entity (fact, entity) VALUES (?, ?)", fact_id, entity)
    if (author := kept.get("author")) is not None:
        facts.set_author(fact_id, *author)
    restored = facts.get(fact_id).fact
    fact_search.add(fact_id, restored)
    execute("DELETE FROM forgotten_fact WHERE digest = ?", facts.digest_of(restored))
    if others := [each for each in facts.saying(restored) if each != fact_id]:
        facts.remove([fact_id])
        return others[0]
    if (said := facts.get(fact_id).evidence) is not None:
        hidden = hidden_ranges.read(said.conversation_id)
        if any(each.start <= said.message_id < each.end for each in hidden):
            facts.close(fact_id, now)
    for *link, path, sha256, updated_at, lines in kept["links"]:
        execute(
            f"INSERT OR IGNORE INTO fact_source ({_SOURCE}, lines) VALUES (?, ?, ?, ?)",
            *(path, sha256, updated_at, bytes.fromhex(lines)),
        )
        ((source,),) = execute("SELECT id FROM fact_source WHERE file_path = ? AND sha256 = ?", path, sha256)
        execute(
            f"INSERT INTO fact_source_link (fact, source, {_LINK}) VALUES (?, ?, ?, ?, ?, ?, ?)", fact_id, source, *link
        )
    return fact_id


def select(since: str) -> list[Forgotten]:
    """The facts that were forgotten at `since` or later, the last one first."""
    rows = execute(
        "SELECT fact, json_extract(kept, '$.fact[1]'), forgotten_at FROM forgotten WHERE forgotten_at >= ? "
        "ORDER BY forgotten_at DESC, fact DESC",
        since,
    )
    return [Forgotten(FactId(fact_id), content, at) for fact_id, content, at in rows]


def rested_on(path: str, since: str) -> list[tuple[Forgotten, Span | None]]:
    """The facts that were forgotten at `since` or later, each with a place of that file that it rested on, the last one
    first."""
    rows = execute(
        "SELECT fact, json_extract(kept, '$.fact[1]'), forgotten_at, json_extract(link.value, '$[2]'), "
        "json_extract(link.value, '$[3]') FROM forgotten, json_each(kept, '$.links') AS link "
        "WHERE json_extract(link.value, '$[5]') = ? AND forgotten_at >= ? ORDER BY forgotten_at DESC, fact DESC",
        *(path, since),
    )
    return [
        (Forgotten(FactId(fact_id), content, at), None if start is None else Span(start, end))
        for fact_id, content, at, start, end in rows
    ]


def drop_before(before: str) -> None:
    """Drops the facts that were forgotten before that time: they cannot be restored any more."""
    execute("DELETE FROM forgotten WHERE forgotten_at < ?", before)


def drop_of(stretches: Sequence[tuple[str, int, int]]) -> None:
    """Drops the facts that rest on the messages [start, end) of these conversations, which are purged."""
    for owner, start, end in stretches:
        execute(
            "DELETE FROM forgotten WHERE conversation = ? AND message_id >= ? AND message_id < ?",
            *(ConversationId(owner), start, end),
        )


def clear() -> None:
    """Drops all of them: no fact can be restored any more."""
    execute("DELETE FROM forgotten")
