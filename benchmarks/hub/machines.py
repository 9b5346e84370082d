"""The model and the machines of the trials: real servers, each with an editor that notes what it was shown."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import re
import signal
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, SupportsIndex

from benchmarks.hub.relay import Relay
from tests.clients.fake_provider import Call, FakeProvider, Reply
from tests.faults.checks import require
from tests.faults.lab import Lab, Place, Server
from tests.faults.serve import Fault
from tests.lsp.rawlsp import RawClient

SETTLE_S: Final = 60.0
"""For everything that may take longer on a machine that has much else to do."""
WORD: Final = re.compile(r"\b[qw]\d{6}\b")
"""Of a question or of an answer."""
_CONTESTED: Final = Fault(hub_lease_s=1)
_ASKED_HERE: Final = "SELECT 1 FROM turn WHERE id = ? AND request_id <> id"
"""Whether a turn was asked for by an editor of this store, which makes an id for each request; a turn that the hub has
brought has none."""
_NEIGHBOR: Final = "neighbor "
"""How the tokens begin of turns of other servers on the same store."""


class Model(FakeProvider):
    """A model's service. Every word it says is new; one answer in four asks for a tool first. Some answers are slow, so
    that a turn outlasts a lease."""

    def __init__(self) -> None:
        super().__init__(limit_tokens=10_000_000)
        self.random = random.Random()
        self.n_words = 0
        self.script = _Answers(self)

    def answer(self, body: Mapping[str, Any]) -> Reply:
        n = self.random.randint(1, 30)
        said = "".join(f"w{self.n_words + each:06} " for each in range(n))
        self.n_words += n
        calls: tuple[Call, ...] = ()
        if body["messages"][-1]["role"] != "tool" and self.random.random() < 0.25:
            calls = (Call(f"call_{self.n_words}", "read_file", '{"path": "README.md"}'),)
        return Reply(said, calls=calls, n_pieces=n)

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        await super()._write(writer, data)
        await asyncio.sleep(self.random.choice((0, 0.003, 0.02, 0.06)))


class _Answers(list[Any]):
    """In place of a list of answers: one is made for the request that just came."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    def __bool__(self) -> bool:
        return True

    def pop(self, _index: SupportsIndex = -1) -> Reply:
        body = self._model.requests[-1].body
        self._model.requests.clear()
        return self._model.answer(body)


@dataclass
class Machine:
    """A member's machine with one editor: its folder, the editor's server when one runs, and what the editor was
    shown. Machines with one `place` are editors of the same folder, with servers on the same store."""

    name: str
    member: str
    place: Place
    variables: dict[str, str]
    way: Relay
    """To the hub."""
    shown: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    followed: set[str] = field(default_factory=set)
    """What the editor was shown of turns of others."""
    n_watched: int = 0
    """The turns of other servers on the same store that the editor attached to."""
    server: Server | None = None
    speaks: bool = True
    """Whether it asks another question after the one that runs."""
    asks: str = ""
    """The word of the question whose turn runs; it is also the id of the request."""
    _stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def start(self, lab: Lab) -> None:
        self.server = await self._stack.enter_async_context(lab.server(self.place, _CONTESTED, **self.variables))
        await self.client.result("palimpsest/conversation/list", {})
        self._stack.callback(asyncio.create_task(self._watch(self.client)).cancel)

    async def look_at(self, at: str, *, has_neighbor: bool = False) -> None:
        """The editor shows the conversation from now on. `has_neighbor`: and the turns of other servers on its
        store."""
        await self.client.result("palimpsest/conversation/read", {"conversationId": at, "limit": 10})
        if has_neighbor:
            self._stack.callback(asyncio.create_task(self._watch_neighbors(self.client, at)).cancel)

    async def _watch(self, client: RawClient) -> None:
        """Attaches to each turn of the other machine that shows something."""
        while True:
            writer = (await client.notification("palimpsest/didChangePresence", math.inf)).get("writer") or {}
            if turn_id := writer.get("turnId"):
                client.start_request("palimpsest/turn/attach", {"turnId": turn_id, "partialResultToken": turn_id})

    async def _watch_neighbors(self, client: RawClient, at: str) -> None:
        """Attaches to each turn of another server on the same store."""
        seen: set[str] = set()
        while True:
            await client.notification("palimpsest/didChangeConversation", math.inf)
            read = await client.result("palimpsest/conversation/read", {"conversationId": at, "limit": 1})
            turn_id = read.get("running", {}).get("turnId")
            own = {each["value"].get("turnId") for each in client.received("$/progress")}
            if turn_id is not None and turn_id not in own | seen and self.read(_ASKED_HERE, turn_id):
                seen.add(turn_id)
                self.n_watched += 1
                token = f"{_NEIGHBOR}{turn_id}"
                client.start_request("palimpsest/turn/attach", {"turnId": turn_id, "partialResultToken": token})

    async def kill(self) -> None:
        """Ends the server by SIGKILL and reads what it had sent."""
        assert self.server is not None
        server, self.server = self.server, None  # nothing more is asked
        server.kill()
        code = await server.ended()
        self.note_followed(server.editor.client)
        await self._stack.aclose()
        require(code == -signal.SIGKILL, f"the server of {self.name} ended by itself: {code}")

    def note_followed(self, client: RawClient) -> None:
        """What an editor was shown of turns of another server on its store has to be there as its own has."""
        texts: dict[str, str] = {}
        for each in client.received("$/progress"):
            if not WORD.fullmatch(each["token"]) and each["value"]["type"] == "text":
                texts[each["token"]] = texts.get(each["token"], "") + each["value"]["text"]
        for token, text in texts.items():
            if token.startswith(_NEIGHBOR):
                self.shown |= _whole_words(text)
            else:
                self.followed |= set(WORD.findall(text))

    @property
    def client(self) -> RawClient:
        assert self.server is not None
        return self.server.editor.client

    @property
    def store(self) -> Path:
        return self.place.database.parent

    async def ask(self, at: str, word: str) -> str:
        """One turn; what was shown of it, also when the server ends in the middle."""
        client = self.client
        params = {"requestId": word, "text": f"Question {word} ?", "conversationId": at, "partialResultToken": word}
        error, has_ended, self.asks = None, False, word
        with contextlib.suppress(EOFError):
            error = (await client.request("palimpsest/chat", params, timeout_s=SETTLE_S)).get("error")
            has_ended = True
        values = [each["value"] for each in client.received("$/progress") if each["token"] == word]
        text = "".join(each.get("text", "") for each in values if each["type"] == "text")
        self.asks = ""
        self.shown |= _whole_words(text)
        if values:
            self.shown.add(word)
        elif error is not None:
            self.refused.add(word)
        if error is not None and not values:
            return f"refused, {error.get('data', {}).get('kind', error)}"
        return "whole" if has_ended else "cut short"

    @property
    def is_shown_something(self) -> bool:
        """Whether a turn runs of which the editor has seen a piece."""
        return self.server is not None and any(
            each["token"] == self.asks for each in self.client.received("$/progress")[-1:]
        )

    def read(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        """From the store's file, past the product."""
        with contextlib.closing(sqlite3.connect(f"file:{self.place.database}?mode=ro", uri=True, timeout=10)) as file:
            return file.execute(query, arguments).fetchall()


def _whole_words(text: str) -> set[str]:
    """Of a text that may end in the middle of one."""
    return set(WORD.findall(text[: text.rfind(" ") + 1]))
