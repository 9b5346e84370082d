"""Prepared contexts for tests, and what a stream of events amounts to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from palimpsest.domain.context.prepared import PreparedContext, Segment, ToolChoice
from palimpsest.domain.errors import ProviderError
from palimpsest.domain.messages import Content, ConversationId, Part, Role, TextPart
from palimpsest.domain.models.provider import (
    Finished,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.domain.tools import ToolSchema

READ_FILE = ToolSchema("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def user(text: str) -> Content:
    return Content(Role.USER, (TextPart(text),))


def assistant(*parts: Part) -> Content:
    return Content(Role.ASSISTANT, parts)


def context(
    *contents: Content,
    model: str = "model-x",
    system: str = "Be brief.",
    tools: tuple[ToolSchema, ...] = (READ_FILE,),
    n_stable_messages: int = 0,
    tool_choice: ToolChoice = "auto",
) -> PreparedContext:
    return PreparedContext(
        conversation_id=ConversationId("c-1"),
        model=model,
        system=system,
        tools=tools,
        segments=(Segment("message", 1, "live", contents or (user("Hi"),)),),
        max_output_tokens=1234,
        estimated_tokens=10,
        upper_tokens=20,
        limit_tokens=100,
        n_stable_messages=n_stable_messages,
        tool_choice=tool_choice,
    )


@dataclass
class Answer:
    """The events of one stream, and how it ended."""

    events: list[StreamEvent] = field(default_factory=list)
    error: ProviderError | None = None

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def thinking(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ThinkingDelta))

    @property
    def calls(self) -> dict[str, tuple[str, str]]:
        """Name and arguments by call id, in the order of their starts."""
        calls: dict[str, tuple[str, str]] = {}
        for event in self.events:
            match event:
                case ToolCallStart():
                    assert event.call_id not in calls
                    calls[event.call_id] = (event.name, "")
                case ToolArguments():
                    name, text = calls[event.call_id]
                    calls[event.call_id] = (name, text + event.text)
                case _:
                    pass
        return calls

    @property
    def finished(self) -> Finished:
        """The last event, which must be the only one of its kind."""
        *rest, last = self.events
        assert isinstance(last, Finished)
        assert not any(isinstance(event, Finished) for event in rest)
        return last


async def collect(stream: AsyncGenerator[StreamEvent, None]) -> Answer:
    answer = Answer()
    async with aclosing(stream):
        try:
            async for event in stream:
                answer.events.append(event)
        except ProviderError as error:
            answer.error = error
    return answer
