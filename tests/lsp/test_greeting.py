"""`initialize` is answered while the server is still being loaded, as the server would answer it."""

from __future__ import annotations

import json
import os
import random
from typing import Any, Final

import pytest
from dev.generate_greeting import FULL, server_result

from palimpsest.lsp.runtime.greeting import Greeting, result_for
from palimpsest.wire.codec.framing import FrameDecoder, encode_frame

Json = dict[str, Any]
NOTHING: Final[Json] = {"processId": None, "rootUri": None, "capabilities": {}}
_ENCODINGS: Final = ("utf-8", "utf-16", "utf-32", "ebcdic")


def some_capabilities(seed: int) -> Json:
    """Those that an answer may depend on, some of them."""
    chosen = random.Random(seed)

    def some(value: Any) -> Any:
        if not isinstance(value, dict):
            return chosen.choice((value, False, None))
        return {key: some(each) for key, each in value.items() if chosen.random() < 0.7}

    result: Json = some(FULL)
    if chosen.random() < 0.7:
        listed = chosen.sample(_ENCODINGS, chosen.randrange(len(_ENCODINGS)))
        result["general"] = chosen.choice(({"positionEncodings": listed}, {}, None))
    if chosen.random() < 0.5:
        ours: Any = chosen.choice(({"notifications": True}, {"notifications": 1}, {}, None, []))
        result["experimental"] = chosen.choice(({"palimpsest": ours}, None, "something"))
    return result


@pytest.mark.parametrize("seed", range(60))
def test_both_answers_are_the_same_whatever_the_editor_can_do(seed: int) -> None:
    params = NOTHING | {"capabilities": some_capabilities(seed)}
    assert result_for(params) == server_result(params), params["capabilities"]


def greeted(*chunks: bytes) -> tuple[bytes, object, bytes]:
    """What a greeting makes of these chunks and the end of the input: what it has read, the id that it answered, and
    what the editor gets."""
    (source, editor_out), (editor_in, sink) = os.pipe(), os.pipe()
    greeting = Greeting(source, sink)
    for chunk in chunks:
        os.write(editor_out, chunk)
    os.close(editor_out)
    read, answered = greeting.wait()
    os.close(sink)
    with os.fdopen(editor_in, "rb") as answers:
        said = answers.read()
    os.close(source)
    return read, answered, said


def initialize(message_id: object = 1, **params: object) -> bytes:
    message = {"jsonrpc": "2.0", "id": message_id, "method": "initialize", "params": NOTHING | params}
    return encode_frame(json.dumps(message).encode())


@pytest.mark.parametrize("message_id", [0, "a \ud83d", 2**70])
def test_the_answer_has_the_id_of_the_request_however_its_bytes_come(message_id: object) -> None:
    frame = initialize(message_id)
    read, answered, said = greeted(*(frame[place : place + 1] for place in range(len(frame))))
    assert (read, answered) == (frame, message_id)
    (body,) = FrameDecoder().feed(said)
    assert json.loads(body) == {"jsonrpc": "2.0", "id": message_id, "result": result_for(NOTHING)}


def test_what_comes_behind_the_first_message_is_left_to_the_server() -> None:
    frames = initialize() + encode_frame(b'{"jsonrpc": "2.0", "method": "initialized", "params": {}}') + b"Content-"
    read, answered, _ = greeted(frames)
    assert (read, answered) == (frames, 1)


@pytest.mark.parametrize(
    "frames",
    [
        b"",
        b"Content-Length: 5\r\n\r\n{",
        b"GET / HTTP/1.1\r\n\r\n",
        encode_frame(b"no json"),
        encode_frame(b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}'),
        encode_frame(b'{"jsonrpc": "2.0", "method": "initialize", "params": {"capabilities": {}}}'),
        encode_frame(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}'),
        initialize(True),
        initialize(1.5),
        initialize(capabilities=None),
        initialize(capabilities={"general": 5}),
        initialize(capabilities={"general": {"positionEncodings": "utf-8"}}),
        initialize(capabilities={"workspace": []}),
        initialize(workspaceFolders=[{"uri": 1, "name": "x"}]),
        initialize(workspaceFolders={"uri": "file:///x", "name": "x"}),
        initialize(rootUri=5),
        initialize(processId="me"),
        initialize(trace="loud"),
        b"Content-Length: 3000000\r\n\r\n" + b" " * 60_000,
    ],
)
def test_whatever_else_comes_first_is_the_servers_to_answer(frames: bytes) -> None:
    assert greeted(frames) == (frames, None, b"")
