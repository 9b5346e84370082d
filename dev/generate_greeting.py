"""server/palimpsest/lsp/runtime/initialize.json: what `initialize` is answered for an editor that can do everything."""

from __future__ import annotations

import json
import threading
from typing import Any, Final

from dev import ROOT
from palimpsest.lsp.runtime.greeting import RESULT
from palimpsest.lsp.server import build_server
from palimpsest.wire.codec.framing import FrameDecoder
from palimpsest.wire.codec.jsonrpc import IncomingReply, encode_call, parse

_OPERATIONS: Final = ("didCreate", "willCreate", "didRename", "willRename", "didDelete", "willDelete")
FULL: Final[dict[str, Any]] = {
    "workspace": {"diagnostics": {"refreshSupport": True}, "fileOperations": dict.fromkeys(_OPERATIONS, True)},
    "textDocument": {"diagnostic": {}, "rename": {"prepareSupport": True}},
}
"""The capabilities of an editor that an answer to `initialize` depends on."""


def outputs() -> dict[str, str]:
    """The text of every file that is generated here, by its path below the repository's root."""
    result = server_result({"processId": None, "rootUri": None, "capabilities": FULL})
    del result["serverInfo"]["version"]
    text = json.dumps(result, ensure_ascii=False, indent=2) + "\n"
    return {RESULT.relative_to(ROOT).as_posix(): text}


def server_result(params: dict[str, Any]) -> dict[str, Any]:
    """The result of a server without services for this `initialize`."""

    def load_nothing() -> Any:
        raise NotImplementedError

    server = build_server(load_nothing, owns_folders=True)
    frames: list[bytes] = []

    class Writer:
        write = staticmethod(frames.append)

    server.protocol.writer = Writer()  # type: ignore[assignment]  # our runtime calls nothing else
    server.protocol._loop_thread = threading.get_ident()
    server.protocol.receive(encode_call("initialize", params, repr, 1))
    (body,) = FrameDecoder().feed(frames[0])
    reply = parse(body)
    assert isinstance(reply, IncomingReply)
    assert isinstance(reply.result, dict), reply.error
    return reply.result
