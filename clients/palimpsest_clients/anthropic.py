"""Anthropic's Messages API (version 2026-10-21), and services that imitate it.

A request has no sampling parameters: that version refuses temperature, top_p and top_k at any value.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    Digest,
    ImagePart,
    OpaquePart,
    Part,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    canonical_json,
)
from palimpsest.domain.models.provider import (
    Counted,
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
from palimpsest_clients.decoding import counts, index, string, word
from palimpsest_clients.http import ModelService, key_header
from palimpsest_clients.rendering import (
    BEGAN_EARLIER,
    Picture,
    attachment_text,
    call_arguments,
    called,
    pictured,
    returned,
)
from palimpsest_clients.retry import RetryPolicy

API_VERSION: Final = "2026-10-21"
_NAME: Final = "anthropic"
_MOST_PAGES: Final = 10
_CACHE_HERE: Final = {"type": "ephemeral"}
_STOP_REASONS: Final = {
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.OUTPUT_LIMIT,
    "model_context_window_exceeded": StopReason.OUTPUT_LIMIT,
    "refusal": StopReason.FILTERED,
}
"""All other reasons are ordinary ends."""

Block = dict[str, Any]


class AnthropicClient:
    """The `Provider` for Claude."""

    def __init__(
        self,
        api_key: str | None,
        base_url: str = BY_NAME[_NAME].address,
        name: str = _NAME,
        *,
        auth: tuple[str, str] | None = KEY_HEADERS["x-api-key"],
        headers: Iterable[tuple[str, str]] = (),
        retry: RetryPolicy | None = None,
    ) -> None:
        """Raises ProviderError (auth) when `api_key` cannot be a key."""
        self._name = name
        key = key_header(name, auth, api_key)
        every = {"anthropic-version": API_VERSION, **dict(headers)}
        self._service = ModelService(name, base_url, every, key, retry or RetryPolicy())

    @property
    def name(self) -> str:
        return self._name

    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        return self._service.stream(
            "/v1/messages", request_body(context, self._name), lambda: MessagesDecoder(context.model, self._name)
        )

    async def models(self) -> Sequence[LiveModel]:
        """All pages of the list. The limits of a model are None unless the service tells both its window and its
        output."""
        found: list[LiveModel] = []
        page = ""
        for _ in range(_MOST_PAGES):
            answer = await self._service.fetch(f"/v1/models?limit=1000{page}")
            for entry in model_lists.entries(answer):
                window, max_output = (
                    model_lists.tokens(entry.get(name)) for name in ("max_input_tokens", "max_tokens")
                )
                is_told = window is not None and max_output is not None
                found.append(LiveModel(entry["id"], model_lists.limits(window, max_output) if is_told else None))
            if not isinstance(answer, Mapping) or not answer.get("has_more") or not answer.get("last_id"):
                break
            page = f"&after_id={quote(str(answer['last_id']), safe='')}"
        return found

    async def count_tokens(self, context: PreparedContext) -> int | None:
        body = {
            name: value
            for name, value in request_body(context, self._name).items()
            if name not in ("max_tokens", "stream")
        }
        answer = await self._service.fetch("/v1/messages/count_tokens", context.model, body)
        return model_lists.tokens(answer.get("input_tokens")) if isinstance(answer, Mapping) else None

    async def aclose(self) -> None:
        await self._service.aclose()


def request_body(context: PreparedContext, provider: str = _NAME) -> dict[str, Any]:
    """The request for `context`.

    It has three cache markers: after the tools and the system prompt, which outlive every compaction; after the
    summaries, which outlive most; and after the last stable message.
    """
    body: dict[str, Any] = {
        "model": context.model,
        "max_tokens": context.max_output_tokens,
        "stream": True,
        "messages": _messages(context, provider),
    }
    if context.system.strip():
        body["system"] = [{"type": "text", "text": context.system, "cache_control": _CACHE_HERE}]
    if context.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in context.tools
        ]
        if context.tool_choice == "none":
            body["tool_choice"] = {"type": "none"}
    return body


def _messages(context: PreparedContext, provider: str) -> list[dict[str, Any]]:
    """Alternating user and assistant messages, the first of the user, as the service demands; results come before
    text."""
    messages: list[dict[str, Any]] = []
    marked = (context.n_lasting_messages, context.n_stable_messages)
    for n_rendered, content in enumerate(context.messages, start=1):
        role = "assistant" if content.role is Role.ASSISTANT else "user"
        blocks = (
            _assistant_blocks(content, provider, context.model)
            if role == "assistant"
            else _user_blocks(content.parts, context.pictures)
        )
        if blocks:
            if not messages and role == "assistant":
                messages.append({"role": "user", "content": [_text(BEGAN_EARLIER)]})
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += blocks
            else:
                messages.append({"role": role, "content": blocks})
        if messages and n_rendered in marked:
            messages[-1]["content"][-1]["cache_control"] = _CACHE_HERE
    for message in messages:
        if message["role"] == "user":
            message["content"].sort(key=lambda block: block["type"] != "tool_result")
    return messages


def _user_blocks(parts: Sequence[Part], pictures: Mapping[Digest, str]) -> list[Block]:
    """Pictures of a tool's result are part of it."""
    blocks: list[Block] = []
    for part in parts:
        match part:
            case TextPart() if part.text.strip():  # the service refuses blank text blocks
                blocks.append(_text(part.text))
            case AttachmentPart():
                blocks.append(_text(attachment_text(part)))
            case ToolResultPart():
                block: Block = {"type": "tool_result", "tool_use_id": _call_id(part.call_id)}
                if part.text.strip():
                    block["content"] = part.text
                if part.is_error:
                    block["is_error"] = True
                blocks.append(block)
            case ImagePart():
                shown = [_text(each) if isinstance(each, str) else _image(each) for each in pictured(part, pictures)]
                if blocks and (result := blocks[-1])["type"] == "tool_result":
                    told = result.get("content", [])
                    result["content"] = [*([_text(told)] if isinstance(told, str) else told), *shown]
                else:
                    blocks += shown
            case _:
                pass
    return blocks


def _assistant_blocks(content: Content, provider: str, model: str) -> list[Block]:
    """Text and calls, with each thinking block exactly where it was: the service refuses any other order.

    Thinking at the very end is left out, because the service refuses a message that ends with it.
    """
    thinking = returned(content, provider, model, after=int, block=dict)
    blocks: list[Block] = []
    position = 0

    def take_thinking() -> None:
        while thinking and thinking[0]["after"] <= position:
            blocks.append(thinking.pop(0)["block"])

    for part in content.parts:
        match part:
            case TextPart():
                rest = part.text
                while rest:
                    take_thinking()
                    end = thinking[0]["after"] - position if thinking else len(rest)
                    piece, rest = rest[:end], rest[end:]
                    if piece.strip():
                        blocks.append(_text(piece))
                    position += len(piece)
            case ToolCallPart():
                take_thinking()
                call_id = _call_id(part.call_id)
                blocks.append({"type": "tool_use", "id": call_id, "name": called(part), "input": call_arguments(part)})
                position += 1
            case _:
                pass
    return blocks


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _image(picture: Picture) -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": picture.media_type, "data": picture.data}}


def _call_id(call_id: str) -> str:
    """The id without the characters that this service refuses; ids of other services may contain them."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id)


class MessagesDecoder:
    """The decoder of one answer."""

    def __init__(self, model: str, provider: str = _NAME) -> None:
        self._model = model
        self._provider = provider
        self._thinking: dict[int, dict[str, Any]] = {}
        """By block index: the block as it came, and the `_position` after which it began."""
        self._thoughts: dict[int, list[str]] = {}
        """By block index: the pieces of its text."""
        self._calls: dict[int, Block] = {}
        self._calls_with_arguments: set[int] = set()
        self._position = 0
        """The characters of text so far, where a call counts as one. It stays true however the text is cut into
        parts."""
        self._usage = dict(counts(None))
        self._stop_reason = ""
        self.is_done = False

    def feed(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        match event.get("type"):
            case "message_start":
                self._count(event["message"].get("usage"))
                sent = replace(self._counted(), output_tokens=0)
                return (Counted(sent),) if sent.prompt_tokens else ()
            case "content_block_start":
                return self._begin(index(event["index"]), event["content_block"])
            case "content_block_delta":
                return self._delta(index(event["index"]), event["delta"])
            case "content_block_stop":
                return self._stop(index(event["index"]))
            case "message_delta":
                self._stop_reason = word(event["delta"].get("stop_reason")) or self._stop_reason
                self._count(event.get("usage"))
            case "message_stop":
                self.is_done = True
            case _:
                pass  # pings, and events of later versions
        return ()

    def finish(self) -> Finished | None:
        if not self.is_done:
            return None
        reason = _STOP_REASONS.get(self._stop_reason, StopReason.END)
        for at, each in self._thinking.items():
            if "thinking" in each["block"] or len(self._thoughts[at]) > 1:
                each["block"]["thinking"] = "".join(self._thoughts[at])
        opaque = (
            OpaquePart(self._provider, self._model, canonical_json(each)) for _, each in sorted(self._thinking.items())
        )
        return Finished(reason, self._counted(), tuple(opaque))

    def _counted(self) -> TokenUsage:
        return TokenUsage(
            input_tokens=self._usage.get("input_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
        )

    def _count(self, usage: object) -> None:
        """Later numbers replace earlier ones, because they are running totals. A value that is no count replaces
        none."""
        self._usage.update({name: n for name, n in counts(usage).items() if n})

    def _begin(self, at: int, block: Mapping[str, Any]) -> Sequence[StreamEvent]:
        match block["type"]:
            case "text":
                return self._text(string(block.get("text") or ""))
            case "thinking" | "redacted_thinking":
                self._thinking[at] = {"after": self._position, "block": dict(block)}
                self._thoughts[at] = [string(block.get("thinking") or "")]
                return _thinking_delta(block.get("thinking"))
            case "tool_use":
                self._calls[at] = dict(block)
                self._position += 1
                return (ToolCallStart(string(block["id"]), string(block["name"])),)
            case _:
                return ()

    def _delta(self, at: int, delta: Mapping[str, Any]) -> Sequence[StreamEvent]:
        match delta["type"]:
            case "text_delta":
                return self._text(string(delta["text"]))
            case "thinking_delta" if at in self._thinking:
                self._thoughts[at].append(string(delta["thinking"]))
                return _thinking_delta(delta["thinking"])
            case "signature_delta" if at in self._thinking:
                self._thinking[at]["block"]["signature"] = string(delta["signature"])
            case "input_json_delta" if at in self._calls and delta["partial_json"]:
                self._calls_with_arguments.add(at)
                return (ToolArguments(self._calls[at]["id"], string(delta["partial_json"])),)
            case _:
                pass
        return ()

    def _stop(self, at: int) -> Sequence[StreamEvent]:
        """The arguments of a call that were not streamed: they are in the start of the block, or are the empty
        object."""
        if at not in self._calls or at in self._calls_with_arguments:
            return ()
        call = self._calls[at]
        return (ToolArguments(call["id"], canonical_json(call.get("input") or {})),)

    def _text(self, text: str) -> Sequence[StreamEvent]:
        self._position += len(text)
        return (TextDelta(text),) if text else ()


def _thinking_delta(text: str | None) -> Sequence[StreamEvent]:
    return (ThinkingDelta(string(text)),) if text else ()
