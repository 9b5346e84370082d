"""A provider that plays a given list of replies, and a folder session around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.vocabularies import vocabularies

from palimpsest.data import load_frame, load_model_table
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.models.provider import (
    Counted,
    Finished,
    Pause,
    StopReason,
    StreamEvent,
    TextDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.domain.settings.settings import ContextSettings, Settings
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.recall import Recall
from palimpsest.services.context.requests import Requests
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.events import FolderEvent
from palimpsest.services.folder.session import FolderSession, OpenFolder
from palimpsest.services.models.catalog import Models, with_override
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.services.tools.toolbox import Tool, Toolbox
from palimpsest.services.turns.engine import TurnEngine
from palimpsest.services.turns.run import TurnServices
from palimpsest.storage.store import Store, open_store

Action = StreamEvent | Exception | asyncio.Event | Callable[[], None]
"""What a reply is made of: an event to send, an error to raise, a gate to wait at, a thing to do."""


def says(*texts: str) -> list[Action]:
    """A whole answer."""
    return [*(TextDelta(text) for text in texts), Finished(StopReason.END, TokenUsage(output_tokens=2))]


def calls(*named: tuple[str, str, str]) -> list[Action]:
    """An answer that calls tools: (call id, name, arguments)."""
    events: list[Action] = []
    for call_id, name, arguments in named:
        events += [ToolCallStart(call_id, name), ToolArguments(call_id, arguments)]
    return [*events, Finished(StopReason.TOOL_CALLS, TokenUsage())]


@dataclass
class ScriptedProvider:
    """Takes the name of the offline provider, so that no other model has to be configured."""

    replies: list[list[Action]]
    name: str = "offline"
    seen: list[PreparedContext] = field(default_factory=list)
    """Every context it was given."""
    n_closed: int = 0
    look: Callable[[PreparedContext], None] = lambda _: None
    """Called with every context, at the moment it is given."""

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        self.seen.append(context)
        self.look(context)
        try:
            for action in self.replies.pop(0):
                match action:
                    case Exception():
                        raise action
                    case asyncio.Event():
                        await action.wait()
                    case Pause() | Counted() | TextDelta() | ToolCallStart() | ToolArguments() | Finished():
                        yield action
                    case _ if callable(action):
                        action()
                    case _:
                        raise AssertionError(action)
        finally:
            self.n_closed += 1


@dataclass
class Bench:
    """A folder session on a scripted provider, with what it told."""

    session: FolderSession
    provider: ScriptedProvider
    conversation_id: ConversationId
    events: list[FolderEvent]
    frame: Frame
    frame_now: Callable[[], Awaitable[Frame]]
    """What stands before a conversation whose turn begins now: `frame`, unless a test says otherwise."""

    @property
    def store(self) -> Store:
        return self.session.folder.store

    async def ask(self, text: str, request_id: str | None = None) -> str:
        """Runs a turn to its end; the state it ended in."""
        running = await self.session.turns.start(self.conversation_id, request_id or text, user_message(text))
        assert not isinstance(running, str)
        return (await running.wait()).state.value

    async def said(self) -> list[tuple[str, str, str]]:
        """Role, text and status of every stored message; a tool result's text for tool messages."""
        page = await self.session.conversations.read(self.conversation_id, None, 1000)
        return [
            (
                m.content.role.value,
                m.content.text or "".join(r.text for r in m.content.results),
                m.content.status.value,
            )
            for m in page.messages
        ]


Opener = Callable[..., Awaitable[Bench]]
"""What the fixture `bench` is: `open_bench` without a directory."""


async def open_bench(
    directory: Path,
    replies: Sequence[list[Action]] = (),
    *,
    window: int = 200_000,
    reserve: int | None = None,
    tools: tuple[Tool, ...] = (),
    context: Mapping[str, Any] | None = None,
    recalls: bool = False,
) -> Bench:
    """A new store with one conversation in it. `context`: fields of the context settings. `recalls`: whether turns are
    told of what their context does not hold."""
    settings = Settings(context=ContextSettings(**{"threshold": 0.8, "output_limit": reserve, **(context or {})}))
    provider = ScriptedProvider(list(replies))
    table = load_model_table()
    offline = table.find("offline")
    assert offline is not None
    models = with_override(Models(table, {"offline": provider}, {}, settings), with_window(offline, window))
    store = await open_store(directory)
    folder, events = OpenFolder(directory, store), list[FolderEvent]()
    folder.listeners.add(events.append)
    frame = load_frame()
    frame = type(frame)(frame.system, tuple(tool.schema for tool in tools))

    async def usual_frame() -> Frame:
        return bench.frame

    async def frame_now() -> Frame:
        return await bench.frame_now()

    async def frame_of(_: object) -> Frame:
        return await bench.frame_now()

    contexts = ContextEngine(
        folder.leases,
        models,
        Tokenizers(vocabularies()),
        settings.context,
        frame_now,
        folder.listeners.tell,
    )
    requests = Requests(contexts, Recall(store) if recalls else None)
    services = TurnServices(store, contexts, requests, Toolbox((lambda _: tools,)), frame_of, folder.changed)
    conversations = Conversations(store, contexts, folder.listeners)
    session = FolderSession(folder, contexts, TurnEngine(services, folder.running), conversations)
    bench = Bench(session, provider, ConversationId(""), events, frame, usual_frame)
    bench.conversation_id = (await conversations.create("bench", None)).id
    return bench
