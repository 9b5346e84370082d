"""Replay: recordings of any shape become whole pairs, and a long turn stays answerable in a small window."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from palimpsest.cli import main
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import Role
from palimpsest.services.recordings import load_recording, to_steps
from palimpsest.services.replay import pairs_are_whole


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


@pytest.mark.parametrize(("name", "window"), [("turn.jsonl", 8_000), ("turn.jsonl.xz", 32_000)])
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
    assert report["recuts"]["threshold"] > 0
    assert report["prefix_share"] > 0.5


def test_the_table_has_a_row_for_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(write(tmp_path / f"{name}.jsonl", one_long_turn(3))) for name in ("one", "two")]
    assert main(["replay", *files]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["session", "one", "two"]
    assert all("verified" in row for row in rows[1:])


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
        ("", "holds no message"),
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


def test_a_file_that_is_not_there_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / "gone.jsonl")]) == 1
    assert "gone.jsonl cannot be read" in capsys.readouterr().err
