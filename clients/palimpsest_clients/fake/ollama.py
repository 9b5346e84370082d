"""Ollama's `/api/chat`, `/api/show` and `/api/tags` of 2026-11, and its habit of shortening.

A prompt that does not fit the window is cut from the front without a word, unless the request forbids it. A
request without a window gets 4,096 tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from palimpsest_clients.fake.replies import Heard, Reply, Usage
from palimpsest_clients.fake.service import Asked, refuse

DEFAULT_WINDOW = 4096
TOO_LONG = {"error": "input length exceeds the context length"}


class Ollama:
    name = "ollama"
    content_type = "application/x-ndjson"
    status_without_key = 401
    streams_unasked = True

    def speaks(self, asked: Asked) -> bool:
        return asked.path.startswith("/api/")

    def has_key(self, headers: Mapping[str, str]) -> bool:
        return True

    def is_streamed(self, asked: Asked) -> bool:
        return asked.path == "/api/chat"

    def check(self, asked: Asked) -> None:
        if self.is_streamed(asked):
            check_messages(asked.body["messages"])

    def told(self, asked: Asked, n_tokens: int, limit_tokens: int) -> Any:
        match asked.path:
            case "/api/tags":
                return {"models": [{"name": "fake:latest", "model": "fake:latest", "size": 1}]}
            case "/api/show":
                info = {"fake.context_length": limit_tokens}
                return {"modelfile": "", "capabilities": ["completion", "tools"], "model_info": info}
            case _:
                return None

    def error(self, status: int, message: str, code: str | None = None) -> Any:
        return {"error": message}

    def too_long(self, n_tokens: int, limit_tokens: int) -> Any:
        return TOO_LONG

    def stream_error(self) -> bytes:
        return line({"error": "boom"})

    def heard(self, body: Any) -> Heard:
        functions = [tool["function"] for tool in body.get("tools") or ()]
        tools = {function["name"]: function.get("parameters") or {} for function in functions}
        last = body["messages"][-1]
        return Heard("", last["content"], tools) if last["role"] == "tool" else Heard(last["content"], None, tools)

    def events(self, body: Any, usage: Usage, reply: Reply) -> Iterator[bytes]:
        model = body["model"]
        for piece in reply.pieces(reply.thinking):
            yield line(said(model=model, thinking=piece))
        for piece in reply.pieces(reply.text):
            yield line(said(piece, model=model))
        for call in reply.calls:
            yield line(said(model=model, tool_calls=[called(call.name, json.loads(call.arguments), call.call_id)]))
        yield line(done(reply.stop or "stop", usage.n_prompt, usage.n_output, model=model))


def line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


def said(content: str = "", *, model: str = "m", **message: Any) -> dict[str, Any]:
    return {"model": model, "message": {"role": "assistant", "content": content, **message}, "done": False}


def called(name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    """One complete call. Older servers give no ids."""
    return ({"id": call_id} if call_id else {}) | {"function": {"name": name, "arguments": arguments}}


def done(reason: str = "stop", n_prompt: int = 70, n_answer: int = 9, *, model: str = "m") -> dict[str, Any]:
    counts = {"total_duration": 1, "prompt_eval_count": n_prompt, "eval_count": n_answer}
    return said(model=model) | {"done": True, "done_reason": reason, **counts}


def window_of(body: Mapping[str, Any]) -> int:
    window: int = (body.get("options") or {}).get("num_ctx", DEFAULT_WINDOW)
    return window


def check_messages(messages: Any) -> None:
    """Raises Refusal for calls and results that are not pairs."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_name"] not in open_calls:
                refuse(400, {"error": "a result without its call"})
            open_calls.remove(message["tool_name"])
        elif open_calls:
            refuse(400, {"error": "a call without its result"})
        for call in message.get("tool_calls") or ():
            if not isinstance(call["function"]["arguments"], dict):
                refuse(400, {"error": "json: cannot unmarshal string into Go struct field"})
            open_calls.append(call["function"]["name"])
    if open_calls:
        refuse(400, {"error": "a call without its result"})
