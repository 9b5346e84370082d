"""Recorded sessions through the real engine: messages come one at a time, and a context may be asked for before each.

A message is {"role": "user" | "assistant" | "tool", "content", "tool_calls"?: [{"id", "name", "arguments"}],
"tool_call_id"?}. Each user message begins a turn, so what is recalled for it stands behind it as it would in a chat.
Budgets cover the messages alone, so there is no system prompt. Facts are made without a model, and summaries too unless
the setup names one.
"""

from __future__ import annotations

import asyncio
import json
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.conversation import Conversation, Setup, open_conversation

from palimpsest.domain.context.cut import CutCause, MessagePiece
from palimpsest.domain.context.previews import with_preview
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import RecentMessagesTooLarge
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    Digest,
    MessageId,
    Part,
    Role,
    TextPart,
    ToolCallPart,
    TurnId,
    clean_text,
    tool_result,
    user_message,
)
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.services.context.admission import Admission
from palimpsest.services.context.requests import Beginning
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import message_log

Message = dict[str, Any]
_LARGEST_BATCH: Final = 16
"""Assistant messages in a row whose calls may still be answered: parallel calls, recorded one message each."""
_NO_RESULT: Final = "No result was recorded."


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary with the messages that it stands for."""

    kind: str
    """`extractive`, `llm` or `hybrid`."""
    text: str
    originals: tuple[MessagePiece, ...]
    """Their sizes are not counted."""


class SessionSystem:
    """One conversation. Calls without results are closed as a turn closes them."""

    def __init__(self, budget: int, setup: Setup, more_budgets: Sequence[int] = ()) -> None:
        """`budget`: in tokens of the setup's model. `more_budgets`: what it may be switched to."""
        self._budget = budget
        self._setup = setup
        self._directory = tempfile.TemporaryDirectory(prefix="palimpsest-benchmark-")
        self._runner = asyncio.Runner()
        opening = open_conversation(Path(self._directory.name), budget, Frame("", ()), setup, more_budgets)
        self._conversation: Conversation = self._runner.run(opening)
        self._turn_id: TurnId | None = None
        """The turn that the next request is the first of."""
        self._open_calls: list[ToolCallPart] = []
        self._n_in_batch = 0
        self._n_appended = 0
        self.n_compactions = 0
        """Requests that a compaction by threshold came before."""
        self.prepare_ms = 0.0
        """CPU time, on all threads, of preparing the last context."""

    def append(self, message: Mapping[str, Any]) -> None:
        self._n_appended += 1
        contents = self._contents(message)
        self._runner.run(self._store(contents))

    def context(self) -> list[Message]:
        """The messages of the next request: at most the budget, their tokens as `cost` counts them."""
        return self._runner.run(self._context())

    def switch(self, budget: int) -> None:
        """Goes on with the model of that budget, the first or one of `more_budgets`."""
        self._budget = budget
        self._runner.run(self._conversation.switch(budget))

    def summaries(self) -> list[WrittenSummary]:
        """All that were written so far, the oldest first, whether or not the context still has them."""
        store, state = self._conversation.store, self._conversation.state

        def read() -> list[WrittenSummary]:
            return [
                WrittenSummary(
                    summary.kind, summary.text, _pieces(message_log.read(state.id, summary.start, summary.end))
                )
                for summary in summary_tree.read(state.id)
            ]

        return self._runner.run(store.read(read))

    def close(self) -> None:
        self._runner.run(self._conversation.close())
        self._runner.close()
        self._directory.cleanup()

    async def _store(self, contents: Sequence[Content]) -> None:
        engine, state = self._conversation.engine, self._conversation.state
        for content in contents:
            if content.role is Role.USER:
                try:
                    await Admission(engine).check(state, content, state.frame)
                except RecentMessagesTooLarge:
                    content = self._shortened(content)
                self._turn_id = await self._conversation.ask(content)
            else:
                await self._conversation.append([content])
        if not self._open_calls:  # as behind each step of a turn
            await self._conversation.rest()

    def _shortened(self, content: Content) -> Content:
        """A message over the budget is refused; whoever wrote it would shorten it and send it again."""
        state = self._conversation.state
        stored = StoredMessage(state.id, MessageId(state.n_messages), content, "", None, Digest(""))
        size = state.tokenizer.count(content.text)
        return with_preview(MessagePiece(stored, size), self._budget // 2, state.tokenizer.count).content

    async def _context(self) -> list[Message]:
        conversation, limit = self._conversation, self._budget
        version = conversation.state.cut.version
        self.prepare_ms = 0.0
        while True:
            frame = conversation.state.frame
            beginning = None if self._turn_id is None else Beginning(self._turn_id, frame)
            started = time.process_time()
            context = await conversation.requests.prepare(conversation.context, limit, beginning=beginning)
            self.prepare_ms += (time.process_time() - started) * 1000
            messages = [message for content in context.messages for message in rendered(content)]
            excess = sum(map(self.cost, messages)) - self._setup.raw_budget(self._budget)
            if excess <= 0:
                break
            limit -= math.ceil(excess * self._setup.factor)
        self._turn_id = None
        state = conversation.state
        self.n_compactions += state.cut.version != version and state.cut.cause is CutCause.THRESHOLD
        await self._tell_usage()
        return messages

    async def _tell_usage(self) -> None:
        """The model's service says what the request took: exactly what the catalog expects of it."""
        conversation = self._conversation
        state = conversation.state
        if not state.model.is_exact:
            taken = TokenUsage(input_tokens=round(state.raw_tokens * self._setup.factor))
            await conversation.engine.observe(state, state.raw_tokens, taken)

    def cost(self, message: Message) -> int:
        """Tokens of a rendered message: of its text with all calls, and 4."""
        calls = "".join(f"\n{call['name']} {call['arguments']}" for call in message.get("tool_calls", ()))
        return self._conversation.state.tokenizer.count(message["content"] + calls) + 4

    def _contents(self, message: Mapping[str, Any]) -> list[Content]:
        """What to store: the message, and before it what makes calls and results whole pairs."""
        said = message.get("content") or ""
        match Role(message["role"]):
            case Role.USER:
                return [*self._closed(), user_message(said)]
            case Role.ASSISTANT:
                is_batch = 0 < self._n_in_batch < _LARGEST_BATCH
                before = [] if is_batch else self._closed()
                self._n_in_batch += 1
                content = self._assistant(message, said)
                self._open_calls += content.calls
                return [*before, content]
            case Role.TOOL:
                self._n_in_batch = 0
                call = self._answered(message.get("tool_call_id"))
                if call is not None:
                    return [tool_result(call, said)]
                call = ToolCallPart(f"unknown-{self._n_appended}", "unknown", "{}")
                return [*self._closed(), Content(Role.ASSISTANT, (call,)), tool_result(call, said)]

    def _assistant(self, message: Mapping[str, Any], said: str) -> Content:
        text, notes = clean_text(said)
        parts: list[Part] = [TextPart(text)] if text else []
        for index, call in enumerate(message.get("tool_calls") or ()):
            arguments = call.get("arguments") or "{}"
            if not isinstance(arguments, str):
                arguments = json.dumps(arguments)
            call_id = call.get("id") or f"call-{self._n_appended}-{index}"
            parts.append(ToolCallPart(call_id, call.get("name") or "unknown", clean_text(arguments)[0]))
        return Content(Role.ASSISTANT, tuple(parts or [TextPart("")]), notes=notes)

    def _answered(self, call_id: str | None) -> ToolCallPart | None:
        """The open call of that id, or the oldest when the result names none."""
        for index, call in enumerate(self._open_calls):
            if call_id is None or call.call_id == call_id:
                return self._open_calls.pop(index)
        return None

    def _closed(self) -> list[Content]:
        """Results for the calls that got none."""
        results = [tool_result(call, _NO_RESULT, is_error=True) for call in self._open_calls]
        self._open_calls, self._n_in_batch = [], 0
        return results


def _pieces(messages: Sequence[StoredMessage]) -> tuple[MessagePiece, ...]:
    return tuple(MessagePiece(message, 0) for message in messages)


def rendered(content: Content) -> list[Message]:
    """A message as the protocol has it; one for each result of a tool message."""
    text = "".join(part.text for part in content.parts if isinstance(part, TextPart | AttachmentPart))
    match content.role:
        case Role.USER:
            return [{"role": "user", "content": text}]
        case Role.ASSISTANT:
            message: Message = {"role": "assistant", "content": text}
            if content.calls:
                message["tool_calls"] = [
                    {"id": call.call_id, "name": call.name, "arguments": call.arguments} for call in content.calls
                ]
            return [message]
        case Role.TOOL:
            return [
                {"role": "tool", "content": result.text, "tool_call_id": result.call_id} for result in content.results
            ]
