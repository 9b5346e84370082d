"""What must hold after a fault, read from the SQLite file itself and compared with what the editors were shown.

Nothing of the product's storage is used: a mistake there must not hide itself. Digests are derived by the same rules (a
hash over canonical JSON), written down here a second time.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.script import Script

FINAL = ("committed", "cancelled", "errored", "interrupted")


class Broken(AssertionError):
    """A promise that did not hold; the sentence says which."""


def require(holds: bool, sentence: str) -> None:
    if not holds:
        raise Broken(sentence)


@dataclass
class Seen:
    """A turn as its editor saw it."""

    script: Script
    request_id: str
    deltas: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    """The whole answer of the request; None when none came."""


@dataclass(frozen=True)
class Stored:
    """One message's content, with its place."""

    id: int
    turn: str | None
    step: int | None
    content: dict[str, Any]

    @property
    def role(self) -> str:
        return str(self.content["role"])

    @property
    def text(self) -> str:
        return "".join(part["text"] for part in self.content["parts"] if part["type"] == "text")

    def parts(self, kind: str) -> list[dict[str, Any]]:
        return [part for part in self.content["parts"] if part["type"] == kind]


_REMEMBERED = ("token_count",)
"""Tables that get a row when somebody first asks for what it holds, at any moment; no row changes."""
_LEARNED = ("extraction", "fact", "forgotten_fact", "librarian_use", "passage_search", "sqlite_sequence")


def dump(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, so that two moments can be compared; but for what is learned behind the turns, at any
    moment while a server runs: facts, how far was read for them, and the index that holds them too."""
    with closing(_open(database)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr)
            for (name,) in names
            if not name.startswith(_LEARNED)
        }


def require_same(before: dict[str, list[tuple[Any, ...]]], after: dict[str, list[tuple[Any, ...]]]) -> None:
    """Raises Broken with the first row of each table that only one of the two dumps has."""
    differences = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, []), after.get(name, [])
        gone = next((row for row in old if row not in new), None)
        come = next((row for row in new if row not in old), None) if name not in _REMEMBERED else None
        if gone or come:
            differences.append(f"{name} had {gone!r:.300}, has {come!r:.300}")
    require(not differences, f"a second recovery changed something: {'; '.join(differences)}")


def check_file(database: Path) -> None:
    """SQLite's own checks, the order of the messages, their digests, and that nothing is left open."""
    with closing(_open(database)) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
        require(verdict == "ok", f"SQLite's integrity check says {verdict}")
        require(not connection.execute("PRAGMA foreign_key_check").fetchall(), "a foreign key points nowhere")
        if not _has_table(connection, "turn"):
            return
        for conversation, next_id, head in connection.execute(
            "SELECT id, next_message_id, head_digest FROM conversation"
        ):
            _check_chain(connection, conversation, next_id, head)
        _check_closed(connection)
        _check_index(connection)


def _check_chain(connection: sqlite3.Connection, conversation: str, next_id: int, head: str | None) -> None:
    predecessor = None
    rows = connection.execute(
        "SELECT message_id, turn, created_at, content, content_digest, digest FROM message "
        "WHERE conversation = ? ORDER BY message_id",
        (conversation,),
    ).fetchall()
    require([row[0] for row in rows] == list(range(next_id)), "the ids of the messages have a gap or a repeat")
    for message_id, turn, created_at, content, content_digest, digest in rows:
        own = _hash(json.loads(content))
        header = {
            "version": 1,
            "conversation": conversation,
            "id": message_id,
            "created_at": created_at,
            "turn": turn,
        }
        require(own == content_digest, f"the content digest of message {message_id} does not verify")
        require(_hash([predecessor, header, own]) == digest, f"the digest of message {message_id} does not verify")
        predecessor = digest
    require(predecessor == head, "the conversation does not end with its last message's digest")


def _check_closed(connection: sqlite3.Connection) -> None:
    open_turns = connection.execute(f"SELECT state FROM turn WHERE state NOT IN {FINAL}").fetchall()
    require(not open_turns, f"turns are still open: {open_turns}")
    require(not connection.execute("SELECT 1 FROM step WHERE ending IS NULL").fetchall(), "a step is still open")
    require(not connection.execute("SELECT 1 FROM stream_journal").fetchall(), "the journal of a closed step is kept")
    require(not connection.execute("SELECT 1 FROM lease WHERE server IS NOT NULL").fetchall(), "a lease is still held")
    doubled = connection.execute("SELECT request_id FROM turn GROUP BY request_id HAVING count(*) > 1").fetchall()
    require(not doubled, "a request made two turns")


def _check_index(connection: sqlite3.Connection) -> None:
    found = connection.execute("SELECT count(*) FROM message WHERE id NOT IN (SELECT id FROM message_search_docsize)")
    (n_lost,) = found.fetchone()
    require(n_lost == 0, f"{n_lost} messages are not in the search index")


def check_turns(database: Path, seen: Iterable[Seen]) -> None:
    """Each turn once, with everything its editor was shown and nothing its script does not say."""
    with closing(_open(database)) as connection:
        if not _has_table(connection, "turn"):
            for each in seen:
                require(not each.deltas, "a delta was shown and the store has no turns")
            return
        for each in seen:
            _check_turn(connection, each)


def _check_turn(connection: sqlite3.Connection, seen: Seen) -> None:
    name = seen.script.name
    row = connection.execute("SELECT id, state FROM turn WHERE request_id = ?", (seen.request_id,)).fetchone()
    if row is None:
        require(not seen.deltas, f"turn {name}: deltas were shown and there is no turn")
        require(seen.answer is None or "error" in seen.answer, f"turn {name}: it was answered and there is no turn")
        return
    turn_id, state = row
    messages = [
        Stored(message_id, turn_id, step, json.loads(content))
        for message_id, step, content in connection.execute(
            "SELECT message_id, step, content FROM message WHERE turn = ? ORDER BY message_id", (turn_id,)
        )
    ]
    require(bool(messages) and messages[0].text == seen.script.user_text, f"turn {name}: the user's message is lost")
    steps = _by_step(messages[1:])
    if seen.answer is not None and "result" in seen.answer:
        result = seen.answer["result"]
        require(result["status"] == state, f"turn {name}: answered as {result['status']}, stored as {state}")
        require(result["messageIds"] == [m.id for m in messages], f"turn {name}: other messages than the answer's")
    _check_against_script(seen.script, state, steps)
    _check_against_deltas(name, seen.deltas, steps)


def _by_step(messages: Sequence[Stored]) -> list[list[Stored]]:
    steps: dict[int | None, list[Stored]] = {}
    for message in messages:
        steps.setdefault(message.step, []).append(message)
    return list(steps.values())


def _check_against_script(script: Script, state: str, steps: Sequence[Sequence[Stored]]) -> None:
    name = script.name
    require(len(steps) <= len(script.steps), f"turn {name}: {len(steps)} steps, and the script has {len(script.steps)}")
    if state == "committed":
        require(len(steps) == len(script.steps), f"turn {name}: committed with {len(steps)} steps")
    for number, (step, wanted) in enumerate(zip(steps, script.steps, strict=False)):
        first, results = step[0], step[1:]
        require(first.role == "assistant", f"turn {name}, step {number}: begins with a message of the {first.role}")
        calls = [(part["call_id"], part["name"]) for part in first.parts("tool_call")]
        is_whole = first.content["status"] == "complete"
        if wanted.fault is None and wanted.raw is None:
            if is_whole:
                require(first.text == wanted.text, f"turn {name}, step {number}: the text is not what was said")
                require(calls == [(c.call_id, c.name) for c in wanted.calls], f"turn {name}, step {number}: calls")
            else:
                require(wanted.text.startswith(first.text), f"turn {name}, step {number}: text that was not said")
        require(is_whole or number == len(steps) - 1, f"turn {name}, step {number}: cut short and others follow")
        answered = [part["call_id"] for each in results for part in each.parts("tool_result")]
        require(answered == [call_id for call_id, _ in calls], f"turn {name}, step {number}: a call without its result")


@dataclass
class _Shown:
    text: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    is_done: bool = False


def _check_against_deltas(name: str, deltas: Sequence[dict[str, Any]], steps: Sequence[Sequence[Stored]]) -> None:
    numbers = [delta["seq"] for delta in deltas]
    require(numbers == sorted(set(numbers)), f"turn {name}: sequence numbers repeat or go back")
    shown = _steps_shown(deltas)
    require(len(shown) <= len(steps), f"turn {name}: {len(shown)} steps were shown and {len(steps)} are stored")
    for number, (said, step) in enumerate(zip(shown, steps, strict=False)):
        where = f"turn {name}, step {number}"
        require(step[0].text.startswith(said.text), f"{where}: text that was shown is lost")
        if not said.is_done:
            continue
        require(step[0].text == said.text, f"{where}: more text than was shown of a complete answer")
        calls = {part["call_id"]: part for part in step[0].parts("tool_call")}
        require(list(calls) == [call_id for call_id, _ in said.calls], f"{where}: the calls shown are not stored")
        for call_id, arguments in said.arguments.items():
            require(calls[call_id]["arguments"] == arguments, f"{where}: the arguments of a call differ")
        stored = {part["call_id"]: part["text"] for each in step[1:] for part in each.parts("tool_result")}
        for call_id, text in said.results.items():
            require(stored.get(call_id) == text, f"{where}: a result that was shown is lost")


def _steps_shown(deltas: Sequence[dict[str, Any]]) -> list[_Shown]:
    """The outcome of each model call; a step without a word, call or end does not count."""
    steps: list[_Shown] = []
    for delta in deltas:
        kind, text = delta["type"], delta.get("text", "")
        is_of_model = kind in ("text", "thinking", "toolCall", "toolArguments", "done")
        if is_of_model and (not steps or steps[-1].is_done):
            steps.append(_Shown())
        if kind == "text":
            steps[-1].text += text
        elif kind == "toolCall":
            steps[-1].calls.append((delta["callId"], delta["name"]))
        elif kind == "toolArguments":
            steps[-1].arguments[delta["callId"]] = steps[-1].arguments.get(delta["callId"], "") + text
        elif kind == "toolResult":
            steps[-1].results[delta["callId"]] = text
        elif kind == "done":
            steps[-1].is_done = True
    return [step for step in steps if step.text or step.is_done]


def _open(database: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(database, timeout=30)
    connection.execute("PRAGMA query_only = 1")
    return connection


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
