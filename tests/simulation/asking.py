"""What editors may ask a server for: every request as real editors send it, and a few that none should."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.simulation.service import LARGE, SMALL

Params = dict[str, Any]
Make = Callable[[random.Random, str, Path], Params]
"""By chance, a conversation's id, and the folder."""


def _range(v: random.Random) -> Params:
    start = v.randrange(8)
    return {"start": start, "end": start + v.randint(0, 6)}


def _file(v: random.Random, folder: Path) -> str:
    return f"{folder.as_uri()}/{v.choice(('a.py', 'b c.md', 'notes.chat.md', '%C3%A9.txt'))}"


def _maybe(v: random.Random, **params: Any) -> Params:
    return {name: value for name, value in params.items() if v.random() < 0.5}


def _position(v: random.Random) -> Params:
    return {"line": v.randrange(4), "character": v.randrange(9)}


def _of_conversation(_: random.Random, conversation: str, __: Path) -> Params:
    return {"conversationId": conversation}


def _of_document(v: random.Random, _: str, folder: Path) -> Params:
    return {"textDocument": {"uri": _file(v, folder)}}


def _at(v: random.Random, _: str, folder: Path) -> Params:
    return {"textDocument": {"uri": _file(v, folder)}, "position": _position(v)}


_COMMANDS: Final = (
    "usage",
    "stats",
    "summarize",
    "pin",
    "rules",
    "model",
    "recover",
    "help",
    "facts",
    "debug",
    "nothing",
)

REQUESTS: Final[Mapping[str, Make]] = {
    "palimpsest/turn/continue": _of_conversation,
    "palimpsest/turn/retry": _of_conversation,
    "palimpsest/recovery/list": lambda v, _, f: _maybe(v, folderUri=f.as_uri()),
    "palimpsest/adoption/list": lambda v, _, f: _maybe(v, folderUri=f.as_uri()),
    "palimpsest/adoption/resolve": lambda v, _, f: {
        "folderUri": f.as_uri(),
        "store": "none",
        "action": v.choice(("adopt", "decline")),
    },
    "palimpsest/attachments/estimate": lambda v, c, f: {
        "attachments": [
            {"type": "file", "path": v.choice(("a.py", "nothing.py", "../a", _file(v, f)))},
            {"type": "selection", "text": "x = 1", "path": "a.py", "startLine": 1, "endLine": v.randrange(3)},
        ],
        **_maybe(v, conversationId=c, folderUri=f.as_uri()),
    },
    "palimpsest/mentions/complete": lambda v, c, f: {
        "text": "look at @a",
        "position": v.randrange(-1, 12),
        **_maybe(v, conversationId=c, folderUri=f.as_uri()),
    },
    "palimpsest/command/run": lambda v, c, f: {
        "text": f"/{v.choice(_COMMANDS)} {v.choice(('', 'Keep promise 1.', LARGE, '3'))}",
        **_maybe(v, conversationId=c, folderUri=f.as_uri()),
    },
    "palimpsest/prepareContext": lambda v, c, _: {
        "conversationId": c,
        **_maybe(v, text="And now? " * v.randint(1, 99)),
    },
    "palimpsest/context/at": lambda v, c, _: {
        "conversationId": c,
        "turnId": "nothing",
        **_maybe(v, step=v.randint(-1, 3)),
    },
    "palimpsest/stats": _of_conversation,
    "palimpsest/summarize": lambda v, c, _: {"conversationId": c, **_maybe(v, range=_range(v))},
    "palimpsest/summary/expand": lambda v, c, _: {"conversationId": c, "summaryId": v.randint(1, 6)},
    "palimpsest/summary/regenerate": lambda v, c, _: {"conversationId": c, "summaryId": v.randint(1, 6)},
    "palimpsest/summary/undo": _of_conversation,
    "palimpsest/summary/redo": _of_conversation,
    "palimpsest/rules/list": _of_conversation,
    "palimpsest/rules/pin": lambda v, c, _: {"conversationId": c, "text": f"Keep promise {v.randrange(4)}."},
    "palimpsest/rules/withdraw": lambda v, c, _: {
        "conversationId": c,
        "ruleId": f"{v.randint(-1, 3)}.{v.randrange(3)}",
    },
    "palimpsest/facts/list": lambda v, _, f: _maybe(v, folderUri=f.as_uri(), limit=v.randint(0, 9), includeClosed=True),
    "palimpsest/facts/search": lambda v, _, f: {"query": "pump", **_maybe(v, folderUri=f.as_uri())},
    "palimpsest/facts/pin": lambda v, _, f: {
        "content": f"The pump number {v.randrange(5)} stands in the north hall.",
        **_maybe(v, folderUri=f.as_uri(), entities=["pump"]),
    },
    "palimpsest/facts/verify": lambda v, _, __: {"factId": v.randint(1, 4)},
    "palimpsest/facts/update": lambda v, _, __: {"factId": v.randint(1, 4)},
    "palimpsest/facts/forget": lambda v, _, __: {"factId": v.randint(1, 4)},
    "palimpsest/facts/forgotten": lambda v, _, f: _maybe(v, folderUri=f.as_uri()),
    "palimpsest/facts/restore": lambda v, _, __: {"factId": v.randint(1, 4)},
    "palimpsest/usage": _of_conversation,
    "palimpsest/conversation/create": lambda v, _, f: _maybe(
        v, folder=f.as_uri(), title="Pumps", model=v.choice((LARGE, "claude-nothing"))
    ),
    "palimpsest/conversation/list": lambda v, _, f: _maybe(v, folder=f.as_uri()),
    "palimpsest/conversation/read": lambda v, c, _: {
        "conversationId": c,
        **_maybe(v, start=v.randrange(9), limit=v.randrange(5)),
    },
    "palimpsest/conversation/rename": lambda v, c, _: {"conversationId": c, "title": f"Pumps {v.randrange(9)}"},
    "palimpsest/conversation/layout": lambda v, c, _: {
        "conversationId": c,
        **_maybe(v, layout=v.choice(("log", "librarian"))),
    },
    "palimpsest/conversation/archive": lambda v, c, _: {"conversationId": c, "isArchived": v.random() < 0.5},
    "palimpsest/conversation/fork": lambda v, c, _: {"conversationId": c, **_maybe(v, messageId=v.randrange(9))},
    "palimpsest/conversation/rollback": lambda v, c, _: {"conversationId": c, **_maybe(v, messageId=v.randrange(9))},
    "palimpsest/draft/set": lambda v, c, _: {"conversationId": c, "text": "What if"},
    "palimpsest/conversation/search": lambda v, c, f: {
        "query": v.choice(("pump", '"', "north -hall", "")),
        **_maybe(v, conversationId=c, folderUri=f.as_uri(), limit=v.randint(0, 5), includeHidden=True),
    },
    "palimpsest/model/list": lambda *_: {},
    "palimpsest/model/status": lambda v, c, _: _maybe(v, conversationId=c),
    "palimpsest/model/switch": lambda v, c, _: {"conversationId": c, "model": v.choice((LARGE, SMALL, "no-model"))},
    "palimpsest/credentials/set": lambda *_: {"provider": "anthropic", "key": None},
    "palimpsest/tools/register": lambda *_: {"tools": []},
    "palimpsest/approval/list": lambda v, _, f: _maybe(v, folder=f.as_uri()),
    "palimpsest/approval/revoke": lambda v, _, __: {"id": v.randrange(3)},
    "palimpsest/conversation/export": _of_conversation,
    "palimpsest/conversation/import": lambda v, _, __: {"jsonl": v.choice(("", "{}", "[]"))},
    "palimpsest/conversation/purge": lambda v, c, _: {"conversationId": c, **_maybe(v, confirm=True, range=_range(v))},
    "textDocument/diagnostic": _of_document,
    "textDocument/codeLens": _of_document,
    "textDocument/foldingRange": _of_document,
    "textDocument/documentSymbol": _of_document,
    "textDocument/hover": _at,
    "textDocument/definition": _at,
    "textDocument/completion": _at,
    "textDocument/codeAction": lambda v, c, f: {
        **_of_document(v, c, f),
        "range": {"start": _position(v), "end": _position(v)},
        "context": {"diagnostics": []},
    },
    "workspace/diagnostic": lambda *_: {"previousResultIds": []},
    "workspace/symbol": lambda *_: {"query": "pump"},
    "workspace/executeCommand": lambda v, c, f: {
        "command": v.choice(("palimpsest.command.usage", "palimpsest.conversation.purge", "palimpsest.nothing")),
        "arguments": v.choice(
            ([], [{"conversationId": c}], [{"conversationId": c, "isConfirmed": True}], [1, 2], ["x"])
        ),
    },
}

BROKEN: Final[tuple[tuple[bytes, bool], ...]] = (
    (b"{", True),
    (b"\xff\xfe", True),
    (b"[]", True),
    (b"7", True),
    (b'{"jsonrpc":"1.0","method":"palimpsest/usage"}', True),
    (b'{"jsonrpc":"2.0","id":true,"method":"palimpsest/usage"}', True),
    (b'{"jsonrpc":"2.0","id":null,"method":"palimpsest/usage"}', True),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"palimpsest/usage"}', True),
    (b'{"jsonrpc":"2.0","method":7}', True),
    (b'{"jsonrpc":"2.0"}', True),
    (b'{"jsonrpc":"2.0","method":"palimpsest/nothing","params":{}}', False),
    (b'{"jsonrpc":"2.0","method":"palimpsest/usage","params":{}}', False),
    (b'{"jsonrpc":"2.0","method":"palimpsest/didChangeTrust","params":{"folderUri":7}}', False),
    (b'{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}', False),
    (b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":[]}', False),
    (b'{"jsonrpc":"2.0","id":"never asked","result":null}', False),
    (b'{"jsonrpc":"2.0","id":[1],"error":null}', False),
    (b'{"jsonrpc":"2.0","method":"workspace/didChangeConfiguration","params":{"settings":7}}', False),
)
"""Bodies, and whether they are answered, without an id."""

WRONG: Final[tuple[tuple[str, Any], ...]] = (
    ("palimpsest/nothing", {}),
    ("palimpsest/usage", {}),
    ("palimpsest/usage", {"conversationId": "nothing"}),
    ("palimpsest/usage", {"conversationId": 7}),
    ("palimpsest/usage", [1]),
    ("palimpsest/chat", {"requestId": "empty", "text": " "}),
    ("palimpsest/chat", {"requestId": 3, "text": "x"}),
    ("palimpsest/turn/attach", {"turnId": "nothing", "partialResultToken": "t"}),
    ("palimpsest/turn/cancel", {"turnId": "nothing"}),
    ("palimpsest/didChangeTrust", {"folderUri": "file:///tmp", "isTrusted": True}),
    ("palimpsest/conversation/list", {"folder": "file:///nowhere/at/all"}),
    ("palimpsest/conversation/list", {"folder": "untitled:x"}),
    ("initialize", {"processId": None, "rootUri": None, "capabilities": {}}),
    ("initialized", {}),
    ("textDocument/hover", {"textDocument": 1}),
    ("textDocument/rename", {}),
    ("workspace/executeCommand", {"command": "palimpsest.chat.send", "arguments": ["file:///x.chat.md"]}),
)
"""Requests that are answered with an error."""
