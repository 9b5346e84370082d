"""Replay: recordings of any shape become whole pairs, a long turn stays answerable in a small window, and every
request whose prefix broke is accounted for and priced."""

from __future__ import annotations

import json
import lzma
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.domain.exported import SOUND, transfers
from tests.services.scripted import Opener
from tests.slow import slow

from palimpsest.cli.main import main
from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import Content, Role, TextPart, ToolResultPart, user_message
from palimpsest.domain.transfer.conversation import Transfer
from palimpsest.domain.transfer.file_format import encode
from palimpsest.machine import utc_now
from palimpsest.services.context.requests import Requests
from palimpsest.services.conversation.recordings import from_export, load_recording, to_steps
from palimpsest.services.maintenance.prices import NewestFirst, PricedRequests
from palimpsest.services.maintenance.replay import ReplayReport, RequestChecker, pairs_are_whole
from palimpsest.storage import leases
from palimpsest.storage.conversation import message_log


def call(call_id: str, name: str = "read") -> dict[str, str]:
    return {"id": call_id, "name": name, "arguments": '{"path": "src/app.py"}'}


def one_long_turn(n_steps: int) -> list[dict[str, object]]:
    """One user message, then model calls with results: what a coding agent does."""
    lines: list[dict[str, object]] = [{"role": "user", "content": "Fix the parser. Never use tabs."}]
    for n in range(n_steps):
        lines.append({"role": "assistant", "content": f"Step {n}.", "tool_calls": [call(f"a{n}"), call(f"b{n}")]})
        for prefix in "ab":
            text = f"{prefix}{n}: " + "def parse_block(): ...\n" * (5 + n * 37 % 90)
            lines.append({"role": "tool", "content": text, "tool_call_id": f"{prefix}{n}"})
    return lines


def write(path: Path, lines: list[dict[str, object]]) -> Path:
    text = "\n".join(json.dumps(line) for line in [{"meta": {"source": "made up"}}, *lines])
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
    return path


@pytest.mark.parametrize(("name", "window"), [slow("turn.jsonl", 8_000), ("turn.jsonl.xz", 32_000)])
def test_a_long_turn_replays_without_a_broken_invariant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, window: int
) -> None:
    file = write(tmp_path / name, one_long_turn(120))
    assert main(["replay", str(file), "--window", str(window), "--reserve", "1000", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["violations"] == []
    assert (report["n_recorded"], report["n_messages"], report["n_requests"]) == (361, 361, 120)
    assert report["is_verified"] is True
    assert 0 < report["highest_use"] <= 1
    assert report["compactions"]["threshold"] > 0
    assert report["prefix_share"] > 0.5
    assert report["n_exchanges"] == 121
    assert 0 < len(report["breaks"]) <= sum(report["compactions"].values())
    assert all(each["cause"] == "threshold" for each in report["breaks"])
    assert all(0 < each["kept_tokens"] < each["total_tokens"] for each in report["breaks"])
    changed = report["prompt_tokens"] - report["unchanged_tokens"]
    assert report["price"] == pytest.approx(0.1 * report["unchanged_tokens"] + 1.25 * changed)
    assert report["price_ratio"] == pytest.approx(report["price"] / report["newest_first_price"], abs=1e-4)


def test_the_table_has_a_row_for_each_file_and_the_sum_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(write(tmp_path / f"{name}.jsonl", one_long_turn(3))) for name in ("one", "two")]
    assert main(["replay", *files]) == 0
    header, *rows, legend = (line.split() for line in capsys.readouterr().out.splitlines())
    assert [row[0] for row in rows] == ["one", "two", "all"]
    assert all(row[-1] == "verified" for row in rows)
    for name in ("messages", "exchanges", "tokens", "requests"):
        one, two, total = (int(row[header.index(name) - len(header)]) for row in rows)
        assert one + two == total > 0
    assert legend[0] == "Prices"


def test_every_broken_prefix_is_printed_with_its_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", str(write(tmp_path / "turn.jsonl", one_long_turn(30))), "--window", "8000"]
    assert main([*arguments, "--json"]) == 0
    breaks = json.loads(capsys.readouterr().out)["breaks"]
    assert breaks
    assert main(arguments) == 0
    printed = [line.strip() for line in capsys.readouterr().out.splitlines() if "prefix broken" in line]
    assert printed == [
        f"prefix broken before message {each['before']} of turn: compaction by {each['cause']}, "
        f"{each['kept_tokens']:,} of {each['total_tokens']:,} tokens kept"
        for each in breaks
    ]


def test_long_sessions_are_summed_up_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair: list[dict[str, object]] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    files = [str(write(tmp_path / f"{n}.jsonl", pair * n)) for n in (49, 50)]
    assert main(["replay", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("1 with at least 100 exchanges") for line in lines) == 1
    assert sum("(50)" in line and "lowest prefix" in line for line in lines) == 1


def test_the_context_before_a_message_is_shown_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write(tmp_path / "turn.jsonl", one_long_turn(30)))
    assert main(["replay", file, "--window", "8000", "--reserve", "1000", "--show", "70"]) == 0
    page = capsys.readouterr().out
    assert page.count("Never use tabs.") >= 1
    assert "## Summary 1: messages 1 to " in page
    shown = [int(number) for number in re.findall(r"(?m)^- \[(\d+)\] (?:user|assistant|tool): ", page)]
    assert shown == sorted(set(shown))
    assert shown[0] == 0, "the running request is live"
    assert 60 < shown[-1] < 70
    assert main(["replay", file, "--show", "91"]) == 1
    assert "its messages are 0 to 90" in capsys.readouterr().err
    assert main(["replay", file, file, "--show", "1"]) == 1
    assert "Give one file" in capsys.readouterr().err


async def test_a_prefix_that_breaks_without_a_compaction_is_a_violation(bench: Opener) -> None:
    session = (opened := await bench([])).session
    store, engine = session.folder.store, session.contexts
    lease = await store.run(leases.acquire, store.writer(utc_now()), opened.conversation_id, "a test")
    context = await engine.hold(lease)
    state, requests = context.state, Requests(engine)
    report = ReplayReport("made up", 3, 0)
    checker = RequestChecker(state, report)
    for text in ("one", "two", "three"):
        accepted = await engine.accept(state, [user_message(text)])
        stored = await store.run(message_log.append, state.id, accepted.contents, utc_now(), counts=accepted.counts)
        engine.appended(state, stored, accepted)
        checker.check(await requests.prepare(context, state.budget.budget))
    assert (report.violations, report.breaks) == ([], [])

    first = state.pieces[0]
    assert isinstance(first, MessagePiece)
    state.pieces[0] = replace(first, preview=user_message("something else"), preview_tokens=6)
    checker.check(await requests.prepare(context, state.budget.budget))
    assert report.violations == ["before message 3: the prefix broke without a compaction"]
    assert report.breaks == []


def said(text: str) -> Content:
    return Content(Role.ASSISTANT, (TextPart(text),))


def test_what_stands_unchanged_is_priced_as_read_and_the_rest_as_written() -> None:
    requests = PricedRequests()
    first = requests.add(["system", "a"], [10, 100])
    assert (first.kept_tokens, first.total_tokens, first.is_broken) == (0, 110, False)
    second = requests.add(["system", "a", "b"], [10, 100, 30])
    assert (second.kept_tokens, second.total_tokens, second.is_broken) == (110, 140, False)
    third = requests.add(["system", "c", "b"], [10, 20, 30])
    assert (third.kept_tokens, third.total_tokens, third.is_broken) == (10, 60, True)
    assert requests.price == pytest.approx(1.25 * (110 + 30 + 50) + 0.1 * (110 + 10))


def test_newest_first_keeps_whole_exchanges_behind_the_head_and_breaks_when_one_leaves() -> None:
    truncated = NewestFirst()
    truncated.append([said("a")], [40])
    truncated.append([said("b"), said("c")], [30, 30])
    whole = truncated.request(["system"], [10], 110)
    assert (whole.total_tokens, whole.is_broken) == (110, False)
    truncated.append([said("d")], [20])
    slid = truncated.request(["system"], [10], 110)  # a leaves; b and c come and go together
    assert (slid.total_tokens, slid.kept_tokens, slid.is_broken) == (90, 10, True)
    assert truncated.request(["system"], [10], 89).total_tokens == 30
    assert truncated.request(["system"], [10], 20).total_tokens == 10


MESSY: list[dict[str, Any]] = [
    {"role": "user", "content": "q"},
    {"role": "tool", "content": "a result before any call"},
    {"role": "assistant", "content": "", "tool_calls": [call("1")]},
    {"role": "tool", "content": "no id"},
    {"role": "assistant", "content": "", "tool_calls": [call("2")]},
    {"role": "assistant", "content": "", "tool_calls": [call("3")]},
    {"role": "tool", "content": "three", "tool_call_id": "3"},
    {"role": "tool", "content": "two", "tool_call_id": "2"},
    {"role": "tool", "content": "nobody asked", "tool_call_id": "99"},
    {
        "role": "assistant",
        "content": "t",
        "tool_calls": [call("never answered"), {"id": "d", "name": "x", "arguments": {}}],
    },
    {"role": "user", "content": None},
    {"role": "assistant", "content": ""},
]


def test_a_messy_recording_becomes_whole_pairs_with_nothing_dropped() -> None:
    recording = to_steps([line | {"role": Role(str(line["role"]))} for line in MESSY])
    contents = [content for step in recording.steps for content in step]
    assert all(pairs_are_whole(step) for step in recording.steps)
    texts = [content.text or "".join(r.text for r in content.results) for content in contents]
    for line in MESSY:
        assert (line["content"] or "") in texts
    assert recording.n_mended == 4


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no message"),
        ("not json", "Line 1"),
        ('{"role": "robot", "content": ""}', "Line 1"),
        ("[1]", "Line 1"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(text)
    with pytest.raises(InvalidRequest, match=sentence):
        load_recording(file)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--window", "1000", "--reserve", "1000"], "larger window or a smaller reserve"),
        (["--window", "0"], "at least 1"),
        (["--model", "frobnicator"], "no model 'frobnicator'"),
    ],
)
def test_bad_options_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    file = write(tmp_path / "a.jsonl", one_long_turn(1))
    assert main(["replay", str(file), *options]) == 1
    assert sentence in capsys.readouterr().err


def test_an_exported_conversation_is_replayed_without_what_was_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "exported.jsonl"
    file.write_text(encode(SOUND), encoding="utf-8")
    assert main(["replay", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["n_recorded"], report["n_messages"], report["violations"]) == (4, 4, [])


@given(transfers())
def test_whatever_was_exported_is_replayed_as_whole_pairs(transfer: Transfer) -> None:
    try:
        recording = from_export(transfer)
    except InvalidRequest:
        hidden = {each for line in transfer.hidden for each in range(line.start, line.end)}
        assert all(line.content is None or line.id in hidden for line in transfer.messages)
        return
    for step in recording.steps:
        calls = [call.call_id for content in step for call in content.calls]
        parts = [part for content in step for part in content.parts]
        assert sorted(calls) == sorted(part.call_id for part in parts if isinstance(part, ToolResultPart))


def test_a_file_that_is_not_there_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / "gone.jsonl")]) == 1
    assert "There is no file" in capsys.readouterr().err
