"""The answer to `initialize`, given while the server is still being loaded.

Loading pygls and the types of the protocol takes most of the start, and the answer needs neither: it is generated from
the server of an editor that can do everything (`initialize.json`), less what the editor at hand cannot do. A thread
reads the first message and answers it; the server then handles that message like any other and keeps its own answer for
itself. What the editor sends meanwhile waits in the pipe, in order. A first message that is anything but a plain
`initialize` is left to the server. That the two answers are the same for every editor is for a test to say.

Nothing is imported here that takes time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, Final

from palimpsest.__about__ import __version__
from palimpsest.wire.codec.framing import FrameDecoder, FramingError, encode_frame
from palimpsest.wire.codec.jsonrpc import IncomingRequest, InvalidMessage, MessageId, encode_result, parse

RESULT: Final = Path(__file__).with_name("initialize.json")
_CHUNK_BYTES: Final = 64 << 10
_MOST_BYTES: Final = 1 << 20
"""A longer first message is left to the server."""
_ENCODINGS: Final = ("utf-8", "utf-16", "utf-32")

Json = dict[str, Any]


def protect_stdio() -> tuple[int, int]:
    """Private copies of the file descriptors 0 and 1; 0 becomes empty and 1 becomes stderr.

    So no print, C library or child process that inherits them can read or write a byte of the protocol. Raises OSError
    when one of them is closed.
    """
    source, sink = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(source, os.O_BINARY)
        msvcrt.setmode(sink, os.O_BINARY)
    else:
        # The parent process may have made the pipes non-blocking, but our threads have to wait.
        os.set_blocking(source, True)
        os.set_blocking(sink, True)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


class Greeting:
    """Reads the first message of a new connection, and answers it where it can."""

    def __init__(self, source: int, sink: int) -> None:
        """The descriptors of the editor's pipes, which block. Nobody else may use them before `wait` returns."""
        self._source, self._sink = source, sink
        self._read = b""
        self._answered: MessageId | None = None
        self._thread = threading.Thread(target=self._run, name="greeting", daemon=True)
        self._thread.start()

    def wait(self) -> tuple[bytes, MessageId | None]:
        """Waits for the first message. Returns all that was read, empty at the end of the input, and the id of the
        request that was answered; None where the server has to answer."""
        self._thread.join()
        return self._read, self._answered

    def _run(self) -> None:
        decoder, bodies = FrameDecoder(), list[bytes]()
        with contextlib.suppress(OSError, FramingError):  # the server meets the same pipes and the same bytes
            while not bodies and len(self._read) <= _MOST_BYTES and (chunk := os.read(self._source, _CHUNK_BYTES)):
                self._read += chunk
                bodies = decoder.feed(chunk)
            request = _initialize(bodies[0]) if bodies else None
            if request is not None:
                result = result_for(request.params)
                rest = memoryview(encode_frame(encode_result(request.id, result, repr)))
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
                self._answered = request.id


def _initialize(body: bytes) -> IncomingRequest | None:
    """The message, if it is an `initialize` that the server will take."""
    try:
        message = parse(body)
    except InvalidMessage:
        return None
    is_plain = isinstance(message, IncomingRequest) and message.method == "initialize" and _is_plain(message.params)
    return message if isinstance(message, IncomingRequest) and is_plain else None


def _is_plain(params: object) -> bool:
    """Whether the params have the types of the protocol, as far as the server uses them."""
    if not isinstance(params, dict) or not isinstance(params.get("capabilities"), dict):
        return False
    general = params["capabilities"].get("general") or {}
    encodings = general.get("positionEncodings") if isinstance(general, dict) else 0
    folders = params.get("workspaceFolders")
    texts = [params.get(key) for key in ("rootUri", "rootPath", "locale")]
    return (
        all(isinstance(each, dict | None) for key, each in params["capabilities"].items() if key != "experimental")
        and (encodings is None or (isinstance(encodings, list) and all(isinstance(each, str) for each in encodings)))
        and (folders is None or (isinstance(folders, list) and all(map(_is_folder, folders))))
        and all(isinstance(each, str | None) for each in texts)
        and (params.get("processId") is None or type(params["processId"]) is int)
        and params.get("trace") in (None, "off", "messages", "verbose")
    )


def _is_folder(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("uri"), str) and isinstance(value.get("name"), str)


def result_for(params: Json) -> Json:
    """The result for an editor of these plain params."""
    result: Json = json.loads(RESULT.read_text("utf-8"))
    result["serverInfo"]["version"] = __version__
    ours, theirs = result["capabilities"], params["capabilities"]
    encodings = (theirs.get("general") or {}).get("positionEncodings") or ()
    ours["positionEncoding"] = next((each for each in encodings if each in _ENCODINGS), "utf-16")
    is_told = _at(theirs, "workspace", "diagnostics", "refreshSupport") or (
        _at(theirs, "experimental", "palimpsest", "notifications") is True
    )
    if _at(theirs, "textDocument", "diagnostic") is None or not is_told:
        del ours["diagnosticProvider"]
    operations = ours["workspace"]["fileOperations"]
    for name in [name for name in operations if not _at(theirs, "workspace", "fileOperations", name)]:
        del operations[name]
    return result


def _at(value: object, *keys: str) -> object:
    """What stands below the keys; None where nothing does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
