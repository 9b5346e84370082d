"""A connection that must show a token and does not is read for a megabyte and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.waiting import WAIT_S

from palimpsest.lsp.runtime.base import BaseServer
from palimpsest.lsp.runtime.transport import MAX_STRANGER_BYTES, serve
from palimpsest.wire.codec.framing import encode_frame

PIECE = 1 << 16


class Sent:
    """A writer that keeps frames."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.frames.append(data)

    async def finish(self, timeout_s: float) -> None:
        pass


async def heard(chunks: Iterator[bytes], token: str | None) -> int:
    """How many bytes are taken in before the connection ends."""
    server = BaseServer("stranger", "0")
    server.grace_s = 0.5
    server.token = token
    n_taken = 0

    async def read() -> bytes:
        nonlocal n_taken
        await asyncio.sleep(0)
        chunk = next(chunks, b"")
        n_taken += len(chunk)
        return chunk

    await asyncio.wait_for(serve(server, read, Sent()), WAIT_S)
    return n_taken


def test_one_frame_that_is_announced_as_large_is_not_waited_for() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"Content-Length: 50000000\r\n\r\n"
        while True:
            yield b"x" * PIECE

    assert asyncio.run(heard(chunks(), "token-of-the-user")) <= 2 * PIECE


def test_many_small_frames_are_too_much_too() -> None:
    frame = encode_frame(b"{}")

    def chunks() -> Iterator[bytes]:
        while True:
            yield frame * (PIECE // len(frame))

    assert asyncio.run(heard(chunks(), "token-of-the-user")) <= MAX_STRANGER_BYTES + 2 * PIECE


@pytest.mark.parametrize("length", [MAX_STRANGER_BYTES + 1, 10 * MAX_STRANGER_BYTES])
def test_an_editor_without_a_token_to_show_may_send_more(length: int) -> None:
    body = b" " * length
    whole = encode_frame(body)
    pieces = (whole[at : at + PIECE] for at in range(0, len(whole), PIECE))
    assert asyncio.run(heard(pieces, None)) == len(whole)
