"""Ollama's own API (`/api/chat`, NDJSON; as of 2026-11).

Ollama shortens a request that does not fit, from the front and without a word, unless the request forbids it; and it
may load a model with a window as small as 4,096 tokens, whatever the model could take. So each request names its window
and asks for an error instead.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, Final

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
from palimpsest.domain.models.providers import BY_NAME, KEY_HEADERS
from palimpsest_clients import model_lists
from palimpsest_clients.decoding import own_call_id, string, word
from palimpsest_clients.http import ModelService, key_header
from palimpsest_clients.rendering import call_arguments, called, returned, said_by_user
from palimpsest_clients.retry import RetryPolicy

_NAME: Final = "ollama"
_WINDOW_STEP: Final = 1024
_LARGEST_WINDOW: Final = 32_768
"""The largest window that a model is given unasked: the memory for it is allocated when the model is loaded, and the
windows that models were trained for (131,072 and more) do not fit into most machines. The user may set more."""
_ASKED_AT_ONCE: Final = 4

Message = dict[str, Any]


class OllamaClient:
    """The `LiveProvider` for the models of an Ollama server. It takes no key."""

    def __init__(
        self,
        api_key: str | None = None,
        host: str = BY_NAME[_NAME].address,
        name: str = _NAME,
        *,
        auth: tuple[str, str] | None = KEY_HEADERS["bearer"],
        headers: Iterable[tuple[str, str]] = (),
        retry: RetryPolicy | None = None,
    ) -> None:
        """`host`: a value of OLLAMA_HOST. `api_key`: None for Ollama itself, which wants none; a service in front of it
        may. Raises ProviderError (auth) when it cannot be a key."""
        self._name = name
        every = {"accept": "application/x-ndjson", **dict(headers)}
        key = key_header(name, auth, api_key)
        self._service = ModelService(name, address_of(host), every, key, retry or RetryPolicy())
        self._windows: dict[str, int] = {}
        """By model, the largest window so far. With another window Ollama loads the model again, which takes long
        and loses its cache, and the request for a summary needs less than that for a conversation."""

    @property
    def name(self) -> str:
        return self._name

    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        body = request_body(context, self._window(context), self._name)
        return self._service.stream("/api/chat", body, lambda: ChatDecoder(context.model, self._name))

    async def models(self) -> Sequence[LiveModel]:
        """The models that were pulled and can chat. The limits of a model that cannot be looked up are None."""
        answer = await self._service.fetch("/api/tags")
        listed = answer.get("models") if isinstance(answer, Mapping) else None
        entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
        names = [name for entry in entries if isinstance(name := entry.get("model") or entry.get("name"), str)]
        turn = asyncio.Semaphore(_ASKED_AT_ONCE)
        found = await asyncio.gather(*(self._live_model(name, turn) for name in names))
        return [model for model in found if model is not None]

    async def count_tokens(self, context: PreparedContext) -> int | None:
        """None: Ollama only counts the requests that it answers."""
        return None

    async def aclose(self) -> None:
        await self._service.aclose()

    def _window(self, context: PreparedContext) -> int:
        needed = context.window_tokens or context.limit_tokens + context.max_output_tokens
        window = max(-(-needed // _WINDOW_STEP) * _WINDOW_STEP, self._windows.get(context.model, 0))
        self._windows[context.model] = window
        return window

    async def _live_model(self, name: str, turn: asyncio.Semaphore) -> LiveModel | None:
        try:
            async with turn:
                shown = await self._service.fetch("/api/show", name, {"model": name})
        except ProviderError:
            return LiveModel(name, None)
        if not isinstance(shown, Mapping):
            return LiveModel(name, None)
        abilities = shown.get("capabilities")
        if isinstance(abilities, list) and "completion" not in abilities:
            return None  # such as a model for embeddings
        # The window is the only limit of an answer.
        window = shown_window(shown)
        sees = "vision" in abilities if isinstance(abilities, list) else None
        return LiveModel(name, model_lists.limits(window, window, sees))


def address_of(host: str) -> str:
    """The base address that Ollama understands by a value of OLLAMA_HOST: a whole address, or HOST, HOST:PORT or
    :PORT."""
    host = host.strip().strip("\"'").rstrip("/")
    if "://" not in host:
        port = re.search(r":\d+$", host)
        name = host[: port.start()] if port else host
        host = f"http://{name or '127.0.0.1'}{port[0] if port else ':11434'}"
    return host.replace("://0.0.0.0", "://127.0.0.1")  # a server that listens everywhere is found here


def shown_window(shown: Mapping[str, Any]) -> int | None:
    """The window for a model as `/api/show` describes it: that of its own file, else the smaller of 32,768 and the
    window that it was trained for; never more than the latter."""
    info, parameters = shown.get("model_info"), shown.get("parameters")
    lengths = [n for name, n in info.items() if name.endswith(".context_length")] if isinstance(info, Mapping) else []
    trained = next(filter(None, map(model_lists.tokens, lengths)), None)
    found = re.search(r"^num_ctx\s+(\d{1,9})\s*$", parameters, re.M) if isinstance(parameters, str) else None
    window = int(found[1]) if found else trained and min(trained, _LARGEST_WINDOW)
    return model_lists.tokens(min(window, trained) if window and trained else window)


def request_body(context: PreparedContext, window: int, provider: str = _NAME) -> dict[str, Any]:
    """The request for `context`. Ollama may shorten neither the request (`truncate`) nor, while it answers, the
    context (`shift`)."""
    body: dict[str, Any] = {
        "model": context.model,
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_ctx": window, "num_predict": context.max_output_tokens},
        "messages": _messages(context, provider),
    }
    if context.tools and context.tool_choice != "none":  # Ollama has no other way to forbid them
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in context.tools
        ]
    return body


def _messages(context: PreparedContext, provider: str) -> list[Message]:
    """The messages, with neighbors of one role merged: the templates of many models demand alternation."""
    messages: list[Message] = []
    if context.system.strip():
        messages.append({"role": "system", "content": context.system})
    for content in context.messages:
        if content.role is Role.ASSISTANT:
            _add_assistant(messages, content, provider, context.model)
            continue
        for result in content.results:
            _add_result(messages, result)
        if said := said_by_user(content, context.pictures):
            text = "\n\n".join(each for each in said if isinstance(each, str))
            if messages and messages[-1]["role"] == "user":
                messages[-1]["content"] += f"\n\n{text}"
            else:
                messages.append({"role": "user", "content": text})
            if images := [each.data for each in said if not isinstance(each, str)]:
                messages[-1].setdefault("images", []).extend(images)
    return messages


def _add_assistant(messages: list[Message], content: Content, provider: str, model: str) -> None:
    text = content.text if content.text.strip() else ""
    calls = [_call(part) for part in content.calls]
    if not text and not calls:
        return
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant" and "tool_calls" not in last:
        last["content"] += f"\n\n{text}" if text else ""
    else:
        last = {"role": "assistant", "content": text}
        messages.append(last)
    if calls:
        last["tool_calls"] = calls
        for thought in returned(content, provider, model, thinking=str):
            last["thinking"] = thought["thinking"]


def _call(part: ToolCallPart) -> dict[str, Any]:
    return {"id": part.call_id, "function": {"name": called(part), "arguments": call_arguments(part)}}


def _add_result(messages: list[Message], result: ToolResultPart) -> None:
    """Insert the result after the calls and their earlier results, before what the user said meanwhile. Older
    servers find its call by the name of the tool and the position, later ones by the id."""
    position = len(messages)
    while position and messages[position - 1]["role"] == "user":
        position -= 1
    message = {"role": "tool", "tool_name": called(result), "tool_call_id": result.call_id, "content": result.text}
    messages.insert(position, message)


class ChatDecoder:
    """The decoder of one answer."""

    def __init__(self, model: str, provider: str = _NAME) -> None:
        self._model = model
        self._provider = provider
        self._thinking: list[str] = []
        self._call_ids: list[str] = []
        self._usage = TokenUsage()
        self._done_reason = ""
        self.is_done = False

    def feed(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        message = event.get("message") or {}
        items: list[StreamEvent] = []
        if thought := string(message.get("thinking") or ""):
            self._thinking.append(thought)
            items.append(ThinkingDelta(thought))
        if text := string(message.get("content") or ""):
            items.append(TextDelta(text))
        for call in message.get("tool_calls") or ():
            call_id = own_call_id(call.get("id"), self._call_ids)
            self._call_ids.append(call_id)
            function = call["function"]
            arguments = canonical_json(function.get("arguments") or {})
            items += (ToolCallStart(call_id, string(function["name"])), ToolArguments(call_id, arguments))
        if event.get("done"):
            self._done_reason = word(event.get("done_reason"))
            n_in, n_out = (model_lists.tokens(event.get(name)) or 0 for name in ("prompt_eval_count", "eval_count"))
            self._usage = TokenUsage(input_tokens=n_in, output_tokens=n_out)
            self.is_done = True
        return items

    def finish(self) -> Finished | None:
        if not self.is_done:
            return None
        reason = StopReason.TOOL_CALLS if self._call_ids else StopReason.END
        if self._done_reason == "length":
            reason = StopReason.OUTPUT_LIMIT
        return Finished(reason, self._usage, self._opaque())

    def _opaque(self) -> tuple[OpaquePart, ...]:
        """Thinking before calls: the model goes on from it when the results come."""
        if not self._thinking or not self._call_ids:
            return ()
        return (OpaquePart(self._provider, self._model, canonical_json({"thinking": "".join(self._thinking)})),)
