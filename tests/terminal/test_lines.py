"""Standard input comes line by line, as it is there, without holding up anything else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest
from tests.waiting import WAIT_S

from palimpsest.terminal.lines import LineReader

TIMEOUT_S = WAIT_S


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


async def read_all(descriptor: int) -> list[bytes]:
    reader = LineReader(descriptor)
    lines = []
    while (line := await asyncio.wait_for(reader.next(), TIMEOUT_S)) is not None:
        lines.append(line)
    return lines


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        (b"", []),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"no end", [b"no end"]),
        (b"\n\r\na\r\n", [b"", b"", b"a"]),
        (b"\xff\x00\x1a\n", [b"\xff\x00\x1a"]),
    ],
)
async def test_lines_are_what_stands_between_line_feeds(
    pipe: tuple[int, int], written: bytes, lines: list[bytes]
) -> None:
    os.write(pipe[1], written)
    os.close(pipe[1])
    assert await read_all(pipe[0]) == lines


async def test_a_line_may_be_longer_than_any_buffer(pipe: tuple[int, int]) -> None:
    line = b"x" * 1_000_000

    def write() -> None:
        with os.fdopen(os.dup(pipe[1]), "wb") as file:
            file.write(line + b"\nend\n")

    writing = asyncio.create_task(asyncio.to_thread(write))
    os.set_blocking(pipe[0], True)
    reader = LineReader(pipe[0])
    assert await asyncio.wait_for(reader.next(), TIMEOUT_S) == line
    assert await asyncio.wait_for(reader.next(), TIMEOUT_S) == b"end"
    await writing


async def test_a_line_is_there_before_the_next_is_written(pipe: tuple[int, int]) -> None:
    reader = LineReader(pipe[0])
    for line in (b"first", b"second"):
        waiting = asyncio.create_task(reader.next())
        # The loop goes on while nothing is there to be read.
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "alive"), TIMEOUT_S) == "alive"
        assert not waiting.done()
        os.write(pipe[1], line + b"\n")
        assert await asyncio.wait_for(waiting, TIMEOUT_S) == line


async def test_a_source_without_end_is_not_read_ahead(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    written = 0

    def fill() -> int:
        count = 0
        try:
            while True:
                count += os.write(pipe[1], b"y\n" * 512)
        except BlockingIOError:
            return count

    reader = LineReader(pipe[0])
    written += fill()
    assert await asyncio.wait_for(reader.next(), TIMEOUT_S) == b"y"
    written += fill()
    # 64 KiB were taken to find one line; the rest still fills the pipe, and the next line needs nothing more of it.
    assert await asyncio.wait_for(reader.next(), TIMEOUT_S) == b"y"
    assert fill() == 0
    assert written > 0
