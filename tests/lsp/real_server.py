"""The real server with a home of its own: in this process, or started as an editor starts it, `palimpsest serve`."""

from __future__ import annotations

import contextlib
import shutil
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.fake_provider import KEY, FakeProvider, Fault, Reply
from tests.lsp.in_process import connected_here
from tests.lsp.rawlsp import Message, RawClient, started
from tests.waiting import WAIT_S

COMMAND = [sys.executable, "-P", "-m", "palimpsest", "serve", "--stdio"]

STALL = Fault(then="stall", after=3)
"""An answer that hangs after its opening event and two of its three pieces of text."""
STALLED_TEXT = Reply().text[: 2 * -(-len(Reply().text) // 3)]
"""What it has said by then."""


@dataclass
class Editor:
    """One editor with one server on one folder."""

    client: RawClient

    async def chat(self, text: str, **more: Any) -> Message:
        """The whole answer of a turn; its deltas are in `shown`."""
        return await self.client.request("palimpsest/chat", self.chat_params(text, **more), timeout_s=2 * WAIT_S)

    @staticmethod
    def chat_params(text: str, **more: Any) -> dict[str, Any]:
        return {"requestId": uuid.uuid4().hex, "text": text} | more

    def shown(self, token: str) -> list[dict[str, Any]]:
        """Every delta that came on a partial result token so far."""
        return [p["value"] for p in self.client.received("$/progress") if p["token"] == token]

    def shown_text(self, token: str) -> str:
        return "".join(delta.get("text", "") for delta in self.shown(token) if delta["type"] == "text")

    async def until_shown(self, token: str, text: str) -> None:
        """Waits until exactly `text` was shown on the token; a failure when something else is."""
        while self.shown_text(token) != text:
            assert text.startswith(self.shown_text(token))
            await self.client.notification("$/progress")

    async def read(self, conversation_id: str) -> dict[str, Any]:
        result: dict[str, Any] = await self.client.result(
            "palimpsest/conversation/read", {"conversationId": conversation_id, "limit": 1000}
        )
        return result


def home(directory: Path, **more: str) -> dict[str, str]:
    """Variables whose home, data and caches lie in `directory`; no key is configured."""
    hidden = {name: "" for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PALIMPSEST_MODEL")}
    places = {
        "HOME": str(directory / "home"),
        "XDG_DATA_HOME": str(directory / "data"),
        "XDG_CACHE_HOME": str(directory / "cache"),
        "XDG_STATE_HOME": str(directory / "state"),
        "XDG_CONFIG_HOME": str(directory / "config"),
    }
    return hidden | places | more


def on_fake(url: str) -> dict[str, str]:
    """Configures the OpenAI-compatible client for the fake provider. Summaries do not ask it: its replies are a
    script for the conversation."""
    return {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{url}/v1",
        "PALIMPSEST_MODEL": "gpt-4o",
        "PALIMPSEST_SUMMARIZATION_KIND": "extractive",
        "PALIMPSEST_LIBRARIAN_DAILY_TOKENS": "0",
    }


def files_of_now(directory: Path) -> Callable[[], None]:
    """What a kill of the server at `directory` would leave behind now. The result, called when the server has ended,
    brings it back."""
    data, kept = directory / "data", directory / "data of then"
    shutil.copytree(data, kept, ignore=shutil.ignore_patterns("*-shm"))  # SQLite makes it anew from the log

    def bring_back() -> None:
        shutil.rmtree(data)
        kept.rename(data)

    return bring_back


@contextlib.asynccontextmanager
async def editor(directory: Path, folder: Path, **more: str) -> AsyncIterator[Editor]:
    """An initialized editor on `folder`, of a server in this process whose home is in `directory`. Ends the server with
    the block."""
    async with connected_here(**home(directory, **more)) as client:
        yield await _on_folder(client, folder)


@contextlib.asynccontextmanager
async def editor_of_process(directory: Path, folder: Path, **more: str) -> AsyncIterator[Editor]:
    """As `editor`, of a server in a process of its own: for what a process does and a connection does not."""
    async with started(COMMAND, **home(directory, **more)) as client:
        yield await _on_folder(client, folder)


async def _on_folder(client: RawClient, folder: Path) -> Editor:
    answer = await client.initialize(workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name}])
    assert answer["result"]["capabilities"]["experimental"] == {"palimpsest": {"version": 1}}
    return Editor(client)


@contextlib.asynccontextmanager
async def two_editors(directory: Path, fake: FakeProvider, start: Callable[..., Any]) -> AsyncIterator[list[Editor]]:
    """On one folder, each with a server of its own. `start`: `editor` or `editor_of_process`."""
    folder = directory / "folder"
    folder.mkdir()
    async with contextlib.AsyncExitStack() as stack:
        both = [await stack.enter_async_context(start(directory, folder, **on_fake(fake.url))) for _ in range(2)]
        for each in both:
            await each.client.result("palimpsest/conversation/list", {})
        yield both
