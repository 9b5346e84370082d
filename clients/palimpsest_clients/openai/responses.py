"""OpenAI's Responses API without state: the service stores nothing, so each request contains everything.

The thinking of a model comes encrypted, in items of its own. An item with an id must return with its neighbors: the
service refuses thinking without what followed it, and a message or call without its thinking. So the items of one
answer go back with all their ids, or with none. Strict tool schemas are off, because ours have optional fields.

From the types of the official SDK 3.54, and reports in public issue trackers, 2026-11.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.messages import Content, OpaquePart, Role, TextPart, ToolCallPart, canonical_json
from palimpsest.domain.models.provider import (
    Finished,
    LiveModel,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.domain.models.providers import BY_NAME, KEY_HEADERS
from palimpsest_clients import faults, model_lists
from palimpsest_clients.decoding import counts, index, string, word
from palimpsest_clients.http import ModelService, key_header
from palimpsest_clients.rendering import Picture, call_arguments, called, joined, returned, said_by_user
from palimpsest_clients.retry import RetryPolicy

_NAME: Final = "openai"
_WITHOUT_REASONING: Final = ("gpt-3.5", "gpt-4", "chatgpt-", "gpt-5-chat")
"""Prefixes of the models that refuse a request for encrypted reasoning."""
_UNREADABLE: Final = "invalid_encrypted_content"
"""The error code for reasoning that was encrypted for another organization's key, or for an older one."""
_STOP_REASONS: Final = {"max_output_tokens": StopReason.OUTPUT_LIMIT, "content_filter": StopReason.FILTERED}
"""By the reason why an answer is incomplete. All other reasons end it or ask for its calls."""
_LEAST_OUTPUT: Final = 16
_LONGEST_CALL_ID: Final = 64

Item = dict[str, Any]


class ResponsesClient:
    """The `Provider` for OpenAI itself. Other services under its name speak Chat Completions."""

    def __init__(
        self,
        api_key: str | None,
        base_url: str = BY_NAME[_NAME].address,
        name: str = _NAME,
        *,
        auth: tuple[str, str] | None = KEY_HEADERS["bearer"],
        headers: Iterable[tuple[str, str]] = (),
        retry: RetryPolicy | None = None,
    ) -> None:
        """Raises ProviderError (auth) when `api_key` cannot be a key."""
        self._name = name
        self._service = ModelService(
            name, base_url, dict(headers), key_header(name, auth, api_key), retry or RetryPolicy()
        )

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """Reasoning that the service can no longer read is left out, once. Without it the answer is only a little
        worse; with it, no request of the conversation would be answered again."""
        events = self._ask(context, request_body(context, self._name))
        try:
            first = await anext(events)
        except ProviderError as error:
            if error.kind is not ErrorKind.BAD_RESPONSE or _UNREADABLE not in str(error):
                raise
            events = self._ask(context, request_body(_without_opaque(context), self._name))
            first = await anext(events)
        async with aclosing(events):
            yield first
            async for event in events:
                yield event

    def _ask(self, context: PreparedContext, body: Mapping[str, Any]) -> AsyncGenerator[StreamEvent, None]:
        return self._service.stream("/responses", body, lambda: ResponsesDecoder(context.model, self._name))

    async def models(self) -> Sequence[LiveModel]:
        """The models by name only: the service does not tell their limits."""
        listed = model_lists.entries(await self._service.fetch("/models"))
        return [LiveModel(entry["id"], None) for entry in listed]

    async def count_tokens(self, context: PreparedContext) -> int | None:
        body = _input_body(context, self._name)
        answer = await self._service.fetch("/responses/input_tokens", context.model, body)
        return model_lists.tokens(answer.get("input_tokens")) if isinstance(answer, Mapping) else None

    async def aclose(self) -> None:
        await self._service.aclose()


def request_body(context: PreparedContext, provider: str = _NAME) -> dict[str, Any]:
    body: dict[str, Any] = {
        **_input_body(context, provider),
        "max_output_tokens": max(context.max_output_tokens, _LEAST_OUTPUT),
        "prompt_cache_key": context.conversation_id,
        "store": False,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
    }
    if not context.model.startswith(_WITHOUT_REASONING):
        body["include"] = ["reasoning.encrypted_content"]
    return body


def _input_body(context: PreparedContext, provider: str) -> dict[str, Any]:
    """The part of the request that is counted: all that the model reads."""
    body: dict[str, Any] = {"model": context.model, "input": _items(context, provider)}
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

    segments = (each._replace(contents=tuple(map(bare, each.contents))) for each in context.segments)
    return replace(context, segments=tuple(segments))


def _items(context: PreparedContext, provider: str) -> list[Item]:
    items: list[Item] = []
    for content in context.messages:
        if content.role is Role.ASSISTANT:
            items += _assistant_items(content, provider, context.model)
            continue
        said = joined(said_by_user(content, context.pictures))
        results = content.results
        for result in results:
            items.append({"type": "function_call_output", "call_id": _call_id(result.call_id), "output": result.text})
        if results and said and len(results) == 1:  # the pictures that a tool showed
            items[-1]["output"] = _inputs([results[0].text, *said] if results[0].text else said)
        elif said:
            items.append({"type": "message", "role": "user", "content": _content(said)})
    return items


def _content(said: Sequence[str | Picture]) -> str | list[Item]:
    return said[0] if len(said) == 1 and isinstance(said[0], str) else _inputs(said)


def _inputs(said: Sequence[str | Picture]) -> list[Item]:
    return [
        {"type": "input_text", "text": each}
        if isinstance(each, str)
        else {"type": "input_image", "image_url": each.url, "detail": "high"}
        for each in said
    ]


def _assistant_items(content: Content, provider: str, model: str) -> list[Item]:
    """Text, calls and reasoning in the order in which they came.

    Reasoning is added when what follows it comes, so reasoning at the very end is left out, as the service demands. A
    call finds its mark by its id, because the text may have become shorter since.
    """
    marks = _marks(content, provider, model)
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


def _marks(content: Content, provider: str, model: str) -> list[Item]:
    """Where the items of the answer began, in their order. Chat Completions writes other parts under the same name."""
    marks = returned(content, provider, model, after=int, item=dict)
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
    """The id, shortened where it is longer than this service takes; ids of other services may be."""
    if len(call_id) <= _LONGEST_CALL_ID:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


class ResponsesDecoder:
    """The decoder of one answer."""

    def __init__(self, model: str, provider: str = _NAME) -> None:
        self._model = model
        self._provider = provider
        self._items: dict[int, Item] = {}
        """By index: the items of the answer as the service last told them."""
        self._began_at: dict[int, int] = {}
        """By index: the characters of text before the item, where a call counts as one."""
        self._with_arguments: set[int] = set()
        self._position = 0
        self._has_refused = False
        self._stop_reason = StopReason.END
        self._usage: object = None
        self.is_done = False

    def feed(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        match event.get("type"):
            case "response.output_item.added":
                return self._begin(index(event["output_index"]), event["item"])
            case "response.output_text.delta":
                return self._said(event["delta"])
            case "response.refusal.delta":
                self._has_refused = True
                return self._said(event["delta"])
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if event["delta"]:
                return (ThinkingDelta(string(event["delta"])),)
            case "response.reasoning_summary_part.added" if event["summary_index"] > 0:
                return (ThinkingDelta("\n\n"),)
            case "response.function_call_arguments.delta" if event["delta"]:
                return self._arguments(index(event["output_index"]), event["delta"])
            case "response.output_item.done":
                return self._end(index(event["output_index"]), event["item"])
            case "response.completed" | "response.incomplete":
                self._finish(event["response"])
            case "response.failed":
                self._fail(event["response"].get("error"))
            case "error":  # an error with the nested form never comes here
                self._fail(event)
            case _:
                pass  # progress, repetitions of what was streamed, and events of later versions
        return ()

    def finish(self) -> Finished | None:
        if not self.is_done:
            return None
        told, details = counts(self._usage), counts(self._usage, "input_tokens_details")
        n_read, n_written = details["cached_tokens"], details["cache_write_tokens"]
        usage = TokenUsage(
            input_tokens=max(0, told["input_tokens"] - n_read - n_written),
            cache_read_tokens=n_read,
            cache_write_tokens=n_written,
            output_tokens=told["output_tokens"],
        )
        return Finished(self._stop_reason, usage, self._opaque())

    def _begin(self, at: int, item: Item) -> Sequence[StreamEvent]:
        self._items[at] = item
        self._began_at[at] = self._position
        if item["type"] != "function_call":
            return ()
        self._position += 1
        return (ToolCallStart(string(item["call_id"]), string(item["name"])),)

    def _said(self, text: object) -> Sequence[StreamEvent]:
        text = string(text)
        self._position += len(text)
        return (TextDelta(text),) if text else ()

    def _arguments(self, at: int, text: object) -> Sequence[StreamEvent]:
        self._with_arguments.add(at)
        return (ToolArguments(string(self._items[at]["call_id"]), string(text)),)

    def _end(self, at: int, item: Item) -> Sequence[StreamEvent]:
        """The end of an item, when reasoning is complete. Arguments that were not streamed are in it, or are the
        empty object."""
        begun = () if at in self._items else self._begin(at, item)
        self._items[at] = item
        if item["type"] != "function_call" or at in self._with_arguments:
            return begun
        return (*begun, *self._arguments(at, item.get("arguments") or "{}"))

    def _finish(self, response: Mapping[str, Any]) -> None:
        self._usage = response.get("usage")
        why = word((response.get("incomplete_details") or {}).get("reason"))
        has_calls = any(item["type"] == "function_call" for item in self._items.values())
        self._stop_reason = _STOP_REASONS.get(why, StopReason.TOOL_CALLS if has_calls else StopReason.END)
        if self._has_refused:
            self._stop_reason = StopReason.FILTERED
        self.is_done = True

    def _fail(self, error: Any) -> None:
        raise faults.from_answer(self._provider, self._model, None, {"error": error})

    def _opaque(self) -> tuple[OpaquePart, ...]:
        """The marks of the items for their way back. Reasoning without encryption cannot go back, and then the ids
        of the other items cannot either."""
        items = sorted(self._items.items())
        reasoning = [item for _, item in items if item["type"] == "reasoning"]
        has_ids = all(item.get("id") for _, item in items)
        with_ids = bool(reasoning) and has_ids and all(item.get("encrypted_content") for item in reasoning)
        marks = [(at, _mark(item, with_ids)) for at, item in items]
        return tuple(
            OpaquePart(self._provider, self._model, canonical_json({"after": self._began_at[at], "item": mark}))
            for at, mark in marks
            if mark
        )


def _mark(item: Item, with_ids: bool) -> Item | None:
    """The part of an item that the message's other parts do not say. `phase` tells comments from the final answer."""
    match item["type"]:
        case "reasoning":
            return item if with_ids else None
        case "message":
            kept = {name: item[name] for name in (("id", "phase") if with_ids else ("phase",)) if item.get(name)}
        case "function_call" if with_ids:
            kept = {"id": item["id"], "call_id": item["call_id"]}
        case _:
            kept = {}
    return {"type": item["type"], **kept} if kept else None
