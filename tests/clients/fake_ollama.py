"""Ollama on loopback: `/api/chat`, `/api/show`, `/api/tags` as they were in 2026-11, and its habit of shortening.

A prompt that does not fit the window is cut from the front without a word, unless the request forbids it; a window that
is not named is 4,096 tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.clients.fake_service import Asked, FakeService, Sent, as_json, refuse

DEFAULT_WINDOW = 4096
DEFAULT_TEXTS = ("Line one\u2028line ", "\u0085 two, é🎉")


def line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


def said(content: str = "", **message: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", "content": content, **message}, "done": False}


def called(name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    """One call, whole. Older servers give no ids."""
    return ({"id": call_id} if call_id else {}) | {"function": {"name": name, "arguments": arguments}}


def done(reason: str = "stop", n_prompt: int = 70, n_answer: int = 9) -> dict[str, Any]:
    counts = {"total_duration": 1, "prompt_eval_count": n_prompt, "eval_count": n_answer}
    return said() | {"done": True, "done_reason": reason, **counts}


def stream(*lines: Mapping[str, Any], **how: Any) -> Sent:
    """Each line in an HTTP chunk of its own."""
    return Sent(tuple(map(line, lines)), "application/x-ndjson", **how)


class FakeOllama(FakeService):
    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, Any] = {"model-x": {"capabilities": ["completion", "tools"], "model_info": {}}}
        """What `/api/show` says, by the models that were pulled."""

    def check(self, asked: Asked) -> None:
        if "authorization" in asked.headers:
            refuse(401, {"error": "unauthorized"})
        if asked.method == "GET":
            return
        model = asked.body["model"]
        if model not in self.shown:
            refuse(404, {"error": f"model '{model}' not found"})
        if asked.target == "/api/chat":
            self._check_chat(asked.body)

    def answer(self, asked: Asked) -> Sent:
        match asked.target:
            case "/api/tags":
                return as_json({"models": [{"name": name, "model": name, "size": 1} for name in self.shown]})
            case "/api/show":
                return as_json(self.shown[asked.body["model"]])
            case "/api/chat":
                window = asked.body.get("options", {}).get("num_ctx", DEFAULT_WINDOW)
                n_seen = min(_count(asked.body), window)
                return stream(*(said(text) for text in DEFAULT_TEXTS), done(n_prompt=n_seen))
            case _:
                return Sent((b"404 page not found",), "text/plain", 404)

    def _check_chat(self, body: Mapping[str, Any]) -> None:
        if body.get("tools") and "tools" not in self.shown[body["model"]].get("capabilities", ()):
            refuse(400, {"error": f"registry.ollama.ai/library/{body['model']}:latest does not support tools"})
        window = body.get("options", {}).get("num_ctx", DEFAULT_WINDOW)
        if _count(body) > window and body.get("truncate") is False:
            refuse(400, {"error": "input length exceeds the context length"})
        open_calls: list[str] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                if message["tool_name"] not in open_calls:
                    refuse(400, {"error": "a result without its call"})
                open_calls.remove(message["tool_name"])
            elif open_calls:
                refuse(400, {"error": "a call without its result"})
            for call in message.get("tool_calls", ()):
                if not isinstance(call["function"]["arguments"], dict):
                    refuse(400, {"error": "json: cannot unmarshal string into Go struct field"})
                open_calls.append(call["function"]["name"])
        if open_calls:
            refuse(400, {"error": "a call without its result"})


def _count(body: Mapping[str, Any]) -> int:
    return len(json.dumps(body["messages"], ensure_ascii=False)) // 4
