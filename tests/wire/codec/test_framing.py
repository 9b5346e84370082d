"""Frames: however a stream is cut into chunks, the same bodies come out; what cannot be followed is refused at once."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from palimpsest.wire.codec.framing import MAX_BODY_BYTES, MAX_HEADER_BYTES, FrameDecoder, FramingError, encode_frame

BODIES = [b'{"a":1}', b"", b"\r\n\r\n", b"Content-Length: 3\r\n\r\nabc", "é\U0001f389".encode()]


def decode(*chunks: bytes) -> list[bytes]:
    decoder = FrameDecoder()
    return [body for chunk in chunks for body in decoder.feed(chunk)]


def test_every_split_at_one_byte_gives_the_same_bodies() -> None:
    stream = b"".join(map(encode_frame, BODIES))
    for at in range(len(stream) + 1):
        assert decode(stream[:at], stream[at:]) == BODIES


def test_bytes_that_come_one_by_one_give_the_same_bodies() -> None:
    stream = b"".join(map(encode_frame, BODIES))
    assert decode(*(stream[at : at + 1] for at in range(len(stream)))) == BODIES


@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(0, 500), max_size=12))
def test_any_split_gives_the_same_bodies(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(encode_frame, bodies))
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    assert decode(*(stream[a:b] for a, b in itertools.pairwise(places))) == bodies


PIECES = [
    b"Content-Length: 3",
    b"content-length:",
    b"1",
    b"-",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b"abc",
    b"X: y",
    b":",
]


@examples(500)
@given(
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=12), st.lists(st.integers(0, 300), max_size=5)
)
def test_any_bytes_give_bodies_or_one_framing_error(chunks: list[bytes], cuts: list[int]) -> None:
    """Whatever is fed: no other exception, and the verdict does not depend on the split."""

    def verdict(parts: list[bytes]) -> tuple[list[bytes], str | None]:
        decoder, bodies = FrameDecoder(), []
        for part in parts:
            try:
                bodies += decoder.feed(part)
            except FramingError as error:
                return bodies + error.bodies, str(error)
        return bodies, None

    stream = b"".join(chunks)
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    assert verdict([stream]) == verdict([stream[a:b] for a, b in itertools.pairwise(places)])


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: 2\r\n\r\n",
        b"CONTENT-LENGTH:2\r\n\r\n",
        b"Content-Length: \t 2 \r\n\r\n",
        b"Content-Length: 002\r\n\r\n",
        b"X-Trace: a: b\r\nContent-Length: 2\r\nAccept:\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc;charset=UTF8\r\n\r\n",
        b'content-type: application/vscode-jsonrpc; x=y; charset="utf-8"\r\nContent-Length: 2\r\n\r\n',
        b"Content-Length: 2\r\nContent-Type: text/plain\r\n\r\n",
    ],
)
def test_a_header_block_may_be_written_in_these_ways(header: bytes) -> None:
    assert decode(header + b"{}" + encode_frame(b"next")) == [b"{}", b"next"]


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        (b"\r\n", "no Content-Length"),
        (b"Content-Type: application/vscode-jsonrpc\r\n\r\n", "no Content-Length"),
        (b"Content-Length: -1\r\n", "negative"),
        (b"Content-Length: \r\n", "not a number"),
        (b"Content-Length: +5\r\n", "not a number"),
        (b"Content-Length: 5.0\r\n", "not a number"),
        (b"Content-Length: 0x5\r\n", "not a number"),
        (b"Content-Length: 5 5\r\n", "not a number"),
        ("Content-Length: \u0665\r\n".encode(), "not a header"),
        (b"Content-Length: 5\r\ncontent-length: 6\r\n", "differ"),
        (b"Content-Length: %d\r\n" % (MAX_BODY_BYTES + 1), "longer than 256 MiB"),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n", "longer than 256 MiB"),
        (b"Content-Length: 5\r\nContent-Type: a/b; charset=latin-1\r\n", "charset"),
        (b"Content-Length: 5\r\nContent-Type: a/b; charset=\r\n", "charset"),
        (b"Content-Length: 5\n", "CR LF"),
        (b"Content-Length: 5\r\r\n", "CR LF"),
        (b"\n", "CR LF"),
        (b'{"jsonrpc":"2.0"}\r\n', "not a header"),
        (b"a stray print\r\n", "not a header"),
        (b": 5\r\n", "not a header"),
        (b" Content-Length: 5\r\n", "not a header"),
        (b"Content-Length : 5\r\n", "not a header"),
        (b"X-Name: caf\xc3\xa9\r\n", "not a header"),
        (b"X: " + b"a" * MAX_HEADER_BYTES, "longer than 8192"),
        (b"X: aaaaaaaa\r\n" * 700, "longer than 8192"),
    ],
)
def test_a_broken_stream_is_refused_with_a_sentence(stream: bytes, says: str) -> None:
    decoder = FrameDecoder()
    with pytest.raises(FramingError, match=re.escape(says)) as caught:
        decoder.feed(stream)
    assert str(caught.value).endswith(".")
    with pytest.raises(FramingError, match=re.escape(says)):
        decoder.feed(encode_frame(b"{}"))


def test_the_largest_allowed_length_is_waited_for() -> None:
    decoder = FrameDecoder()
    assert decoder.feed(b"Content-Length: %d\r\n\r\n" % MAX_BODY_BYTES) == []
    assert decoder.is_inside_frame


def test_the_bodies_before_a_break_are_not_lost() -> None:
    with pytest.raises(FramingError) as caught:
        FrameDecoder().feed(encode_frame(b"one") + encode_frame(b"two") + b"garbage\r\n")
    assert caught.value.bodies == [b"one", b"two"]


def test_a_header_block_is_measured_for_each_frame_anew() -> None:
    filler = b"X: " + b"a" * 8000 + b"\r\n"
    assert decode((filler + encode_frame(b"x")) * 3) == [b"x"] * 3


def test_it_is_known_whether_the_end_cut_a_frame() -> None:
    decoder = FrameDecoder()
    stream = encode_frame(b"abc")
    assert not decoder.is_inside_frame
    for at in range(len(stream) - 1):
        decoder.feed(stream[at : at + 1])
        assert decoder.is_inside_frame
    decoder.feed(stream[-1:])
    assert not decoder.is_inside_frame
