"""`doctor` finds the faults of a store, reports them without any text of a message, and repairs those whose repair
loses nothing."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.lsp.real_server import home
from tests.sent import NOTHING
from tests.storage.test_backups import make_old_store

from palimpsest.cli.doctor import find_store
from palimpsest.cli.main import main
from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    MessageId,
    Role,
    ToolCallPart,
    TurnId,
    tool_result,
    user_message,
)
from palimpsest.domain.turns.journal import EventType, JournalEvent
from palimpsest.services.maintenance.health import Report, examine, repair
from palimpsest.storage import backups, leases
from palimpsest.storage.context import cuts, inheritance, summary_tree
from palimpsest.storage.context.cuts import CompactionReport, CutRecord
from palimpsest.storage.context.summary_tree import NewSummary
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log, search
from palimpsest.storage.conversation.message_log import Counts
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.maintenance.health import Verdict
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.turns import stream_journal, turns

C, F, T, NOW = ConversationId("c"), ConversationId("f"), TurnId("t"), "2026-01-01T00:00:00.000Z"
SECRET = "unspeakable"


def fill(store: Store) -> None:
    """Two conversations, a fork of the first, with counts, summaries, a cut, a preview and a roll back."""
    conversations.create(C, "", "offline", NOW)
    contents = [user_message(f"{SECRET} number{n}") for n in range(8)]
    message_log.append(C, contents, NOW, counts=Counts("bytes", range(1, 9)))
    first = summary_tree.write(C, summary(0, 2), NOW)
    summary_tree.write(C, summary(2, 4), NOW)
    lease = leases.acquire(store.writer(NOW), C, "a test")
    cut = CutRecord(1, CutCause.USER, "offline", Estimator(), "", MessageId(8), (first.id,))
    cuts.write_cut(lease, cut, {MessageId(3): user_message("u…")}, CompactionReport(), NOW)
    leases.release(lease)
    hidden_ranges.add(C, MessageId(6), MessageId(8), NOW)
    conversations.fork(F, conversations.get(C), MessageId(5), "a fork", NOW)
    inheritance.inherit(F, C, MessageId(5), NOW)
    message_log.append(F, [user_message("another way")], NOW)


def summary(start: int, end: int) -> NewSummary:
    return NewSummary(MessageId(start), MessageId(end), 1, "extractive", SECRET, 10, "palimpsest", (), 0)


@pytest.fixture
async def directory(tmp_path: Path) -> Path:
    """A sound store that no server holds."""
    store = await open_store(tmp_path / "store")
    await store.run(fill, store)
    await store.close()
    return store.directory


def change(directory: Path, sql: str) -> None:
    """Changes the database as a fault, or another program, might do."""
    with closing(sqlite3.connect(directory / DATABASE_NAME, isolation_level=None)) as database:
        database.executescript(sql)


def problems(report: Report) -> set[str]:
    """The checks that found a problem."""
    for finding in report.findings:
        assert SECRET not in finding.text
    return {finding.check for finding in report.findings if finding.verdict is not Verdict.OK}


def contents(directory: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


async def test_a_sound_store_is_fine_and_stays_as_it_is(directory: Path) -> None:
    before = contents(directory)
    report = await examine(directory)
    assert problems(report) == set()
    assert {finding.check for finding in report.findings} >= {"chains", "cuts", "search", "permissions", "locks"}
    assert contents(directory) == before
    assert DATABASE_NAME in {each.path.name for each in report.files}


async def test_a_store_in_use_is_looked_at_beside_its_server(directory: Path) -> None:
    store = await open_store(directory)
    try:
        report = await examine(directory)
        assert (problems(report), report.servers) == (set(), (store.server_id,))
        assert (directory / f"{DATABASE_NAME}-shm").stat().st_size
        assert {each.path.name for each in report.files} <= {DATABASE_NAME, f"{DATABASE_NAME}-wal"}
        await store.run(message_log.append, C, [user_message("afterwards")], NOW)
    finally:
        await store.close()


FAULTS: dict[str, tuple[str, str]] = {
    "a changed word": ("chains", f"UPDATE message SET content = replace(content, '{SECRET}', 'unspeakably')"),
    "a changed header": ("chains", "UPDATE message SET created_at = '2025' WHERE message_id = 3"),
    "a lost message": ("chains", "DELETE FROM message WHERE conversation = 'c' AND message_id = 7"),
    "a lost first message": ("chains", "DELETE FROM message WHERE conversation = 'c' AND message_id = 0"),
    "a digest of other content": ("chains", "UPDATE message SET content_digest = 'x' WHERE message_id = 2"),
    "a wrong head": ("chains", "UPDATE conversation SET head_digest = 'x' WHERE id = 'c'"),
    "content that is no message": ("chains", "UPDATE message SET content = '{}' WHERE message_id = 4"),
    "a lost parent": ("chains", "UPDATE conversation SET parent = 'nobody' WHERE id = 'f'"),
    "forks in a circle": ("chains", "UPDATE conversation SET parent = 'f', fork_message_id = 5 WHERE id = 'c'"),
    "a summary of nothing": ("summaries", "UPDATE summary SET end_message_id = 99 WHERE conversation = 'f'"),
    "a summary of itself": ("summaries", "UPDATE summary SET children = '[' || id || ']'"),
    "a lost child": ("summaries", "UPDATE summary SET children = '[77]' WHERE id = 1"),
    "a lost block": ("cuts", "DELETE FROM summary WHERE id = 1"),
    "blocks that overlap": (
        "cuts",
        "UPDATE cut SET blocks = '[1, 2]'; UPDATE summary SET end_message_id = 3 WHERE id = 1",
    ),
    "a row of nobody": ("references", "PRAGMA foreign_keys = 0; DELETE FROM conversation WHERE id = 'f'"),
    "a request without its frame": (
        "references",
        "PRAGMA foreign_keys = 0; INSERT INTO sent_request VALUES (1, 'x', 0, '{}', 0, 0, 'auto', 1, 1, 1, 1, 'y')",
    ),
    "other bytes under a digest": ("contents", "INSERT INTO content VALUES ('a digest', x'00')"),
    "another table": ("schema", "CREATE TABLE foreign_thing (x)"),
    "another column": ("schema", "ALTER TABLE pin ADD COLUMN colour TEXT"),
    "another message in the index": (
        "search",
        "INSERT INTO message_search (rowid, words, parts) VALUES (99, 'a', '')",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_found_by_its_check_and_not_hidden_by_a_repair(name: str, directory: Path) -> None:
    check, sql = FAULTS[name]
    change(directory, sql)
    assert check in problems(await examine(directory))
    if check != "search":
        assert check in problems(await repair(directory))


async def test_a_damaged_file_is_a_problem_and_nothing_is_written(directory: Path) -> None:
    path = directory / DATABASE_NAME
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 8192))
    before = path.read_bytes()
    report = await repair(directory)
    assert "integrity" in problems(report) or "database" in problems(report)
    assert report.backup is None
    assert path.read_bytes() == before


LEFTOVERS: dict[str, str] = {
    "token counts": "PRAGMA foreign_keys = 0; INSERT INTO token_count VALUES (999, 'bytes', 1)",
    "previews": "INSERT INTO preview VALUES ('c', 55, 1, '{}')",
    "frames": "INSERT INTO frame VALUES ('a digest', '{}')",
    "unused contents": f"INSERT INTO content VALUES ('{hashlib.sha256(b'0').hexdigest()}', x'30')",
    "search": "INSERT INTO message_search (message_search) VALUES ('delete-all')",
}


@pytest.mark.parametrize("check", LEFTOVERS)
async def test_leftovers_are_removed_after_a_copy_was_made(check: str, directory: Path) -> None:
    change(directory, LEFTOVERS[check])
    assert check in problems(await examine(directory))
    report = await repair(directory)
    assert [f.check for f in report.findings if f.verdict is Verdict.REPAIRED and f.check != "references"] == [check]
    assert list(backups.kept(directory)) == [report.backup]
    assert problems(await examine(directory)) == set()


async def test_a_rebuilt_index_finds_what_was_lost_from_it(directory: Path) -> None:
    change(directory, "UPDATE message_search_docsize SET sz = x'0909' WHERE id = 2")
    assert "search" in problems(await examine(directory))
    await repair(directory)
    store = await open_store(directory)
    try:
        found = await store.read(lambda: list(search.matches("number1", None, 5)))
        assert [(match.owner, match.message_id) for match in found] == [(C, 1)]
    finally:
        await store.close()


async def leave_open(directory: Path) -> Store:
    """A server with an open turn that has shown something."""
    dead = await open_store(directory)

    def admit() -> turns.Admission:
        counts = Counts("bytes", (1,))
        return turns.admit(dead.writer(NOW), T, C, turns.TurnRequest("r", user_message("q"), counts))

    lease = (await dead.run(admit)).lease
    assert lease is not None
    step = await dead.run(turns.begin_step, lease, T, turns.NewStep(0, "p", "m", 10, NOTHING), NOW)
    await dead.run(stream_journal.append, lease, T, step, [JournalEvent(EventType.TEXT, "half")], NOW)
    return dead


async def test_a_turn_of_a_dead_server_is_closed_with_what_it_had_shown(directory: Path) -> None:
    await (await leave_open(directory)).close()
    assert problems(await examine(directory)) == {"turns"}
    report = await repair(directory)
    assert [f.check for f in report.findings if f.verdict is Verdict.REPAIRED] == ["turns"]
    store = await open_store(directory)
    try:
        messages = await store.read(message_log.read, C, 8)
        assert [message.content.text for message in messages] == ["q", "half"]
    finally:
        await store.close()


async def test_while_a_server_holds_the_store_only_permissions_are_mended(directory: Path) -> None:
    change(directory, LEFTOVERS["previews"])
    store = await leave_open(directory)
    try:
        (directory / DATABASE_NAME).chmod(0o644)
        assert problems(await examine(directory)) == {"permissions", "previews"}
        report = await repair(directory)
        assert [f.check for f in report.findings if f.verdict is Verdict.REPAIRED] == ["permissions"]
        assert problems(report) == {"permissions", "previews", "repair"}
        assert [each.event.text for each in await store.read(stream_journal.read, T)] == ["half"]
    finally:
        await store.close()


async def test_an_older_store_is_not_looked_into(tmp_path: Path) -> None:
    make_old_store(tmp_path / "store").chmod(0o600)
    report = await examine(tmp_path / "store")
    assert {f.check: f.verdict for f in report.findings if f.verdict is not Verdict.OK} == {"schema": Verdict.UNKNOWN}


def test_the_commands_look_copy_and_say_how_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = home(tmp_path)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "project"
    folder.mkdir()
    assert main(["doctor", str(folder)]) == 2
    assert main(["backup", str(folder)]) == 1
    make_store = find_store(folder, environ)
    make_store.parent.mkdir(parents=True)
    make_old_store(make_store).chmod(0o600)
    assert main(["doctor", str(folder)]) == 2
    assert main(["backup", str(folder), "--output", str(tmp_path / "copy.db")]) == 0
    (make_store / DATABASE_NAME).chmod(0o640)
    capsys.readouterr()
    assert main(["doctor", str(folder), "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert {each["check"] for each in shown["findings"] if each["verdict"] == "problem"} == {"permissions"}
    assert main(["doctor", str(folder), "--repair"]) == 0
    said = capsys.readouterr().out
    assert "repaired  permissions" in said
    assert "repaired  schema" in said


async def test_calls_that_no_service_takes_as_they_are_are_told_and_stay(directory: Path) -> None:
    call = ToolCallPart("x", "read_file", '{"start_line": 1e400}')
    store = await open_store(directory)
    contents = [Content(Role.ASSISTANT, (call, ToolCallPart("y", "f", "{}"))), tool_result(call, "")]
    await store.run(message_log.append, C, contents, NOW)
    await store.close()
    for report in (await examine(directory), await repair(directory)):
        assert problems(report) == set()
        told = next(each.text for each in report.findings if each.check == "tool calls")
        assert told.startswith("The arguments of 1 tool call are not")
        assert "message 8 of conversation c" in told
