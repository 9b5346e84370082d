"""Chat Completions of OpenAI and its imitators in 2026-11, with the rules that the strict ones enforce."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from palimpsest.domain.models.providers import KEY_HEADERS
from palimpsest_clients.fake.dialect import refuse, texts
from palimpsest_clients.fake.replies import Heard, Reply, Usage, sse
from palimpsest_clients.fake.service import Asked

_UNANSWERED = "An assistant message with 'tool_calls' must be followed by tool messages"


class OpenAIErrors:
    """The refusals of OpenAI, in either of its formats."""

    content_type = "text/event-stream"
    status_without_key = 401
    streams_unasked = False

    def has_key(self, headers: Mapping[str, str]) -> bool:
        return bool(headers.get("authorization", "").removeprefix("Bearer").strip())

    def error(self, status: int, message: str, code: str | None = None) -> Any:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def too_long(self, n_tokens: int, limit_tokens: int) -> Any:
        said = f"Input tokens exceed the configured limit of {limit_tokens} tokens."
        said += f" Your messages resulted in {n_tokens} tokens. Please reduce the length of the messages."
        return self.error(400, said, "context_length_exceeded")

    def stream_error(self) -> bytes:
        return sse(self.error(500, "boom"))


class Chat(OpenAIErrors):
    name = "chat"

    def has_key(self, headers: Mapping[str, str]) -> bool:
        """Some of the services that imitate OpenAI want the key in a header of their own."""
        return super().has_key(headers) or any(headers.get(name) for name, _ in KEY_HEADERS.values())

    def speaks(self, asked: Asked) -> bool:
        is_list = asked.path.startswith("/v1/models") and "anthropic-version" not in asked.headers
        return asked.path.startswith("/v1/chat") or is_list

    def is_streamed(self, asked: Asked) -> bool:
        return asked.path == "/v1/chat/completions"

    def check(self, asked: Asked) -> None:
        if asked.method == "GET":
            return
        need: list[str] = []
        previous = ""
        for message in asked.body["messages"]:
            role = message["role"]
            if role == "tool":
                if message["tool_call_id"] not in need:
                    refuse(
                        self, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                    )
                need.remove(message["tool_call_id"])
            elif need:
                refuse(self, _UNANSWERED)
            elif role == previous:
                refuse(self, "Conversation roles must alternate user/assistant/user/assistant/...")
            for call in message.get("tool_calls") or ():
                json.loads(call["function"]["arguments"])
                need.append(call["id"])
            previous = role
        if need:
            refuse(self, _UNANSWERED)

    def told(self, asked: Asked, n_tokens: int, limit_tokens: int) -> Any:
        model = {"id": "fake", "object": "model", "created": 1, "owned_by": "fake", "context_length": limit_tokens}
        return {"object": "list", "data": [model]} if asked.path == "/v1/models" else None

    def heard(self, body: Any) -> Heard:
        functions = [tool["function"] for tool in body.get("tools") or ()]
        tools = {function["name"]: function.get("parameters") or {} for function in functions}
        last = body["messages"][-1]
        if last["role"] == "tool":
            return Heard("", texts(last["content"]), tools)
        return Heard(texts(last["content"]), None, tools)

    def events(self, body: Any, usage: Usage, reply: Reply) -> Iterator[bytes]:
        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return sse({**head, "choices": [choice], "usage": None})

        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        yield chunk({"role": "assistant", "content": ""})
        for piece in reply.pieces(reply.thinking):
            yield chunk({"reasoning_content": piece})
        for piece in reply.pieces(reply.text):
            yield chunk({"content": piece})
        for index, call in enumerate(reply.calls):
            function = {"name": call.name, "arguments": ""}
            start = {"index": index, "id": call.call_id, "type": "function", "function": function}
            yield chunk({"tool_calls": [start]})
        for round_idx in range(reply.n_pieces):  # the arguments of parallel calls arrive interleaved
            for index, call in enumerate(reply.calls):
                for piece in reply.pieces(call.arguments)[round_idx : round_idx + 1]:
                    yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, reply.stop or ("tool_calls" if reply.calls else "stop"))
        if (body.get("stream_options") or {}).get("include_usage"):
            details = {"cached_tokens": usage.n_cache_read, "cache_write_tokens": usage.n_cache_written}
            counts = {
                "prompt_tokens": usage.n_prompt,
                "completion_tokens": usage.n_output,
                "total_tokens": usage.n_prompt + usage.n_output,
                "prompt_tokens_details": details,
            }
            yield sse({**head, "choices": [], "usage": counts})
        yield sse("[DONE]")
