"""The facts of a folder: their statements, their subjects, and how long each of them holds.

The statement of a fact is never changed. A fact that no longer holds is closed, and only `forget` and a purge remove
it. The places it rests on are in `sources`.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.context.recalled import harmless
from palimpsest.domain.errors import NotFound
from palimpsest.domain.facts.fact import (
    Candidate,
    Evidence,
    Fact,
    FactFilter,
    FactId,
    FactState,
    FactType,
    Origin,
    Place,
    SourceState,
    Span,
    StoredFact,
)
from palimpsest.domain.facts.text import by_author
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage.facts import search as fact_search
from palimpsest.storage.sql import execute

_COLUMNS: Final = (
    "fact.id, fact_type, content, turn_number, conversation, message_id, quote, origin, created_at, closed_at, "
    "superseded_by, verified_at, n_uses, (SELECT name FROM fact_author WHERE fact_author.fact = fact.id), "
    "EXISTS (SELECT 1 FROM shared_fact WHERE shared_fact.fact = fact.id AND standing <> 'forgotten')"
)
_IS_OWN: Final = "NOT EXISTS (SELECT 1 FROM fact_author WHERE fact_author.fact = fact.id)"
_IS_STALE: Final = (
    "EXISTS (SELECT 1 FROM fact_source_link WHERE fact_source_link.fact = fact.id AND state IN ('changed', 'missing'))"
)


@dataclass(frozen=True, slots=True)
class FactCounts:
    """The numbers of open facts."""

    n_open: int
    n_stale: int


def add(fact: Fact, turn_number: int, evidence: Evidence | None, now: str) -> FactId:
    """Stores a fact. `domain.facts.extraction.admission` decides whether it should be stored."""
    execute(
        "INSERT INTO fact (fact_type, content, turn_number, conversation, message_id, quote, origin, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        fact.fact_type.value,
        fact.content,
        turn_number,
        *((None,) * 4 if evidence is None else _evidence_columns(evidence)),
        now,
    )
    ((fact_id,),) = execute("SELECT last_insert_rowid()")
    for entity in fact.entities:
        execute("INSERT OR IGNORE INTO fact_entity (fact, entity) VALUES (?, ?)", fact_id, entity)
    fact_search.add(FactId(fact_id), fact)
    return FactId(fact_id)


def add_candidate(candidate: Candidate, turn_number: int, now: str) -> FactId:
    return add(candidate.fact, turn_number, candidate.evidence, now)


def _evidence_columns(evidence: Evidence) -> tuple[str, int, str, str]:
    return evidence.conversation_id, evidence.message_id, evidence.quote, evidence.origin.value


def get(fact_id: FactId) -> StoredFact:
    """Raises NotFound."""
    for found in read([fact_id]):
        return found
    raise NotFound(f"There is no fact {fact_id} in this folder. List the facts and choose one.")


def read(ids: Sequence[FactId]) -> list[StoredFact]:
    """The facts with those ids, as far as they exist, in that order."""
    rows = execute(f"SELECT {_COLUMNS} FROM fact WHERE id IN (SELECT value FROM json_each(?))", json.dumps(ids))
    found = {fact.id: fact for fact in _facts(list(rows))}
    return [found[each] for each in ids if each in found]


def select(wanted: FactFilter) -> list[StoredFact]:
    """The newest first."""
    where, parameters = ["fact.id < ?"], [wanted.before if wanted.before is not None else (1 << 62)]
    if not wanted.includes_closed:
        where.append("closed_at IS NULL")
    if wanted.types:
        where.append("fact_type IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps([each.value for each in wanted.types]))  # type: ignore[arg-type]
    if wanted.path is not None:
        where.append(
            "fact.id IN (SELECT fact FROM fact_source_link JOIN fact_source ON fact_source.id = source "
            "WHERE file_path = ?)"
        )
        parameters.append(wanted.path)  # type: ignore[arg-type]
    if wanted.is_stale is not None:
        where.append(_IS_STALE if wanted.is_stale else f"NOT {_IS_STALE}")
    sql = f"SELECT {_COLUMNS} FROM fact WHERE {' AND '.join(where)} ORDER BY fact.id DESC LIMIT ?"
    return list(_facts(list(execute(sql, *parameters, wanted.limit))))


def all_known() -> list[StoredFact]:
    """Every fact, closed ones and those of colleagues too, the oldest first."""
    return list(_facts(list(execute(f"SELECT {_COLUMNS} FROM fact ORDER BY id"))))


def own() -> list[StoredFact]:
    """Every fact but those of colleagues, closed ones too, the oldest first: a new fact is compared with them. What a
    colleague noted decides about none of them."""
    return [each for each in all_known() if each.author is None]


def of_colleagues() -> frozenset[FactId]:
    """The facts that colleagues noted."""
    return frozenset(FactId(fact_id) for (fact_id,) in execute("SELECT fact FROM fact_author"))


def version() -> tuple[int, int, int]:
    """Numbers that change whenever a fact is added, removed, closed or opened again."""
    ((newest, n, held),) = execute(
        "SELECT COALESCE(MAX(id), 0), COUNT(*), COALESCE(SUM(id) FILTER (WHERE closed_at IS NULL), 0) FROM fact"
    )
    return newest, n, held


def saying(fact: Fact) -> list[FactId]:
    """The open facts of that type with just this statement, without those of colleagues."""
    found = execute(
        f"SELECT id FROM fact WHERE fact_type = ? AND content = ? AND closed_at IS NULL AND {_IS_OWN} ORDER BY id",
        *(fact.fact_type.value, fact.content),
    )
    return [FactId(fact_id) for (fact_id,) in found]


def type_before_pin(fact_id: FactId) -> FactType | None:
    """The kind of the fact that a pinned one stands in the place of; None when there is none."""
    row = execute(
        "SELECT fact_type FROM fact WHERE superseded_by = ? AND fact_type <> ? ORDER BY id DESC LIMIT 1",
        *(fact_id, FactType.PINNED.value),
    ).fetchone()
    return None if row is None else FactType(row[0])


def search_by_entity(keyword: str) -> list[StoredFact]:
    """The open facts about `keyword`, whatever its case; the newest first."""
    rows = execute("SELECT fact FROM fact_entity WHERE entity = ? ORDER BY fact DESC", keyword)
    return [each for each in read([FactId(row[0]) for row in rows]) if each.is_open]


def counts() -> FactCounts:
    ((n_open,),) = execute("SELECT COUNT(*) FROM fact WHERE closed_at IS NULL")
    ((n_stale,),) = execute(
        "SELECT COUNT(DISTINCT fact.id) FROM fact_source_link JOIN fact ON fact.id = fact_source_link.fact "
        "WHERE state IN ('changed', 'missing') AND closed_at IS NULL"
    )
    return FactCounts(n_open, n_stale)


def close(fact_id: FactId, now: str, superseded_by: FactId | None = None) -> None:
    """Closes a fact: it no longer holds, and stays readable."""
    execute(
        "UPDATE fact SET closed_at = ?, superseded_by = ? WHERE id = ? AND closed_at IS NULL",
        *(now, superseded_by, fact_id),
    )


def close_ruled(conversation_id: ConversationId, message_id: MessageId, quote: str, now: str) -> None:
    """Closes the facts that were learned from a rule which the user has withdrawn by command. What had closed them
    before no longer counts, so they do not hold again when that message is hidden."""
    execute(
        """UPDATE fact SET closed_at = COALESCE(closed_at, ?), superseded_by = NULL, closed_by_conversation = NULL,
        closed_by_message = NULL WHERE conversation = ? AND message_id = ? AND quote = ? AND fact_type IN (?, ?)""",
        *(now, conversation_id, message_id, quote, FactType.CONSTRAINT.value, FactType.DECISION.value),
    )


def take_back(fact_id: FactId, now: str, conversation_id: ConversationId, message_id: MessageId) -> None:
    """Closes a fact because that message of the user ends it without a successor."""
    execute(
        "UPDATE fact SET closed_at = ?, closed_by_conversation = ?, closed_by_message = ? "
        "WHERE id = ? AND closed_at IS NULL",
        *(now, conversation_id, message_id, fact_id),
    )


def hold_again(conversation_id: ConversationId, start: int, end: int) -> None:
    """Opens the facts again that the messages [start, end) had closed, because those are hidden or purged. A fact stays
    closed if its own message is hidden, or another open fact has the same statement by now. Rules behave alike: they
    follow from the messages that are left."""
    found = list(
        execute(
            """SELECT id, fact_type, content FROM fact
            WHERE (
                superseded_by IN (SELECT id FROM fact WHERE conversation = ? AND message_id >= ? AND message_id < ?)
                OR (closed_by_conversation = ? AND closed_by_message >= ? AND closed_by_message < ?)
            ) AND NOT (conversation IS ? AND message_id >= ? AND message_id < ?) AND NOT EXISTS (
                SELECT 1 FROM hidden WHERE hidden.conversation = fact.conversation
                AND fact.message_id >= start_message_id AND fact.message_id < end_message_id
            ) ORDER BY id DESC""",
            *(conversation_id, start, end) * 3,
        )
    )
    for fact_id, fact_type, content in found:
        same = execute(
            f"""SELECT id FROM fact WHERE fact_type = ? AND content = ? AND closed_at IS NULL AND {_IS_OWN}
            AND NOT (conversation IS ? AND message_id >= ? AND message_id < ?)""",
            *(fact_type, content, conversation_id, start, end),
        )
        twin = next((each for (each,) in same), None)
        execute(
            "UPDATE fact SET closed_at = CASE WHEN ? IS NULL THEN NULL ELSE closed_at END, superseded_by = ?, "
            "closed_by_conversation = NULL, closed_by_message = NULL WHERE id = ?",
            *(twin, twin, fact_id),
        )


def open_again(fact_id: FactId) -> None:
    """Opens a closed fact: it holds after all."""
    execute("UPDATE fact SET closed_at = NULL, superseded_by = NULL WHERE id = ?", fact_id)


def set_author(fact_id: FactId, member: str, name: str) -> None:
    """Notes that a colleague wrote the fact. `name`: as it is shown."""
    execute("INSERT INTO fact_author (fact, member, name) VALUES (?, ?, ?)", fact_id, member, name)


def verify(fact_id: FactId, now: str) -> None:
    """Notes that a person has confirmed the fact."""
    execute("UPDATE fact SET verified_at = ?, closed_at = NULL, superseded_by = NULL WHERE id = ?", now, fact_id)


def count_uses(ids: Iterable[FactId]) -> None:
    """Counts one more use in a request for each fact."""
    execute("UPDATE fact SET n_uses = n_uses + 1 WHERE id IN (SELECT value FROM json_each(?))", json.dumps(list(ids)))


def forget(ids: Sequence[FactId]) -> None:
    """Removes facts with everything stored for them. Only a digest of each statement is left, so that the same words do
    not make it again."""
    for fact in read(ids):
        execute("INSERT OR IGNORE INTO forgotten_fact (digest) VALUES (?)", digest_of(fact.fact))
    remove(ids)


def remove(ids: Sequence[FactId]) -> None:
    """As `forget`, without the digest: the same may be learned again."""
    found = read(ids)
    for fact in found:
        fact_search.remove(fact.id, fact.fact)
    listed = json.dumps([fact.id for fact in found])
    for sql in (
        "DELETE FROM fact_author WHERE fact IN (SELECT value FROM json_each(?))",
        "DELETE FROM fact_entity WHERE fact IN (SELECT value FROM json_each(?))",
        "DELETE FROM fact_source_link WHERE fact IN (SELECT value FROM json_each(?))",
        "UPDATE fact SET superseded_by = NULL WHERE superseded_by IN (SELECT value FROM json_each(?))",
        "DELETE FROM fact WHERE id IN (SELECT value FROM json_each(?))",
    ):
        execute(sql, listed)
    execute("DELETE FROM fact_source WHERE id NOT IN (SELECT source FROM fact_source_link)")


def clear() -> int:
    """Removes every fact of the folder, and the digests of forgotten ones. Returns the number of facts. Where they are
    shared, the sharing ends first: a team forgets nothing by it."""
    for table in ("repository_share", "shared_fact"):
        execute(f"DELETE FROM {table}")
    ids = [FactId(fact_id) for (fact_id,) in execute("SELECT id FROM fact")]
    remove(ids)
    execute("DELETE FROM forgotten_fact")
    return len(ids)


def from_messages(conversation_id: ConversationId, start: int, end: int) -> list[FactId]:
    """The facts that rest on words of the messages [start, end) in the conversation's own rows."""
    found = execute(
        "SELECT id FROM fact WHERE conversation = ? AND message_id >= ? AND message_id < ? ORDER BY id",
        *(conversation_id, start, end),
    )
    return [FactId(fact_id) for (fact_id,) in found]


def close_from(conversation_id: ConversationId, start: int, end: int, now: str) -> list[FactId]:
    """Closes the facts that rest on the messages [start, end), which were rolled back, and opens the facts again that
    those had closed. Returns the facts of the messages."""
    hold_again(conversation_id, start, end)
    found = from_messages(conversation_id, start, end)
    for fact_id in found:
        close(fact_id, now)
    return found


def told_in(ids: Sequence[FactId]) -> set[ConversationId]:
    """The conversations that have one of these facts in an injection. That of a colleague counts on a line of its own
    behind his name only: no choice of his words ends the telling of anything else."""
    found = read(ids)
    contents = [harmless(fact.fact.content) for fact in found if fact.author is None]
    lines = [harmless(f"- {by_author(fact)}{fact.fact.content}") for fact in found if fact.author is not None]
    if not found:
        return set()
    told = execute("SELECT conversation, text FROM injection WHERE kind = 'recall'")
    return {
        ConversationId(owner)
        for owner, text in told
        if any(content in text for content in contents) or any(_has_line(text, line) for line in lines)
    }


def _has_line(text: str, line: str) -> bool:
    """Whether a line of the text is this one, or this one with a remark in parentheses behind it."""
    return line in text and any(each == line or each.startswith(f"{line} (") for each in text.split("\n"))


def merged_from(ids: Sequence[FactId]) -> list[FactId]:
    """The facts into which these statements about code were merged, directly or through others: their text is in each
    successor."""
    found = execute(
        """WITH RECURSIVE later (id) AS (
            SELECT superseded_by FROM fact WHERE id IN (SELECT value FROM json_each(?)) AND fact_type = ?
            UNION SELECT superseded_by FROM fact JOIN later ON fact.id = later.id WHERE fact_type = ?
        ) SELECT id FROM later WHERE id IS NOT NULL""",
        *(json.dumps(list(ids)), FactType.CODE_STATE.value, FactType.CODE_STATE.value),
    )
    return [FactId(fact_id) for (fact_id,) in found]


def is_forgotten(fact: Fact) -> bool:
    """Whether the user had this statement forgotten."""
    return any(True for _ in execute("SELECT 1 FROM forgotten_fact WHERE digest = ?", digest_of(fact)))


def digest_of(fact: Fact) -> str:
    """The same digest for the same statement, regardless of spaces and capitals."""
    said = " ".join(fact.content.casefold().split())
    return hashlib.sha256(said.encode()).hexdigest()


# --------------------------------------------------------------------------------- how far messages were read for facts


def extracted_until(conversation_id: ConversationId) -> MessageId:
    """The first message that was not read for facts yet."""
    found = execute("SELECT next_message_id FROM extraction WHERE conversation = ?", conversation_id)
    return next((MessageId(each) for (each,) in found), MessageId(0))


def unread_conversations() -> list[ConversationId]:
    """The conversations with messages that were not read for facts yet."""
    found = execute(
        "SELECT conversation.id FROM conversation LEFT JOIN extraction ON extraction.conversation = conversation.id "
        "WHERE conversation.next_message_id > MAX(COALESCE(extraction.next_message_id, 0), fork_message_id)"
    )
    return [ConversationId(each) for (each,) in found]


def set_extracted(conversation_id: ConversationId, until: MessageId) -> None:
    """Moves the mark forward, and never back: no message is read twice."""
    execute(
        "INSERT INTO extraction (conversation, next_message_id) VALUES (?, ?) ON CONFLICT (conversation) DO UPDATE "
        "SET next_message_id = MAX(next_message_id, excluded.next_message_id)",
        *(conversation_id, until),
    )


def tokens_used(day: str) -> int:
    """The tokens that extraction by a model took on that day."""
    return next((tokens for (tokens,) in execute("SELECT tokens FROM librarian_use WHERE day = ?", day)), 0)


def use_tokens(day: str, tokens: int) -> None:
    execute(
        "INSERT INTO librarian_use (day, tokens) VALUES (?, ?) ON CONFLICT (day) DO UPDATE "
        "SET tokens = tokens + excluded.tokens",
        *(day, tokens),
    )


# --------------------------------------------------------------------------------------------------------------- rows


def _facts(rows: Sequence[tuple[Any, ...]]) -> Iterator[StoredFact]:
    ids = json.dumps([row[0] for row in rows])
    entities: defaultdict[int, list[str]] = defaultdict(list)
    for fact_id, entity in execute(
        "SELECT fact, entity FROM fact_entity WHERE fact IN (SELECT value FROM json_each(?))", ids
    ):
        entities[fact_id].append(entity)
    sources: defaultdict[int, list[SourceState]] = defaultdict(list)
    for fact_id, path, symbol, start, end, state in execute(
        "SELECT fact, file_path, symbol, start_line, end_line, state FROM fact_source_link "
        "JOIN fact_source ON fact_source.id = source WHERE fact IN (SELECT value FROM json_each(?)) "
        "ORDER BY fact_source_link.id",
        ids,
    ):
        span = None if start is None else Span(start, end)
        sources[fact_id].append(SourceState(Place(path, span, symbol), FactState(state)))
    return (_fact(row, entities[row[0]], tuple(sources[row[0]])) for row in rows)


def _fact(row: tuple[Any, ...], entities: Sequence[str], sources: tuple[SourceState, ...]) -> StoredFact:
    (
        fact_id,
        fact_type,
        content,
        turn_number,
        conversation,
        message_id,
        quote,
        origin,
        created_at,
        closed_at,
        superseded_by,
        verified_at,
        n_uses,
        author,
        is_shared,
    ) = row
    evidence = None
    if conversation is not None:
        evidence = Evidence(ConversationId(conversation), MessageId(message_id), quote, Origin(origin))
    return StoredFact(
        FactId(fact_id),
        Fact(FactType(fact_type), content, tuple(entities)),
        turn_number,
        created_at,
        evidence,
        sources,
        closed_at,
        superseded_by,
        verified_at,
        n_uses,
        author,
        bool(is_shared),
    )
