"""OpenAI's Chat Completions API, and the dialects of the many services that imitate it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ProviderError
from palimpsest.domain.messages import Content, OpaquePart, Role, ToolCallPart, ToolResultPart, canonical_json
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
from palimpsest.domain.models.providers import KEY_HEADERS
from palimpsest_clients import model_lists
from palimpsest_clients.decoding import counts, string, word
from palimpsest_clients.http import ModelService, key_header
from palimpsest_clients.rendering import Picture, call_arguments, called, joined, returned, said_by_user
from palimpsest_clients.retry import RetryPolicy

_OPENAI: Final = "//api.openai.com"
_AZURE: Final = (".openai.azure.com", ".services.ai.azure.com")
_STOP_REASONS: Final = {"length": StopReason.OUTPUT_LIMIT, "content_filter": StopReason.FILTERED}
"""All other reasons end the answer or ask for its calls, whichever the answer contains: what services say there is
unreliable."""

Message = dict[str, Any]


class ChatCompletionsClient:
    """The `Provider` for a service at `base_url` that speaks Chat Completions."""

    def __init__(
        self,
        api_key: str | None,
        base_url: str = f"https:{_OPENAI}/v1",
        name: str = "openai",
        *,
        auth: tuple[str, str] | None = KEY_HEADERS["bearer"],
        headers: Iterable[tuple[str, str]] = (),
        retry: RetryPolicy | None = None,
    ) -> None:
        """`api_key`: None for a service that wants none. Raises ProviderError (auth) when `api_key` cannot be a key."""
        self._name = name
        self._is_openai = _OPENAI in base_url
        self._is_azure = any(host in base_url for host in _AZURE)
        self._root = base_url.rstrip("/").removesuffix("/v1")
        self._service = ModelService(
            name, base_url, dict(headers), key_header(name, auth, api_key), retry or RetryPolicy()
        )

    @property
    def name(self) -> str:
        return self._name

    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        body = request_body(context, self._name)
        if self._is_openai or self._is_azure:
            # OpenAI's newer models refuse max_tokens; most other services refuse or ignore these two.
            body["max_completion_tokens"] = body.pop("max_tokens")
        if self._is_openai:
            body["prompt_cache_key"] = context.conversation_id
        return self._service.stream("/chat/completions", body, lambda: ChatDecoder(self._name, context.model))

    async def models(self) -> Sequence[LiveModel]:
        """The models, with the limits that this kind of service tells."""
        listed = model_lists.entries(await self._service.fetch("/models"))
        windows: Mapping[str, int] = {}
        with contextlib.suppress(ProviderError):  # the list alone is an answer too
            if model_lists.is_llama_cpp(listed):
                window = model_lists.llama_cpp_window(await self._service.fetch(f"{self._root}/props"))
                windows = {listed[0]["id"]: window} if window else {}
            elif model_lists.is_lm_studio(listed):
                windows = model_lists.lm_studio_windows(await self._service.fetch(f"{self._root}/api/v0/models"))
        found = [model_lists.live_model(entry) for entry in listed]
        return [
            LiveModel(each.service_name, model_lists.limits(windows[each.service_name], None))
            if each.service_name in windows
            else each
            for each in found
        ]

    async def count_tokens(self, context: PreparedContext) -> int | None:
        """None: these services have no common way to count."""
        return None

    async def aclose(self) -> None:
        await self._service.aclose()


def request_body(context: PreparedContext, provider: str) -> dict[str, Any]:
    """The request for `context`, in words that every service of this kind understands."""
    body: dict[str, Any] = {
        "model": context.model,
        "max_tokens": context.max_output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": _messages(context, provider),
    }
    if context.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in context.tools
        ]
        if context.tool_choice == "none":
            body["tool_choice"] = "none"
    return body


def _messages(context: PreparedContext, provider: str) -> list[Message]:
    """The messages, with neighbors of one role merged: the templates of many local models demand alternation."""
    messages: list[Message] = []
    if context.system.strip():
        messages.append({"role": "system", "content": context.system})
    for content in context.messages:
        if content.role is Role.ASSISTANT:
            _add_assistant(messages, content, provider, context.model)
            continue
        for result in content.results:
            _add_result(messages, result)
        if said := said_by_user(content, context.pictures):  # a tool's result holds no picture in this format
            if messages and messages[-1]["role"] == "user":
                messages[-1]["content"] += said
            else:
                messages.append({"role": "user", "content": said})
    for message in messages:
        if message["role"] == "user":
            message["content"] = _content(joined(message["content"]))
    return messages


def _content(said: Sequence[str | Picture]) -> str | list[dict[str, Any]]:
    """A plain text where there is no picture: many services that imitate OpenAI take nothing else."""
    if len(said) == 1 and isinstance(said[0], str):
        return said[0]
    return [
        {"type": "text", "text": each}
        if isinstance(each, str)
        else {"type": "image_url", "image_url": {"url": each.url}}
        for each in said
    ]


def _add_assistant(messages: list[Message], content: Content, provider: str, model: str) -> None:
    text = content.text if content.text.strip() else ""
    calls = [_call(part) for part in content.calls]
    if not text and not calls:
        return
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant" and "tool_calls" not in last:
        last["content"] += f"\n\n{text}" if text else ""
        message = last
    else:
        message = {"role": "assistant", "content": text or None}
        messages.append(message)
    if calls:
        message["tool_calls"] = calls
        # The Responses API writes other parts under the same name.
        for thought in returned(content, provider, model, reasoning_content=str):
            message["reasoning_content"] = thought["reasoning_content"]


def _call(part: ToolCallPart) -> dict[str, Any]:
    arguments = canonical_json(call_arguments(part))
    return {"id": part.call_id, "type": "function", "function": {"name": called(part), "arguments": arguments}}


def _add_result(messages: list[Message], result: ToolResultPart) -> None:
    """Insert the result after the calls and their earlier results, before what the user said meanwhile."""
    position = len(messages)
    while position and messages[position - 1]["role"] == "user":
        position -= 1
    messages.insert(position, {"role": "tool", "tool_call_id": result.call_id, "content": result.text})


@dataclass(slots=True)
class _Call:
    own_id: str
    """Our id of the call, unique within the answer."""
    given_id: str | None
    has_arguments: bool = False


class ChatDecoder:
    """The decoder of one answer."""

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._calls: list[_Call] = []
        self._call_at: dict[int | None, _Call] = {}
        """The newest call with each index."""
        self._reasoning: list[str] = []
        """The pieces of `reasoning_content`; empty when that field never came."""
        self._usage: object = None
        self._finish_reason: str | None = None
        self._has_refused = False
        self.is_done = False

    def feed(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        self._usage = event.get("usage") or self._usage
        items: list[StreamEvent] = []
        for choice in (event.get("choices") or ())[:1]:
            items += self._delta(choice.get("delta") or {})
            reason = choice.get("finish_reason")
            if reason and reason != "error" and self._finish_reason is None:
                self._finish_reason = word(reason)
                items += [ToolArguments(call.own_id, "{}") for call in self._calls if not call.has_arguments]
        # Some services send running totals all the time: the last one comes with the finish reason or after it.
        self.is_done = self._finish_reason is not None and bool(event.get("usage"))
        return items

    def finish(self) -> Finished | None:
        if self._finish_reason is None:
            return None
        reason = _STOP_REASONS.get(self._finish_reason)
        if reason is None:
            reason = StopReason.TOOL_CALLS if self._calls else StopReason.END
        if self._has_refused:
            reason = StopReason.FILTERED
        return Finished(reason, _usage(self._usage), self._opaque())

    def _delta(self, delta: Mapping[str, Any]) -> list[StreamEvent]:
        items: list[StreamEvent] = []
        if delta.get("reasoning_content") is not None:
            self._reasoning.append(string(delta["reasoning_content"]))
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            items.append(ThinkingDelta(string(thought)))
        if delta.get("content"):
            items.append(TextDelta(string(delta["content"])))
        if delta.get("refusal"):
            self._has_refused = True
            items.append(TextDelta(string(delta["refusal"])))
        for piece in delta.get("tool_calls") or ():
            items += self._call_piece(piece)
        return items

    def _call_piece(self, piece: Mapping[str, Any]) -> list[StreamEvent]:
        """Pieces with the same index belong together. Some services give all calls one index: then a new id begins a
        new call."""
        items: list[StreamEvent] = []
        function = piece.get("function") or {}
        given_id = string(piece.get("id") or "") or None
        call = self._call_at.get(piece.get("index"))
        if call is None or (given_id and function.get("name") and given_id != call.given_id):
            is_taken = any(given_id == other.own_id for other in self._calls)
            call = _Call(given_id if given_id and not is_taken else f"call_{uuid4().hex[:24]}", given_id)
            self._calls.append(call)
            self._call_at[piece.get("index")] = call
            items.append(ToolCallStart(call.own_id, string(function["name"])))
        if function.get("arguments"):
            call.has_arguments = True
            items.append(ToolArguments(call.own_id, string(function["arguments"])))
        return items

    def _opaque(self) -> tuple[OpaquePart, ...]:
        """The thinking that goes back: services with `reasoning_content` refuse the results of calls without it."""
        if not self._reasoning or not self._calls:
            return ()
        data = canonical_json({"reasoning_content": "".join(self._reasoning)})
        return (OpaquePart(self._provider, self._model, data),)


def _usage(told: object) -> TokenUsage:
    """`prompt_tokens` includes the tokens that were read from and written to the cache."""
    usage, details = counts(told), counts(told, "prompt_tokens_details")
    n_read = details["cached_tokens"] or usage["prompt_cache_hit_tokens"]
    n_written = details["cache_write_tokens"]
    return TokenUsage(
        input_tokens=max(0, usage["prompt_tokens"] - n_read - n_written),
        cache_read_tokens=n_read,
        cache_write_tokens=n_written,
        output_tokens=usage["completion_tokens"],
    )
