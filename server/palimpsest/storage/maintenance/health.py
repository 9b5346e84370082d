"""Checks a whole store and reports its faults. Changes nothing, and may run beside servers.

SQLite checks its own integrity; the other checks are for the store's own rules: the digest chain, the forest of
summaries, the cut as a partition, and rows that belong to other rows. The sentences name ids and numbers, never text.
`repairs` fixes the faults that can be fixed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import peewee
from peewee import SqliteDatabase
from playhouse.migrations import Runner

from palimpsest.domain import foreign_json
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import Content
from palimpsest.domain.turns.states import FINAL_STATES
from palimpsest.storage import contents, tables
from palimpsest.storage.conversation import passages, search
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.failures import explain
from palimpsest.storage.maintenance import chain_check, forest_check, hidden_words
from palimpsest.storage.sql import bind_thread, execute
from palimpsest.storage.upgrades import MIGRATIONS
from palimpsest.wording import counted

_BUSY_TIMEOUT_S: Final = 10
_MOST_NAMED: Final = 5
_ROWS_AT_ONCE: Final = 200


class Verdict(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    PROBLEM = "problem"
    REPAIRED = "repaired"
    UNKNOWN = "unknown"
    """The check was not possible."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of one check."""

    check: str
    verdict: Verdict
    text: str
    """A sentence for the user."""


def look(directory: Path, is_alive: Callable[[str], bool]) -> list[Finding]:
    """The findings of all checks of the database, made in one read transaction. `is_alive` says whether the server with
    an id runs.

    Raises nothing for a fault: a check that is not possible is a finding too.
    """
    path = directory / DATABASE_NAME
    if not path.is_file():
        return [Finding("database", Verdict.UNKNOWN, f"There is no store in {directory}.")]
    database = SqliteDatabase(
        f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_TIMEOUT_S, pragmas={"query_only": 1}
    )
    bind_thread(database)
    try:
        with contextlib.closing(database), database.atomic():
            return list(_checks(database, is_alive))
    except (peewee.PeeweeException, sqlite3.Error, OSError) as error:
        return [Finding("database", Verdict.PROBLEM, explain(error, directory))]


def _checks(database: SqliteDatabase, is_alive: Callable[[str], bool]) -> Iterator[Finding]:
    schema = _schema(database)
    yield schema
    yield _guarded("integrity", _integrity)
    if schema.verdict is Verdict.UNKNOWN:
        return
    yield _guarded("references", _references)
    yield _guarded("chains", chain_check.faults, "Every digest follows from the messages before it.")
    yield _guarded("summaries", forest_check.summary_faults, "Every summary covers existing messages and summaries.")
    yield _guarded("cuts", forest_check.cut_faults, "Every cut shows each visible message exactly once.")
    yield _guarded("hidden words", _hidden_words, "No fact or summary in use repeats hidden or purged words.")
    yield _guarded("turns", functools.partial(_turn_faults, is_alive), "No dead server has left a turn open.")
    for name, (what, sql) in STRAYS.items():
        yield _guarded(name, functools.partial(_count, what, sql), "No row is left over.")
    yield _guarded("contents", contents.faults, "Every content is what its digest says.")
    yield _tool_calls()
    yield _guarded("search", _search_faults, "The search indexes hold every message and fact, and nothing else.")


def _guarded(check: str, faults: Callable[[], list[str]], fine: str = "No fault was found.") -> Finding:
    """The finding of a check that returns its faults as clauses; damage that stops the check is a fault too."""
    try:
        found = faults()
    except (peewee.PeeweeException, sqlite3.Error, OverflowError) as error:
        found = [f"it could not be read to the end ({type(error).__name__})"]
    except (PalimpsestError, ValueError, KeyError, TypeError, RecursionError) as error:
        found = [f"a row is not what Palimpsest writes ({type(error).__name__})"]
    if not found:
        return Finding(check, Verdict.OK, fine)
    more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    sentence = f"{'; '.join(found[:_MOST_NAMED])}{more}."
    return Finding(check, Verdict.PROBLEM, sentence[0].upper() + sentence[1:])


def _schema(database: SqliteDatabase) -> Finding:
    status = Runner(database, str(MIGRATIONS)).status()
    done = [each.name for each in status if each.applied]
    newer = [each.name for each in status if each.path is None]
    waiting = [each.name for each in status if not each.applied]
    if newer:
        text = f"A newer Palimpsest has changed this store ({', '.join(newer)}). Check it with that version."
        return Finding("schema", Verdict.UNKNOWN, text)
    if waiting:
        text = (
            f"The store is of an older schema ({done[-1] if done else 'none'}). Open the folder once with this version "
            "(a copy is kept), then check again."
        )
        return Finding("schema", Verdict.UNKNOWN, text)
    return _guarded("schema", _unknown_columns, f"The store has the schema of this version ({done[-1]}).")


_ELSEWHERE: Final = {
    "approval_rule": {"number", "tool", "words", "answer", "created_at"},
    "extraction": {"conversation", "next_message_id"},
    "pending_work": {"id", "kind", "subject", "first", "after"},
    "fact": {
        *("id", "fact_type", "content", "turn_number", "conversation", "message_id", "quote", "origin"),
        *("created_at", "closed_at", "superseded_by", "verified_at", "n_uses"),
        *("closed_by_conversation", "closed_by_message"),
    },
    "fact_author": {"fact", "member", "name"},
    "fact_entity": {"fact", "entity"},
    "fact_source": {"id", "file_path", "sha256", "lines", "updated_at"},
    "fact_source_link": {"id", "fact", "source", "anchor", "symbol", "start_line", "end_line", "state"},
    "forgotten": {"fact", "forgotten_at", "conversation", "message_id", "kept"},
    "forgotten_fact": {"digest"},
    "repository_share": {
        *("id", "hub", "incarnation", "member", "team", "repository", "root_commit", "remote", "subfolder", "hub_seq"),
    },
    "shared_fact": {"fact_key", "standing", "fact", "member", "body", "n_bytes"},
    "librarian_use": {"day", "tokens"},
    "indexed_message": {
        *("message", "conversation", "message_id", "role", "name", "n_words", "is_rule", "session", "day", "around"),
    },
}
"""Tables without a model."""


def _unknown_columns() -> list[str]:
    known = {model._meta.table_name: set(model._meta.columns) for model in tables._Base.__subclasses__()} | _ELSEWHERE
    faults: list[str] = []
    listed = [name for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in sorted(set(listed) | set(known)):
        if name.startswith(("sqlite_", "message_search", "passage_search", "schema_migration")):
            continue
        columns = {row[1] for row in execute(f'PRAGMA table_info("{name}")')}
        if name not in known:
            faults.append(f"the table {name} is not Palimpsest's")
        elif not columns:
            faults.append(f"the table {name} is missing")
        elif columns != known[name]:
            faults.append(f"the columns {', '.join(sorted(columns ^ known[name]))} of {name} are unknown or missing")
    return faults


def _integrity() -> list[str]:
    found = [str(text) for (text,) in execute("PRAGMA integrity_check(100)")]
    return [] if found == ["ok"] else [f"SQLite finds {counted(len(found), 'fault')} in the file, so it is damaged"]


def _references() -> list[str]:
    broken = Counter((child, parent) for child, _, parent, _ in execute("PRAGMA foreign_key_check"))
    return [
        f"a {parent} that does not exist is named in {counted(n, 'row')} of {child}"
        for (child, parent), n in sorted(broken.items())
    ]


def _hidden_words() -> list[str]:
    found = hidden_words.find()
    counted = (
        (found.summaries, "summaries in use were made of messages that were rolled back"),
        (found.of_purged, "facts rest on messages that were purged"),
        (found.of_hidden, "open facts rest on messages that were rolled back"),
    )
    return [f"{len(each)} {what}" for each, what in counted if each]


def _turn_faults(is_alive: Callable[[str], bool]) -> list[str]:
    faults: list[str] = []
    ended = ", ".join(f"'{state.value}'" for state in sorted(FINAL_STATES))
    open_turns = execute(
        f"""SELECT turn.id, lease.server FROM turn LEFT JOIN lease ON lease.conversation = turn.conversation
        WHERE turn.state NOT IN ({ended}) ORDER BY turn.id"""
    )
    for turn_id, server in open_turns:
        if server is None or not is_alive(server):
            faults.append(f"turn {turn_id} was left open by a server that no longer runs")
    steps = f"SELECT count(*) FROM step JOIN turn ON turn.id = step.turn WHERE ending IS NULL AND state IN ({ended})"
    return faults + _count("steps are open in turns that have ended", steps)


def _count(what: str, sql: str) -> list[str]:
    ((n,),) = execute(sql)
    return [f"{n} {what}"] if n else []


def _tool_calls() -> Finding:
    """Calls whose arguments no service accepts as they are. They are no problem: they stay as stored, and requests hold
    them as text."""
    check, odd, n_odd = "tool calls", list[str](), 0
    calls = """SELECT conversation, message_id, content FROM message WHERE INSTR(content, '"tool_call"') ORDER BY id"""
    try:
        for conversation, message_id, content in execute(calls):
            n = sum(foreign_json.object_in(c.arguments) is None for c in Content.from_json(json.loads(content)).calls)
            n_odd += n
            if n and len(odd) < _MOST_NAMED:
                odd.append(f"message {message_id} of conversation {conversation}")
    except (peewee.PeeweeException, sqlite3.Error, ValueError, KeyError, TypeError, RecursionError) as error:
        return Finding(check, Verdict.PROBLEM, f"A row is not what Palimpsest writes ({type(error).__name__}).")
    if not n_odd:
        return Finding(check, Verdict.OK, "The arguments of every tool call can be sent as they are.")
    text = (
        f"The arguments of {counted(n_odd, 'tool call')} are not a JSON object or hold a number that JSON cannot "
        f"({', '.join(odd)}{', …' if n_odd > len(odd) else ''}). They stay as they are; models are shown them as text, "
        "so their conversations go on."
    )
    return Finding(check, Verdict.OK, text)


STRAYS: Final = {
    "journals": (
        "journal rows belong to committed steps",
        "SELECT count(*) FROM stream_journal WHERE step IN (SELECT id FROM step WHERE ending IS NOT NULL)",
    ),
    "token counts": (
        "token counts belong to no message, or to a purged one",
        """SELECT count(*) FROM token_count WHERE message NOT IN (SELECT id FROM message WHERE content IS NOT NULL)
            AND message NOT IN (SELECT message.id FROM message JOIN stand_in USING (conversation, message_id))""",
    ),
    "previews": (
        "previews belong to no cut",
        """SELECT count(*) FROM preview WHERE cut_version > 0 AND NOT EXISTS (
            SELECT 1 FROM cut WHERE cut.conversation = preview.conversation AND cut.version = preview.cut_version)""",
    ),
    "injections": (
        "injections belong to no turn",
        "SELECT count(*) FROM injection WHERE turn NOT IN (SELECT id FROM turn)",
    ),
    "frames": (
        "system prompts with their tools belong to no request",
        "SELECT count(*) FROM frame WHERE digest NOT IN (SELECT frame FROM sent_request)",
    ),
    "unused contents": ("contents belong to no message and to no edit", f"SELECT count(*) {contents.UNUSED}"),
}
"""Rows that may be left over, by check: their description, and a query for their number."""


def _search_faults() -> list[str]:
    """Faults of the index for a person's search: rows that are missing or left over, and rows with another number of
    words. The index itself holds no text to compare."""
    in_store = "SELECT id FROM message WHERE content IS NOT NULL"
    indexed = "SELECT id FROM message_search_docsize"
    faults = _count("messages are not in the search index", f"SELECT count(*) FROM ({in_store} EXCEPT {indexed})")
    gone = f"SELECT count(*) FROM ({indexed} EXCEPT {in_store})"
    faults += _count("messages that do not exist, or were purged, are in the search index", gone)
    return [*(faults or _differing_sizes()), *_passage_faults()]


def _differing_sizes() -> list[str]:
    n_differing, last = 0, -(2**63)
    while True:
        sql = f"""SELECT message.id, content, hex(sz) FROM message JOIN message_search_docsize AS d ON d.id = message.id
            WHERE message.id > ? AND content IS NOT NULL ORDER BY message.id LIMIT {_ROWS_AT_ONCE}"""
        found = list(execute(sql, last))
        if not found:
            return [f"the search index differs from {counted(n_differing, 'message')}"] if n_differing else []
        expected = _sizes({row_id: Content.from_json(json.loads(content)) for row_id, content, _ in found})
        n_differing += sum(expected[row_id] != size for row_id, _, size in found)
        last = found[-1][0]


def _sizes(contents: Mapping[int, Content]) -> dict[int, str]:
    """The number of words that the index would note for each message, counted by the same tokenizer."""
    ((sql,),) = execute("SELECT sql FROM sqlite_master WHERE name = 'message_search'")
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(sql)
        memory.executemany(
            "INSERT INTO message_search (rowid, words, parts) VALUES (?, ?, ?)",
            [(row_id, *search.columns(content)) for row_id, content in contents.items()],
        )
        return dict(memory.execute("SELECT id, hex(sz) FROM message_search_docsize"))


def _passage_faults() -> list[str]:
    """The same faults of the index for retrieval, which holds facts as well."""
    faults = _count(
        "messages are missing in the index for retrieval",
        "SELECT count(*) FROM (SELECT id FROM message EXCEPT SELECT message FROM indexed_message)",
    )
    faults += _count(
        "messages that were purged are in the index for retrieval",
        """SELECT count(*) FROM indexed_message JOIN message ON message.id = indexed_message.message
        WHERE content IS NULL AND (role <> '' OR name <> '' OR around <> '')""",
    )
    in_store, indexed = "SELECT -id FROM fact", "SELECT id FROM passage_search_docsize WHERE id < 0"
    faults += _count("facts cannot be found", f"SELECT count(*) FROM ({in_store} EXCEPT {indexed})")
    faults += _count("removed facts can be found", f"SELECT count(*) FROM ({indexed} EXCEPT {in_store})")
    return faults or _differing_passages()


def _differing_passages() -> list[str]:
    ((sql,),) = execute("SELECT sql FROM sqlite_master WHERE name = 'passage_search'")
    ((n_indexed,),) = execute("SELECT count(*) FROM passage_search_docsize WHERE id >= 0")
    n_expected = n_differing = last = 0
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(sql)
        while batch := passages.expected(last, _ROWS_AT_ONCE):
            memory.execute("DELETE FROM passage_search_docsize")
            for row_id, rows in batch:
                memory.executemany("INSERT INTO passage_search (rowid, words, parts, around) VALUES (?, ?, ?, ?)", rows)
                sizes = dict(memory.execute("SELECT id, hex(sz) FROM passage_search_docsize"))
                memory.execute("DELETE FROM passage_search_docsize")
                known = dict(execute(_SIZES, *passages.row_ids(row_id)))
                n_differing += sizes != known
                n_expected += len(rows)
                last = row_id
    is_complete = n_expected == n_indexed
    return [] if is_complete and not n_differing else ["retrieval knows messages otherwise than they are"]


_SIZES: Final = "SELECT id, hex(sz) FROM passage_search_docsize WHERE id >= ? AND id < ?"
