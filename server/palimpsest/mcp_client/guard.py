"""What may come in from a server.

The package answers every message that comes, in a task of its own, and holds what it cannot write yet. A server that
sends without end would fill the memory or hold the loop. So each message passes a `Guard` first: what nobody asked for
is counted against an allowance, what we have no use for is dropped, and a list of tools is freed of what would make the
package refuse all of it. The package judges each item of an answer on the event loop, so the longest lists are cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from palimpsest.domain.mcp.offered import MAX_LISTED, DeclaredTool
from palimpsest.wording import counted

ALLOWANCE: Final = 5_000
"""The messages that nobody asked for which a server may send at once."""
REFILL: Final = 200.0
"""How many more it may send each second."""
MAX_UNANSWERED: Final = 64
"""The requests of a server that wait for it to read the answers."""
MAX_PARTS: Final = 1_000
"""The most parts of one answer that are taken."""
_LISTS: Final = ("tools", "resources", "prompts")
_PARTS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "content": lambda text: {"type": "text", "text": text},
    "contents": lambda text: {"uri": "palimpsest:left-out", "text": text},
    "messages": lambda text: {"role": "user", "content": {"type": "text", "text": text}},
}
"""What stands for the parts that are left out, by the name of their list."""
_DROPPED: Final = frozenset(("notifications/message", "notifications/resources/updated"))


class Flood(Exception):
    """The server sends too much. The message is a sentence."""


class Guard:
    """Of one connection. Use it on one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._allowance = float(ALLOWANCE)
        self._filled_at_s = self._loop.time()
        self._n_unanswered = 0
        self.bad_tools: list[DeclaredTool] = []
        """The tools that were taken out of the lists since somebody emptied this one."""

    def note_noise(self) -> None:
        """Something came that nobody asked for. Raises Flood."""
        now_s = self._loop.time()
        self._allowance = min(ALLOWANCE, self._allowance + (now_s - self._filled_at_s) * REFILL)
        self._filled_at_s = now_s
        self._allowance -= 1
        if self._allowance < 0:
            raise Flood(f"It sent more than {ALLOWANCE:,} messages that nobody asked for, and was ended.")

    def admits(self, message: JSONRPCMessage) -> bool:
        """Whether the package may see a message. Raises Flood."""
        if isinstance(message, JSONRPCResponse):
            self._mend(message.result)
        elif isinstance(message, JSONRPCRequest):
            self.note_noise()
            self._n_unanswered += 1
            if self._n_unanswered > MAX_UNANSWERED:
                raise Flood("It sent many requests and reads no answers, and was ended.")
        elif isinstance(message, JSONRPCNotification):
            self.note_noise()
            return message.method not in _DROPPED
        return True

    def note_sent(self, message: JSONRPCMessage) -> None:
        """A message went out."""
        if not isinstance(message, JSONRPCRequest | JSONRPCNotification):
            self._n_unanswered = max(0, self._n_unanswered - 1)

    def _mend(self, result: Any) -> None:
        """Cut lists that are too long. Take out of a list of tools what is none, and what we do not use: by the schema
        of a tool's output the package would judge each answer, with regular expressions of the server's."""
        if not isinstance(result, dict):
            return
        for kind in _LISTS:
            if isinstance(long := result.get(kind), list):
                del long[MAX_LISTED + 1 :]  # one more, which tells that there are more
        for kind, note in _PARTS.items():
            if isinstance(parts := result.get(kind), list) and (n_more := len(parts) - MAX_PARTS) > 0:
                parts[MAX_PARTS:] = [note(f"[{counted(n_more, 'more part')} came. They are left out.]")]
        if not isinstance(listed := result.get("tools"), list) or "content" in result:
            return
        kept: list[dict[str, Any]] = []
        for each in listed:
            name = each.get("name") if isinstance(each, Mapping) else None
            schema = each.get("inputSchema") if isinstance(each, Mapping) else None
            if not isinstance(name, str):
                self.bad_tools.append(DeclaredTool("", "", {}, False))
            elif not isinstance(schema, dict) or schema.get("type") != "object":
                problem = 'its parameters must be a JSON Schema whose type is "object"'
                self.bad_tools.append(DeclaredTool(name, "", {}, False, problem))
            else:
                kept.append(_plain(each, name, schema))
        result["tools"] = kept


def _plain(tool: Mapping[str, Any], name: str, schema: dict[str, Any]) -> dict[str, Any]:
    description, annotations = tool.get("description"), tool.get("annotations")
    is_read_only = isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
    return {
        "name": name,
        "description": description if isinstance(description, str) else "",
        "inputSchema": schema,
        "annotations": {"readOnlyHint": is_read_only},
    }
