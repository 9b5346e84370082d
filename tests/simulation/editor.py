"""Simulated editors: processes of their own that speak to the product's real server objects, byte by byte.

What goes from one to the other is a callback of the receiving process, so the schedule decides when it arrives. An
editor keeps every message, and holds the server to the manners of the protocol as they come.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.manners import Answered, Asked, Manners
from tests.simulation.scheduler import Node
from tests.simulation.world import Server, World

from palimpsest.domain.errors import NO_HANDLES, StoreError
from palimpsest.lsp.features import load
from palimpsest.lsp.features.chat_documents.open_chat import OpenChat
from palimpsest.lsp.features.parts.changes import Changes
from palimpsest.lsp.features.parts.configuration import EditorConfiguration
from palimpsest.lsp.features.parts.fact_notes import FactNotes
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.runtime.transport import serve
from palimpsest.lsp.server import PalimpsestServer, build_server
from palimpsest.services.folder.folders import Folders

Message = dict[str, Any]

load()  # now: else the first world of a process would load on a thread what the others find


def pieces_of(data: bytes, number: int) -> list[bytes]:
    """As a pipe may hand it over: mostly whole. `number`: how many were sent before."""
    chosen = zlib.crc32(b"%d" % number)
    if chosen % 5 or len(data) < 2:
        return [data]
    at = 1 + chosen // 5 % (len(data) - 1)
    return [data[:at], data[at:]]


@dataclass(eq=False, slots=True)
class ToServer:
    """The stream that the server reads."""

    world: World
    server: Server
    chunks: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    n_sent: int = 0

    def send(self, data: bytes) -> None:
        self.n_sent += 1
        for piece in pieces_of(data, self.n_sent):
            self.world.loop.call_soon(self.chunks.put_nowait, piece, context=self.server.node.context)

    def close(self) -> None:
        self.world.loop.call_soon(self.chunks.put_nowait, b"", context=self.server.node.context)

    async def read(self) -> bytes:
        return await self.chunks.get()


@dataclass(eq=False, slots=True)
class ToEditor:
    """The stream that the editor reads: a `palimpsest.lsp.runtime.transport.Writer`."""

    editor: Editor
    n_sent: int = 0

    def write(self, data: bytes) -> None:
        self.n_sent += 1
        self.editor.on_sent(data)
        for piece in pieces_of(data, self.n_sent):
            self._later(self.editor.take, piece)

    async def finish(self, timeout_s: float) -> None:
        self._later(self.editor.take, b"")

    def _later(self, function: Callable[[bytes], None], data: bytes) -> None:
        self.editor.world.loop.call_soon(function, data, context=self.editor.node.context)


Reply = Message | Callable[[], Message] | None
"""A result or an error, as it is when it is sent; None: none, ever."""
Policy = Callable[[str, Any], tuple[float, Reply]]
"""How the user and the editor answer a request of the server, and after how many seconds."""


@dataclass(eq=False)
class Editor:
    """One connection of an editor with a server, from its beginning to its end."""

    world: World
    server: Server
    number: int
    policy: Policy
    fails_to_load: bool = False
    """Whether what the server loads after `initialize` cannot be loaded at first."""
    is_patient: bool = True
    """Whether it says nothing more before `initialize` is answered, as it should."""
    on_message: Callable[[Message], None] = lambda _: None
    """Hears of every message, behind the manners."""
    on_sent: Callable[[bytes], None] = lambda _: None
    """Hears of every frame as the server sends it."""
    manners: Manners = field(init=False)
    node: Node = field(init=False)
    ls: PalimpsestServer = field(init=False)
    serving: asyncio.Task[int] = field(init=False)
    is_over: bool = False
    """Whether the connection is ending or has ended, whoever wanted it."""
    has_left: bool = False
    """Whether the editor wanted it."""
    _unsent: list[bytes] = field(default_factory=list)
    """What a patient editor keeps back."""
    _buffer: bytes = b""
    _ids: int = 0

    def __post_init__(self) -> None:
        world, server = self.world, self.server
        self.node = Node(f"e{self.number}")
        self.manners = Manners(world)
        self.to_server = ToServer(world, server)
        n_left = [1 if self.fails_to_load else 0]
        self.manners.excused = (NO_HANDLES,) if self.fails_to_load else ()

        def load() -> Folders:
            if n_left[0]:
                n_left[0] -= 1
                raise StoreError(NO_HANDLES)
            return server.folders

        self.ls = build_server(load, owns_folders=server.is_private)
        world.loop.nodes.append(self.node)
        self.serving = world.loop.spawn(server.node, serve(self.ls, self.to_server.read, ToEditor(self)))
        server.is_busy.append(self._is_busy)
        # From now on it lets go of the folder when no editor has it.
        world.loop.call_soon(server.folders.leave, world.root, world, context=server.node.context)
        server.node.held.append(self._lose)

    # ------------------------------------------------------------------------------------------------------- sending

    @property
    def is_connected(self) -> bool:
        return not self.is_over and not self.node.is_dead

    def send(self, message: Any) -> None:
        self.send_body(json.dumps(message).encode())

    def send_body(self, body: bytes) -> None:
        frame = b"Content-Length: %d\r\n\r\n" % len(body) + body
        if not self.is_connected:
            return
        if self.is_patient and self.manners.has_asked("initialize") and not self.manners.is_initialized:
            self._unsent.append(frame)
        else:
            self.to_server.send(frame)

    def _send_what_was_kept_back(self) -> None:
        unsent, self._unsent = self._unsent, []
        for frame in unsent:
            self.to_server.send(frame)

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(
        self,
        method: str,
        params: Any,
        heard: Answered | None = None,
        *,
        message_id: int | str | None = None,
        **what: Any,
    ) -> Asked | None:
        """Asks the server. `heard` is called with the answer; `what` are fields of `Asked`."""
        if not self.is_connected:
            return None
        if message_id is None:
            self._ids += 1
            message_id = self._ids if self._ids % 3 else f"request-{self._ids}"
        body = {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}
        if method == "initialize":
            self.send(body)
            return self.manners.asks(message_id, method, heard, **what)
        asked = self.manners.asks(message_id, method, heard, **what)
        self.send(body)
        return asked

    def cancel(self, message_id: int | str) -> None:
        self.manners.cancels(message_id)
        self.notify("$/cancelRequest", {"id": message_id})

    def shut_down(self) -> None:
        """In order: `exit` follows the answer."""
        self.request("shutdown", None, lambda _: self.exit())

    def exit(self) -> None:
        self.is_patient = False
        self._send_what_was_kept_back()
        self.notify("exit", None)
        self.is_over = self.has_left = self.manners.is_over = True

    def hang_up(self) -> None:
        """Closes its end of the connection."""
        if not self.is_over:
            self.is_over = self.has_left = self.manners.is_over = True
            self.to_server.close()

    def vanish(self) -> None:
        """The process ends without a word."""
        self.hang_up()
        self._die()

    def _die(self) -> None:
        self.node.kill()
        if self.node in self.world.loop.nodes:
            self.world.loop.nodes.remove(self.node)

    # ------------------------------------------------------------------------------------------------------ receiving

    def take(self, data: bytes) -> None:
        if not data:
            self._lose()
            return
        self._buffer += data
        while (at := self._buffer.find(b"\r\n\r\n")) >= 0:
            size = int(self._buffer[:at].partition(b":")[2])
            if len(self._buffer) < at + 4 + size:
                return
            body, self._buffer = self._buffer[at + 4 : at + 4 + size], self._buffer[at + 4 + size :]
            self._receive(json.loads(body))

    def _receive(self, message: Message) -> None:
        self.manners.hears(message)
        if "method" in message and "id" in message:
            self._reply(message)
        if self.manners.is_initialized:
            self._send_what_was_kept_back()
        self.on_message(message)

    def _reply(self, message: Message) -> None:
        delay_s, reply = self.policy(message["method"], message.get("params"))
        if reply is None:
            return

        def answer() -> None:
            result = reply() if callable(reply) else reply
            self.send({"jsonrpc": "2.0", "id": message["id"]} | result)

        if delay_s:
            self.world.loop.call_later(delay_s, answer, context=self.node.context)
        else:
            answer()

    def _lose(self) -> None:
        """The server's end is closed, or its process is dead."""
        if self.node.is_dead:
            return
        if not self.is_over and not self.server.node.is_dead and self.ls.exit_code is None:
            self.world.problem("hung up", "by a server that nobody told to")
        self.is_over = self.manners.is_over = True
        self._die()

    # ------------------------------------------------------------------------------------------------------ being quiet

    def _is_busy(self) -> bool:
        """Whether anything of the connection is under way that ends by itself."""
        folders = self.server.folders
        if (self.is_over and not self.serving.done()) or not self.node.is_quiet:
            return True
        if folders._leaving or folders._closing:
            return True
        if self.is_over:
            return False
        ls = self.ls
        chats = ls.part(OpenChats)
        waits = (ls.part(Changes).telling, ls.part(FactNotes).pushing, *chats.opening.values(), *chats.closing)
        return bool(
            self.manners.n_open
            or ls.protocol._running
            or ls.protocol._background
            or ls.part(EditorConfiguration).telling
            or any(_is_writing(chat) for chat in chats.chats.values())
            or any(task is not None and not task.done() for task in waits)
        )


def _is_writing(chat: OpenChat) -> bool:
    """Whether something of a chat document goes on by itself. What an editor says it has applied and never shows is
    waited for until it tells something else."""
    return chat.document.is_sending or bool(chat._tasks and not chat.document.is_waiting)
