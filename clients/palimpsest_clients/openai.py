"""OpenAI's Responses API, without state on its side: nothing is stored there, so everything is sent each time.

What a model thought comes back encrypted, in items of its own. An item with an id must return with its neighbours: the
service refuses thinking without what followed it, and a message or call whose thinking is missing. So the items of one
answer go back with all their ids, or with none. Strictness of tool schemas is off: ours have optional fields.

Facts: the types of the official SDK 3.54, and reports in public issue trackers, 2026-11.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.messages import Content, OpaquePart, Role, TextPart, ToolCallPart, canonical_json
from palimpsest.domain.models.provider import LiveModel, StreamEvent
from palimpsest_clients import model_lists
from palimpsest_clients.http import KeyHeader, ModelService
from palimpsest_clients.rendering import call_arguments, called, returned, user_texts
from palimpsest_clients.responses_decoder import OPENAI, ResponsesDecoder
from palimpsest_clients.retry import RetryPolicy

_WITHOUT_REASONING: Final = ("gpt-3.5", "gpt-4", "chatgpt-", "gpt-5-chat")
"""Prefixes of models that refuse a request in which encrypted reasoning is asked for."""
_UNREADABLE: Final = "invalid_encrypted_content"
"""The error code for reasoning that another organisation's key, or an older one, was given."""
_LEAST_OUTPUT: Final = 16
_LONGEST_CALL_ID: Final = 64

Item = dict[str, Any]


class OpenAIClient:
    """The `Provider` for OpenAI itself. Other services that use its name speak Chat Completions."""

    def __init__(
        self, api_key: str, base_url: str = "https://api.openai.com/v1", *, retry: RetryPolicy | None = None
    ) -> None:
        """Raises ProviderError (auth) when `api_key` cannot be a key."""
        key = KeyHeader(OPENAI, "authorization", api_key, "Bearer ")
        self._service = ModelService(OPENAI, base_url, {}, key, retry or RetryPolicy())

    @property
    def name(self) -> str:
        return OPENAI

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """Reasoning that the service can no longer read is left out, once: without it the answer is only a little
        worse, and with it no request of the conversation would be answered again."""
        events = self._ask(context, request_body(context))
        try:
            first = await anext(events)
        except ProviderError as error:
            if error.kind is not ErrorKind.BAD_RESPONSE or _UNREADABLE not in str(error):
                raise
            events = self._ask(context, request_body(_without_opaque(context)))
            first = await anext(events)
        async with aclosing(events):
            yield first
            async for event in events:
                yield event

    def _ask(self, context: PreparedContext, body: Mapping[str, Any]) -> AsyncGenerator[StreamEvent, None]:
        return self._service.stream("/responses", body, lambda: ResponsesDecoder(context.model))

    async def models(self) -> Sequence[LiveModel]:
        """Names only: the service does not say what its models take."""
        listed = model_lists.entries(await self._service.fetch("/models"))
        return [LiveModel(entry["id"], None) for entry in listed]

    async def count_tokens(self, context: PreparedContext) -> int | None:
        body = _input_body(context)
        answer = await self._service.fetch("/responses/input_tokens", context.model, body)
        return model_lists.tokens(answer.get("input_tokens")) if isinstance(answer, Mapping) else None

    async def aclose(self) -> None:
        await self._service.aclose()


def request_body(context: PreparedContext) -> dict[str, Any]:
    body: dict[str, Any] = {
        **_input_body(context),
        "max_output_tokens": max(context.max_output_tokens, _LEAST_OUTPUT),
        "prompt_cache_key": context.conversation_id,
        "store": False,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
    }
    if not context.model.startswith(_WITHOUT_REASONING):
        body["include"] = ["reasoning.encrypted_content"]
    return body


def _input_body(context: PreparedContext) -> dict[str, Any]:
    """What is counted: all that the model reads."""
    body: dict[str, Any] = {"model": context.model, "input": _items(context)}
    if context.system.strip():
        body["instructions"] = context.system
    if context.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            for tool in context.tools
        ]
        if context.tool_choice == "none":
            body["tool_choice"] = "none"
    return body


def _without_opaque(context: PreparedContext) -> PreparedContext:
    def bare(content: Content) -> Content:
        return replace(content, parts=tuple(part for part in content.parts if not isinstance(part, OpaquePart)))

    segments = (replace(each, contents=tuple(map(bare, each.contents))) for each in context.segments)
    return replace(context, segments=tuple(segments))


def _items(context: PreparedContext) -> list[Item]:
    items: list[Item] = []
    for content in context.messages:
        if content.role is Role.ASSISTANT:
            items += _assistant_items(content, context.model)
            continue
        for result in content.results:
            items.append({"type": "function_call_output", "call_id": _call_id(result.call_id), "output": result.text})
        if text := "\n\n".join(user_texts(content)):
            items.append({"type": "message", "role": "user", "content": text})
    return items


def _assistant_items(content: Content, model: str) -> list[Item]:
    """Text, calls and reasoning in the order they came.

    Reasoning is passed when what follows it comes, so what stands at the very end is left out, as the service demands.
    A call finds its mark by its id, because text may have become shorter on its way here.
    """
    marks = _marks(content, model)
    items: list[Item] = []
    message: Item = {}
    position = 0

    def pass_mark() -> None:
        nonlocal message
        mark = marks.pop(0)["item"]
        message = mark if mark["type"] == "message" else {}
        if mark["type"] == "reasoning":
            items.append(mark)

    for part in content.parts:
        match part:
            case TextPart():
                rest = part.text
                while rest:
                    while marks and marks[0]["after"] <= position:
                        pass_mark()
                    end = marks[0]["after"] - position if marks else len(rest)
                    piece, rest = rest[:end], rest[end:]
                    if piece.strip() or message:
                        items.append(_message(message, piece))
                        message = {}
                    position += len(piece)
            case ToolCallPart():
                ids = [each["item"].get("call_id") for each in marks]
                n_passed = ids.index(part.call_id) + 1 if part.call_id in ids else 0
                mark = marks[n_passed - 1]["item"] if n_passed else {}
                for _ in range(n_passed):
                    pass_mark()
                items.append(_call(part, mark))
                position += 1
            case _:
                pass
    return items


def _marks(content: Content, model: str) -> list[Item]:
    """Where the items of the answer began, in their order. Chat Completions under the same name writes other parts."""
    marks = returned(content, OPENAI, model, after=int, item=dict)
    return [mark for mark in marks if isinstance(mark["item"].get("type"), str)]


def _message(mark: Mapping[str, Any], text: str) -> Item:
    item: Item = {"type": "message", "role": "assistant", **mark}
    if "id" not in mark:
        return {**item, "content": text}
    return {**item, "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}


def _call(part: ToolCallPart, mark: Mapping[str, Any]) -> Item:
    return {
        "type": "function_call",
        **mark,
        "call_id": _call_id(part.call_id),
        "name": called(part),
        "arguments": canonical_json(call_arguments(part)),
    }


def _call_id(call_id: str) -> str:
    """Ids of other services may be longer than this one takes."""
    if len(call_id) <= _LONGEST_CALL_ID:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"
