"""A file that is imported is read piece by piece, and no further than a conversation can be long."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.conversation import import_files
from palimpsest.services.conversation.import_files import read_import
from palimpsest.services.conversation.recordings import load_recording


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_files, "_PIECE_BYTES", 100)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(lzma.compress(data) if path.suffix == ".xz" else data)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.xz"])
def test_a_line_that_is_no_message_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(import_files, "MAX_LINE_BYTES", 1000)
    with pytest.raises(InvalidRequest, match="a line of more than"):
        read_import(written(tmp_path / name, b"x\n" * 40 + b"x" * 5000))
    lines = (b"x" * 990 + b"\n") * 20
    assert read_import(written(tmp_path / name, lines)) == lines


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.xz"])
def test_a_file_that_is_no_conversation_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(import_files, "MAX_FILE_BYTES", 1000)
    with pytest.raises(InvalidRequest, match="holds more than"):
        read_import(written(tmp_path / name, b"x\n" * 5000))


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"role": "user", "content": 7}',
        '{"role": "user", "content": ["a"]}',
        '{"role": "assistant", "tool_calls": [7]}',
        '{"role": "assistant", "tool_calls": 7}',
        '{"role": "assistant", "tool_calls": [{"id": {}, "name": "x"}]}',
        '{"role": "tool", "tool_call_id": [], "content": "x"}',
        '{"role": []}',
        "7",
    ],
)
def test_a_recorded_line_of_another_shape_is_named(tmp_path: Path, line: str) -> None:
    file = written(tmp_path / "a.jsonl", f'{{"role": "user", "content": "x"}}\n{line}\n'.encode())
    with pytest.raises(InvalidRequest, match="Line 2 of"):
        load_recording(file)
