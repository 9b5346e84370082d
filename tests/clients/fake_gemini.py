"""Gemini on loopback, answering from a script. Its rules and its wire format are those of `palimpsest_clients.fake`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from palimpsest_clients.fake import gemini
from palimpsest_clients.fake.gemini import check_request, check_schema, error, event
from palimpsest_clients.fake.service import Asked, FakeService, Sent, as_json, refuse

__all__ = ["DEFAULT_PARTS", "KEY", "FakeGemini", "check_schema", "chunk", "error", "event", "reply", "stream"]

KEY = "AIza-fake_0123456789"
DEFAULT_PARTS = ({"text": "Line one\u2028line "}, {"text": "\u0085 two, é🎉"})
USAGE = {
    "promptTokenCount": 100,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 5,
    "cachedContentTokenCount": 60,
    "totalTokenCount": 125,
}


def chunk(*parts: Mapping[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return gemini.chunk(*parts, usage=USAGE, finish=finish, **more)


def stream(*chunks: Mapping[str, Any], **how: Any) -> Sent:
    """Each chunk in an HTTP chunk of its own."""
    return Sent(tuple(map(event, chunks)), "text/event-stream", **how)


def reply(*parts: Mapping[str, Any], finish: str = "STOP") -> Sent:
    """A whole answer, a part in a chunk."""
    *first, last = parts
    return stream(*(chunk(part) for part in first), chunk(last, finish=finish))


class FakeGemini(FakeService):
    def __init__(self, limit_tokens: int = 1_048_576) -> None:
        super().__init__()
        self.limit_tokens = limit_tokens

    def check(self, asked: Asked) -> None:
        if asked.headers.get("x-goog-api-key") != KEY or "key=" in asked.target:
            reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            said = f"API key not valid: {asked.headers.get('x-goog-api-key')}"
            refuse(400, error(400, said, "INVALID_ARGUMENT", reason))
        if asked.method == "POST":
            match = re.fullmatch(r"/v1beta/(models/[\w.%-]+):(\w+)(\?alt=sse)?", asked.target)
            if not match:
                refuse(404, error(404, "not found", "NOT_FOUND"))
            check_request(match[1], asked.body.get("generateContentRequest", asked.body))
            n = len(json.dumps(asked.body)) // 4
            if n > self.limit_tokens:
                said = (
                    f"The input token count ({n}) exceeds the maximum number of tokens allowed ({self.limit_tokens})."
                )
                refuse(400, error(400, said))

    def answer(self, asked: Asked) -> Sent:
        if asked.target.endswith(":countTokens"):
            return as_json({"totalTokens": 4711})
        if asked.target.endswith(":streamGenerateContent?alt=sse"):
            return reply(*DEFAULT_PARTS)
        return as_json(error(404, "not found", "NOT_FOUND"), 404)
