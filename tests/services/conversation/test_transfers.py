"""An exported conversation comes back whole, in this store or another; what is not sound leaves nothing behind."""

from __future__ import annotations

import asyncio
import itertools
import json
import lzma
import stat
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed
from tests.domain.exported import SECRET, SOUND, C, transfers
from tests.lsp.real_server import home
from tests.properties import examples
from tests.services.scripted import Bench, Opener, calls, open_bench, says
from tests.waiting import WAIT_S

from palimpsest.cli.main import main
from palimpsest.domain.conversation.chain import first_broken
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, MessageId, SummaryId, TurnId, user_message
from palimpsest.domain.models.provider import TextDelta
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.transfer.conversation import Transfer, as_copy
from palimpsest.domain.transfer.file_format import decode, encode
from palimpsest.machine import utc_now
from palimpsest.services.conversation.pending_work import do_pending_work
from palimpsest.services.conversation.transfer import Outcome, Transfers
from palimpsest.services.events import ConversationChanged
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage import leases, tables
from palimpsest.storage.conversation import message_log, pending_work, search
from palimpsest.storage.conversation.pending_work import Kind
from palimpsest.storage.lifecycle import purge as purging

CALL = {"id": "1", "name": "read", "arguments": "{}"}
RECORDING = [
    {"meta": {"source": "made up"}},
    {"role": "user", "content": "Fix the parser."},
    {"role": "assistant", "content": "", "tool_calls": [CALL, {**CALL, "id": "2"}]},
    {"role": "tool", "content": "out", "tool_call_id": "1"},
    {"role": "assistant", "content": "done"},
]
TABLES = (
    *(tables.Conversation, tables.Message, tables.Turn, tables.Summary, tables.Hidden, tables.Expansion),
    *(tables.Cut, tables.Preview, tables.Withdrawal, tables.Meta),
)


CARRIED = {
    tables.Conversation: "id title has_user_title model created_at parent fork_message_id is_archived draft",
    tables.Message: "conversation message_id created_at turn content_digest digest content purged_role",
    tables.Turn: "id conversation user_message_id state model stop_reason error_kind error_message started_at ended_at",
    tables.Summary: "id conversation start_message_id end_message_id level kind text original_tokens author children "
    "duration_ms input_tokens output_tokens created_at",
    tables.Hidden: "conversation start_message_id end_message_id last_summary created_at",
    tables.Expansion: "conversation start_message_id end_message_id",
    tables.Withdrawal: "conversation message_id rule created_at",
    tables.Cut: "conversation version cause model factor sigma overhead frame_digest end_message_id blocks saved "
    "tokens_before tokens_after duration_ms front left_out created_at",
    tables.Preview: "conversation cut_version message_id content",
    tables.StandIn: "conversation message_id content",
}
"""Columns that a file holds, in whatever form."""
LEFT_OUT = {
    tables.Conversation: "next_message_id head_digest change_seq updated_at layout",
    tables.Message: "id step digest_version author",
    tables.Turn: "request_id next_seq resolution goes_on_behind cancel_requested",
    tables.Hidden: "id",
    tables.Lease: "conversation epoch server holder acquired_at",
    tables.Injection: "id conversation turn cut_version kind text created_at message_id is_ended",
    tables.RuleMark: "conversation reader until message_ids",
    tables.SharedConversation: "conversation hub incarnation member team channel hub_seq n_pushed title root home "
    "shares_results",
    tables.SharedEntry: "conversation kind entry_key",
    tables.FormerSharing: "conversation hub member team n_messages",
    tables.PurgeIntent: "id conversation start_message_id end_message_id",
    tables.ModelCall: "id at conversation step purpose provider model input_tokens cache_read_tokens "
    "cache_write_tokens output_tokens is_estimated nanodollars",
    tables.RefusedSummary: "id conversation input_tokens output_tokens duration_ms created_at",
}
"""Columns that follow from the rest, or mean nothing elsewhere."""


async def echo(arguments: str) -> ToolOutput:
    return ToolOutput(arguments * 20)


TOOLS = (Tool(ToolSchema("echo", "echo", {"type": "object"}), echo),)


async def talk(bench: Opener) -> Bench:
    """A conversation with tool work, two levels of summaries, something expanded and something rolled back."""
    replies = [[calls((f"c{n}", "echo", f"{{{n}}}")), says(f"Answer {n}. " * 60)] for n in range(6)]
    b = await bench([reply for pair in replies for reply in pair], window=32_000, tools=TOOLS)
    for number in range(6):
        await b.ask(f"Question {number}. " * 30)
    conversations, conversation_id = b.session.conversations, b.conversation_id
    await conversations.summarize(conversation_id, (MessageId(0), MessageId(8)))
    second = await conversations.summarize(conversation_id, (MessageId(8), MessageId(16)))
    assert second.block is not None
    await conversations.expand(conversation_id, SummaryId(second.block.summary.id))
    await conversations.roll_back(conversation_id, MessageId(20))
    b.provider.replies = [says("Once more. " * 40)]
    await b.ask("Another way")
    return b


def of(b: Bench) -> Transfers:
    return Transfers(b.session.conversations)


async def shown(b: Bench, conversation_id: ConversationId) -> list[object]:
    """The contents that a request would hold."""
    state = await b.session.contexts.state(conversation_id)
    return [(piece.start, piece.end, piece.content) for piece in state.pieces]


async def is_verified(b: Bench, conversation_id: ConversationId) -> bool:
    messages = await b.store.read(message_log.read, conversation_id, 0)
    return first_broken(messages) is None


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def row_counts(b: Bench) -> list[int]:
    def read() -> list[int]:
        return [table.select().count() for table in TABLES]

    return await b.store.read(read)


@pytest.mark.hypothesis  # the property is inside
def test_any_sound_conversation_is_exported_as_it_was_imported_byte_for_byte() -> None:
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        b = runner.run(open_bench(Path(directory)))
        numbers = itertools.count()

        @seed(20260731)
        @examples(20)
        @given(transfers())
        def comes_back(made: Transfer) -> None:
            name = f"c{next(numbers)}"  # one store for all, so each has ids of its own
            transfer = as_copy(made, ConversationId(name), {t.id: TurnId(f"{name}/{t.id}") for t in made.turns})
            transfer = replace(transfer, header=replace(transfer.header, origin=made.header.origin))
            text = encode(transfer)
            imported = runner.run(of(b).import_text(text))
            assert imported.outcome is Outcome.IMPORTED
            assert imported.record.id == transfer.header.id
            assert runner.run(of(b).export(imported.record.id)).text == text
            assert runner.run(of(b).import_text(text)).outcome is Outcome.PRESENT

        try:
            comes_back()
        finally:
            runner.run(b.session.folder.close())


def test_every_column_of_a_conversation_is_in_the_file_or_left_out_on_purpose() -> None:
    """A column that is added is carried by `storage/lifecycle/transfer`, or named here: exports would lose it."""
    models: list[Any] = [each for each in vars(tables).values() if isinstance(each, type) and hasattr(each, "_meta")]
    known: dict[Any, list[str]] = {model: [] for model in models}
    for columns in (CARRIED, LEFT_OUT):
        for model, names in columns.items():
            known[model] += names.split()
    for model in models:
        if model is tables.Conversation or "conversation" in model._meta.fields:
            assert sorted(model._meta.fields) == sorted(known[model]), model.__name__


async def test_another_store_shows_the_same_context_and_goes_on_from_it(bench: Opener) -> None:
    b = await talk(bench)
    text = (await of(b).export(b.conversation_id)).text
    kinds = [json.loads(line).get("type") for line in text.splitlines()]
    assert {"message", "turn", "summary", "hidden", "expansion", "cut"} <= set(kinds)
    other = await bench([says("Here I am.")], window=32_000, tools=TOOLS)
    imported = await of(other).import_text(text)
    assert (imported.outcome, imported.record.id) == (Outcome.IMPORTED, b.conversation_id)
    assert await is_verified(other, b.conversation_id)
    assert (await of(other).export(b.conversation_id)).text == text
    assert await shown(other, b.conversation_id) == await shown(b, b.conversation_id)
    before = (await b.session.conversations.read(b.conversation_id, None, 1000)).messages
    other.conversation_id = b.conversation_id
    assert await other.ask("And here?") == "committed"
    after = (await other.session.conversations.read(b.conversation_id, None, 1000)).messages
    assert after[: len(before)] == before
    assert first_broken(after) is None
    assert len(after) == len(before) + 2


async def test_the_same_conversation_is_not_stored_twice(bench: Opener) -> None:
    b = await bench([])
    await of(b).import_text(encode(SOUND))
    counts = await row_counts(b)
    imported = await of(b).import_text(encode(SOUND))
    assert (imported.outcome, imported.record.id) == (Outcome.PRESENT, C)
    assert await row_counts(b) == counts


async def test_another_state_of_it_becomes_a_copy_that_verifies_and_changes_nothing(bench: Opener) -> None:
    b = await talk(bench)
    text = (await of(b).export(b.conversation_id)).text
    b.provider.replies = [says("Later.")]
    await b.ask("One more")
    now = (await of(b).export(b.conversation_id)).text
    imported = await of(b).import_text(text)
    assert imported.outcome is Outcome.COPIED
    assert "as a copy" in imported.note
    copy_id = imported.record.id
    assert await is_verified(b, copy_id)
    assert (await of(b).export(b.conversation_id)).text == now
    source, copy = decode(text), decode((await of(b).export(copy_id)).text)
    assert copy.header.origin is not None
    assert (copy.header.origin.id, copy.header.origin.digest) == (b.conversation_id, source.messages[-1].digest)
    assert [message.content for message in copy.messages] == [message.content for message in source.messages]
    same = ("summaries", "hidden", "expansions", "withdrawals", "cuts", "previews")
    assert [getattr(copy, name) for name in same] == [getattr(source, name) for name in same]
    assert len(copy.turns) == len(source.turns)
    assert not {turn.id for turn in copy.turns} & {turn.id for turn in source.turns}


async def test_a_fork_is_exported_whole(bench: Opener) -> None:
    b = await talk(bench)
    fork = await b.session.conversations.fork(b.conversation_id, MessageId(13), "fork")
    parent, b.conversation_id = b.conversation_id, fork.id
    b.provider.replies = [says("Elsewhere.")]
    await b.ask("What if?")
    text, parents = (await of(b).export(fork.id)).text, (await of(b).export(parent)).text
    said = [message.content for message in decode(text).messages]
    alone = await bench([])
    copy = await of(alone).import_text(text)
    assert (copy.outcome, copy.record.parent) == (Outcome.COPIED, None)
    assert [m.content for m in await alone.session.folder.store.read(message_log.read, copy.record.id, 0)] == said
    assert await is_verified(alone, copy.record.id)
    both = await bench([])
    assert (await of(both).import_text(parents)).outcome is Outcome.IMPORTED
    again = await of(both).import_text(text)
    assert (again.outcome, again.record.id, again.record.parent) == (Outcome.IMPORTED, fork.id, parent)
    assert await is_verified(both, fork.id)
    assert (await of(both).export(fork.id)).text == text
    assert await shown(both, fork.id) == await shown(b, fork.id)


async def test_a_turn_that_ran_while_its_conversation_was_exported_comes_with_a_fork_of_it(bench: Opener) -> None:
    b = await talk(bench)
    parent, fork = b.conversation_id, await b.session.conversations.fork(b.conversation_id, MessageId(13), "fork")
    whole = decode((await of(b).export(parent)).text)
    text = (await of(b).export(fork.id)).text
    last = decode(text).turns[-1]
    early = encode(replace(whole, turns=tuple(turn for turn in whole.turns if turn != last)))
    other = await bench([])
    assert (await of(other).import_text(early)).outcome is Outcome.IMPORTED
    assert (await of(other).import_text(text)).outcome is Outcome.IMPORTED
    assert (await of(other).export(fork.id)).text == text
    assert decode((await of(other).export(parent)).text).turns == whole.turns


async def test_an_export_in_the_middle_of_a_turn_holds_whole_steps_and_goes_on_elsewhere(bench: Opener) -> None:
    b = await bench([], tools=TOOLS)
    seen = list[str]()
    gate, is_there = asyncio.Event(), asyncio.Event()
    b.provider.replies = [calls(("c", "echo", "{}")), [TextDelta("half of "), is_there.set, gate, *says("it")]]
    running = await b.session.turns.start(b.conversation_id, "r", user_message("Look."))
    assert not isinstance(running, str)
    await asyncio.wait_for(is_there.wait(), WAIT_S)
    seen.append((await of(b).export(b.conversation_id)).text)
    gate.set()
    assert (await running.wait()).state.value == "committed"
    seen.append((await of(b).export(b.conversation_id)).text)
    other = await bench([says("Again.")], tools=TOOLS)
    halfway = await of(other).import_text(seen[0])
    assert halfway.outcome is Outcome.IMPORTED
    kept = await other.store.read(message_log.read, halfway.record.id, 0)
    assert [message.content.role.value for message in kept] == ["user", "assistant", "tool"]
    assert await is_verified(other, halfway.record.id)
    later = await of(other).import_text(seen[1])
    assert (later.outcome, later.record.n_messages) == (Outcome.COPIED, 4)
    assert await is_verified(other, later.record.id)
    other.conversation_id = halfway.record.id
    assert await other.ask("Go on.") == "committed"


async def test_a_purged_message_travels_as_its_digests(bench: Opener) -> None:
    b = await bench([])
    await of(b).import_text(encode(SOUND))

    store = b.store

    def purge() -> None:
        done = purging.purge(store.writer(utc_now()), C, (MessageId(3), MessageId(4)))
        for lease in done.held:
            leases.release(lease)

    await store.run(purge)
    text = (await of(b).export(C)).text
    purged = decode(text).messages
    assert [message.id for message in purged if message.content is None] == [3]
    assert [message.digest for message in purged] == [message.digest for message in SOUND.messages]
    other = await bench([])
    assert (await of(other).import_text(text)).outcome is Outcome.IMPORTED
    assert (await of(other).export(C)).text == text
    copied = await of(other).import_text(encode(SOUND))
    assert copied.outcome is Outcome.COPIED
    assert (await of(other).export(C)).text == text, "an import brought back what was purged"


async def test_what_is_imported_is_found_by_search(bench: Opener) -> None:
    b = await bench([])
    await of(b).import_text(encode(SOUND))
    await do_pending_work(b.store)
    query = search.to_query(SECRET)
    assert query is not None
    found = await b.store.read(lambda: list(search.matches(query.strict, None, 10)))
    assert [(match.owner, match.message_id) for match in found] == [(C, 0)]


async def test_a_cut_short_or_garbled_file_leaves_nothing_behind(bench: Opener, tmp_path: Path) -> None:
    b = await bench([])
    counts = await row_counts(b)
    data = encode(SOUND).encode()
    middle = len(data) // 2
    garbled = {
        "cut short in a line": data[:middle],
        "cut short behind a line": data[: data.rindex(b"\n", 0, middle) + 1],
        "cut short behind the last but one line": data[: data.rindex(b"\n", 0, -1) + 1],
        "a byte that is no UTF-8": data[:middle] + b"\xff" + data[middle + 1 :],
        "another letter": data.replace(SECRET.encode(), b"hunter3", 1),
        "lines in another order": b"\n".join([*data.splitlines()[:3], *reversed(data.splitlines()[3:])]),
        "zeros": data[:middle] + bytes(100) + data[middle + 100 :],
    }
    for name, each in garbled.items():
        file = tmp_path / f"{name}.jsonl"
        file.write_bytes(each)
        with pytest.raises(InvalidRequest, match=r"^Line \d+: .* Nothing was imported\.$") as caught:
            await of(b).import_file(file)
        assert SECRET not in str(caught.value)
        assert await row_counts(b) == counts, name


async def test_the_file_is_private_and_nothing_is_overwritten_unasked(bench: Opener, tmp_path: Path) -> None:
    b = await bench([])
    await of(b).import_text(encode(SOUND))
    file = tmp_path / "out" / "a.jsonl"
    file.parent.mkdir()
    await of(b).export_to(C, file, overwrites=False)
    assert file.read_text() == encode(SOUND)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("mine")
    with pytest.raises(InvalidRequest, match="exists already"):
        await of(b).export_to(C, file, overwrites=False)
    assert file.read_text() == "mine"
    file.chmod(0o644)
    await of(b).export_to(C, file, overwrites=True)
    assert file.read_text() == encode(SOUND)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(InvalidRequest, match="cannot be written"):
        await of(b).export_to(C, tmp_path / "gone" / "a.jsonl", overwrites=True)
    with pytest.raises(InvalidRequest, match="cannot be written"):
        await of(b).export_to(C, file.parent, overwrites=True)
    with pytest.raises(NotFound):
        await of(b).export_to(ConversationId("nobody"), file, overwrites=True)
    assert names_in(file.parent) == ["a.jsonl"], "a part of a file was left"
    assert not any(name.startswith(".") for name in names_in(tmp_path))


async def test_a_file_is_imported_plain_or_compressed(bench: Opener, tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.xz"
    plain.write_text(encode(SOUND))
    packed.write_bytes(lzma.compress(encode(SOUND).encode()))
    b = await bench([])
    assert (await of(b).import_file(packed)).outcome is Outcome.IMPORTED
    assert (await of(b).import_file(plain)).outcome is Outcome.PRESENT
    packed.write_bytes(packed.read_bytes()[:-20])
    for file in (packed, tmp_path / "gone.jsonl", tmp_path):
        with pytest.raises(InvalidRequest):
            await of(b).import_file(file)


@pytest.mark.parametrize("name", ["session.jsonl", "session.jsonl.xz"])
async def test_a_recorded_session_becomes_a_conversation(bench: Opener, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    data = "\n".join(json.dumps(line) for line in RECORDING).encode()
    file.write_bytes(lzma.compress(data) if name.endswith(".xz") else data)
    b = await bench([says("Going on.")])
    imported = await of(b).import_file(file)
    assert (imported.outcome, imported.record.title) == (Outcome.RECORDED, "Fix the parser.")
    assert "for 1 missing part of tool calls" in imported.note
    assert await is_verified(b, imported.record.id)
    b.conversation_id = imported.record.id
    roles = [role for role, _, _ in await b.said()]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    assert await b.ask("Go on") == "committed"
    with pytest.raises(InvalidRequest, match="not an exported conversation"):
        await of(b).import_text(data.decode())


def test_the_command_exports_and_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder, file, out = tmp_path / "folder", tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    folder.mkdir()
    file.write_text(encode(SOUND))
    assert main(["import", str(file), "--folder", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == C
    assert main(["export", C, "--folder", str(folder)]) == 0
    assert capsys.readouterr().out == encode(SOUND)
    assert main(["export", "--folder", str(folder)]) == 0
    listed = capsys.readouterr().out
    assert listed.split()[:2] == ["1", C[:8]]
    title = " ".join(listed.split()[2:4])
    for meant in ("1", C[:8], title):
        assert main(["export", meant, "--folder", str(folder)]) == 0
        assert capsys.readouterr().out == encode(SOUND)
    arguments = ["export", C, "--folder", str(folder), "--output", str(out)]
    assert main(arguments) == 0
    assert out.read_text() == encode(SOUND)
    assert main(arguments) == 1
    assert main([*arguments, "--overwrite"]) == 0
    assert main(["export", "nobody", "--folder", str(folder)]) == 1
    file.write_text(encode(SOUND)[:-40])
    assert main(["import", str(file), "--folder", str(folder)]) == 1
    sentences = capsys.readouterr().err.splitlines()
    assert [any(what in each for each in sentences) for what in ("exists already", "nobody", "Line ")] == [True] * 3


async def test_an_import_whose_request_is_cut_off_is_told_and_can_be_found(bench: Opener) -> None:
    b = await bench([])
    told = asyncio.Event()
    b.session.folder.listeners.add(lambda event: told.set() if event == ConversationChanged(C) else None)
    request = asyncio.create_task(of(b).import_text(encode(SOUND)))
    for _ in range(1_000):
        if await b.session.conversations.holds(C):
            break
    request.cancel()
    await asyncio.wait([request])
    await asyncio.wait_for(told.wait(), 30)
    for _ in range(10_000):
        if not await b.store.read(pending_work.n_left, Kind.INDEX):
            return
    raise AssertionError("the messages were never indexed")
