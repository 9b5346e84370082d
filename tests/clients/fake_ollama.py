"""Ollama on loopback, answering from a script. Its rules and its wire format are those of `palimpsest_clients.fake`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palimpsest_clients.fake.ollama import TOO_LONG, called, check_messages, done, line, said, window_of
from palimpsest_clients.fake.replies import rough_count
from palimpsest_clients.fake.service import Asked, FakeService, Sent, as_json, refuse

__all__ = ["DEFAULT_TEXTS", "FakeOllama", "called", "done", "line", "said", "stream"]

DEFAULT_TEXTS = ("Line one\u2028line ", "\u0085 two, é🎉")


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
                n_seen = min(rough_count(asked.body["messages"]), window_of(asked.body))
                return stream(*(said(text) for text in DEFAULT_TEXTS), done(n_prompt=n_seen))
            case _:
                return Sent((b"404 page not found",), "text/plain", 404)

    def _check_chat(self, body: Mapping[str, Any]) -> None:
        if body.get("tools") and "tools" not in self.shown[body["model"]].get("capabilities", ()):
            refuse(400, {"error": f"registry.ollama.ai/library/{body['model']}:latest does not support tools"})
        if rough_count(body["messages"]) > window_of(body) and body.get("truncate") is False:
            refuse(400, TOO_LONG)
        check_messages(body["messages"])
