"""What an older version wrote opens with the code of today: its store, its exports and its settings.

`tests/data/old_version/README.md` says how the files were made.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import peewee
import pytest
from playhouse.migrations import Runner
from tests.services.scripted import Opener, open_bench, says

from palimpsest.app.settings_files import load_settings
from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.conversation.chain import first_broken
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import Content, ConversationId, TurnId
from palimpsest.machine import utc_now
from palimpsest.services.context.past_requests import past_request
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.conversation.transfer import Outcome, Transfers
from palimpsest.services.maintenance.health import examine
from palimpsest.storage import backups
from palimpsest.storage.context import cuts, injections, summary_tree
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.facts import facts
from palimpsest.storage.maintenance import folder_identity
from palimpsest.storage.maintenance.health import Verdict
from palimpsest.storage.store import open_store
from palimpsest.storage.turns import turns
from palimpsest.storage.upgrades import MIGRATIONS

OLD: Final = Path(__file__).parents[1] / "data" / "old_version"
EXPECTED: Final[dict[str, Any]] = json.loads((OLD / "expected.json").read_text("utf-8"))
PUMP, FORK, GAUGE = (ConversationId(EXPECTED[name]) for name in ("pump", "fork", "gauge"))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A copy of the old store."""
    made = tmp_path / "store"
    made.mkdir(mode=0o700)
    database = made / DATABASE_NAME
    database.write_bytes(gzip.decompress((OLD / "store.db.gz").read_bytes()))
    database.chmod(0o600)
    return made


def text_of(content: Content) -> str:
    return content.text + "".join(f"{each.name}({each.arguments})" for each in content.calls)


def read_conversations() -> dict[str, Any]:
    """In the form of `expected.json`."""
    found: dict[str, Any] = {}
    for record in conversations.list_all():
        cut = cuts.latest_cut(record.id)
        messages = message_log.read(record.id, 0)
        found[record.id] = {
            "title": record.title,
            "draft": record.draft,
            "is_archived": record.is_archived,
            "parent": record.parent,
            "messages": [
                "|".join([each.content.role.value, each.content.status.value, each.digest, text_of(each.content)])
                for each in messages
            ],
            "purged": [each.id for each in messages if each.purged is not None],
            "hidden": [[each.start, each.end] for each in hidden_ranges.read(record.id)],
            "summaries": [[each.start, each.end, each.text] for each in summary_tree.read(record.id)],
            "blocks": [] if cut is None else list(cut.blocks),
            "previews": 0 if cut is None else len(cuts.read_previews(record.id, cut.version)),
        }
        assert first_broken(messages) is None
    return found


async def test_everything_of_an_old_store_is_read_as_it_was_written(directory: Path) -> None:
    store = await open_store(directory)
    assert await store.read(read_conversations) == EXPECTED["conversations"]
    known = await store.read(facts.all_known)
    assert sorted([each.fact.fact_type.value, each.fact.content, each.is_open] for each in known) == EXPECTED["facts"]
    identity = await store.read(folder_identity.recall)
    assert identity is not None
    assert identity.path == "/home/ada/project"
    assert [path.name.split("-")[:2] for path in backups.kept(directory)] == [["migration", "0013"]]
    assert not store.mended
    await store.close()


async def test_the_doctor_finds_nothing_wrong_in_an_old_store_that_was_opened(directory: Path) -> None:
    store = await open_store(directory)
    await store.run(turns.recover, store.writer(utc_now()))
    await store.close()
    report = await examine(directory)
    assert {each.check: each.text for each in report.findings if each.verdict is not Verdict.OK} == {}


async def test_an_answer_that_an_old_server_was_giving_as_it_died_is_kept(directory: Path) -> None:
    store = await open_store(directory)
    before = EXPECTED["conversations"][GAUGE]["messages"]
    assert len(await store.run(turns.recover, store.writer(utc_now()))) == 1
    messages = await store.read(message_log.read, GAUGE, 0)
    assert [each.digest for each in messages[:-1]] == [each.split("|")[2] for each in before]
    kept = messages[-1].content
    assert (kept.role.value, kept.status.value, kept.text) == (
        "assistant",
        "interrupted",
        "The gauge needs two wires and ",
    )
    assert first_broken(messages) is None
    await store.close()


async def test_an_old_conversation_goes_on_with_its_summary_and_its_rules(directory: Path) -> None:
    b = await open_bench(directory, [says("Every minute.")])
    b.conversation_id = PUMP
    rules = await RuleCommands(b.session.contexts).rules(PUMP)
    assert [each.text for each in rules.whole.open_entries()] == EXPECTED["rules"]
    assert await b.ask("And how often is the flow measured?") == "committed"
    state = await b.session.contexts.state(PUMP)
    (summary,) = [piece for piece in state.pieces if isinstance(piece, SummaryPiece)]
    *_, (start, end, text) = EXPECTED["conversations"][PUMP]["summaries"]
    assert (summary.summary.start, summary.summary.end, summary.summary.text) == (start, end, text)
    sent = "\n".join(message.text for message in b.provider.seen[0].messages)
    assert "Never use tabs in this project." in sent
    assert "Rain is not counted." not in sent
    await b.session.folder.close()


async def test_what_was_recalled_before_notes_and_sent_requests_were_stored_is_still_sent(
    directory: Path, tmp_path: Path
) -> None:
    """A store of the last version before migration 0020, which had recalled text behind a message, in a running turn
    too."""
    migrations = tmp_path / "migrations"
    migrations.mkdir()
    for path in MIGRATIONS.glob("[0-9]*.py"):
        if path.name < "0020":
            shutil.copy(path, migrations)
    database = peewee.SqliteDatabase(str(directory / DATABASE_NAME))
    Runner(database, str(migrations)).up()
    database.close()
    with contextlib.closing(sqlite3.connect(directory / DATABASE_NAME)) as old, old:
        ((turn, asked),) = old.execute(
            "SELECT id, user_message_id FROM turn WHERE conversation = ? ORDER BY started_at DESC LIMIT 1", (GAUGE,)
        )
        old.execute(
            "INSERT INTO injection (conversation, turn, cut_version, kind, text, created_at) VALUES (?, ?, 0, ?, ?, ?)",
            (GAUGE, turn, "recall", "The gauge hangs in the north garden.", "2026-03-02T09:00:00.000Z"),
        )
    b = await open_bench(directory, [says("Two wires.")])
    b.conversation_id = GAUGE
    assert [path.name.split("-")[:2] for path in backups.kept(directory)] == [["migration", "0019"]]
    recalled = await b.store.read(injections.read, GAUGE, 0)
    assert recalled[asked].text == "The gauge hangs in the north garden."
    assert await b.store.read(injections.read_notes, GAUGE, 0) == {}
    await b.store.run(turns.recover, b.store.writer(utc_now()))
    with pytest.raises(InvalidRequest, match="by an earlier version"):
        await past_request(b.session.contexts, GAUGE, TurnId(turn), None)
    assert await b.ask("And how many wires?") == "committed"
    assert "north garden" in "\n".join(message.text for message in b.provider.seen[0].messages)
    report = await examine(directory)
    assert [each for each in report.findings if each.verdict is Verdict.PROBLEM] == []
    await b.session.folder.close()


async def test_old_exports_are_imported_with_the_digests_they_had(bench: Opener) -> None:
    b = await bench([])
    transfers = Transfers(b.session.conversations)
    for name, at in (("pump", PUMP), ("fork", FORK)):  # a fork keeps its id where its parent is
        imported = await transfers.import_text((OLD / f"{name}.jsonl").read_text("utf-8"))
        assert (imported.record.id, imported.outcome) == (at, Outcome.IMPORTED)
        messages = await b.store.read(message_log.read, at, 0)
        before = [each.split("|")[2] for each in EXPECTED["conversations"][at]["messages"]]
        assert [each.digest for each in messages] == before
        assert first_broken(messages) is None


async def test_an_old_store_holds_what_was_exported_of_it(directory: Path) -> None:
    b = await open_bench(directory)
    for name in ("pump", "fork"):
        imported = await Transfers(b.session.conversations).import_text((OLD / f"{name}.jsonl").read_text("utf-8"))
        assert imported.outcome is Outcome.PRESENT
    await b.session.folder.close()


def test_old_settings_are_read_with_the_values_they_had() -> None:
    environ, editor = {"PALIMPSEST_LIBRARIAN_RERANK": "no"}, {"context": {"target": 0.45}}
    settings = load_settings(OLD / "config.toml", OLD / "project.toml", environ, editor)
    read = json.loads(json.dumps(asdict(settings)))
    old = json.loads((OLD / "settings.json").read_text("utf-8"))
    assert _of_then(read, old) == old


def _of_then(read: Any, old: Any) -> Any:
    """What is read, without settings that there were not then."""
    return {name: _of_then(read[name], each) for name, each in old.items()} if isinstance(old, dict) else read
