"""Gemini on loopback: the wire format of 2026-11 (v1beta), with the rules and wordings that it enforces.

The rules: the key in its header and nowhere else; contents alternate and begin with the user; a turn of calls is
answered at once, by as many results; Gemini 3 wants a signature on the first call of a step; other fields are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tests.clients.fake_service import Asked, FakeService, Sent, as_json, refuse

KEY = "AIza-fake_0123456789"
DEFAULT_PARTS = ({"text": "Line one\u2028line "}, {"text": "\u0085 two, é🎉"})
USAGE = {
    "promptTokenCount": 100,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 5,
    "cachedContentTokenCount": 60,
    "totalTokenCount": 125,
}
_FIELDS = {"contents", "generationConfig", "systemInstruction", "tools", "toolConfig"}
_SCHEMA_WORDS = {
    *("$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"),
    *("minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"),
    *("required", "propertyOrdering"),
}


def error(status: int, message: str, name: str = "INVALID_ARGUMENT", *details: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": name, "details": list(details)}}


def event(data: Any) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\r\n\r\n"


def chunk(*parts: Mapping[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "gemini-x", "responseId": "r1", **more}


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
            _check_request(match[1], asked.body.get("generateContentRequest", asked.body))
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


def _bad(message: str) -> None:
    refuse(400, error(400, message))


def _check_request(model: str, body: Mapping[str, Any]) -> None:
    named = body.get("model")
    if named is not None and named != model:
        _bad("model does not match the address")
    if unknown := set(body) - _FIELDS - {"model"}:
        _bad(f'Invalid JSON payload received. Unknown name "{unknown.pop()}"')
    contents = body["contents"]
    if not contents or contents[0]["role"] != "user":
        _bad("Please ensure that function call turn comes immediately after a user turn")
    if any(one["role"] == other["role"] for one, other in pairwise(contents)):
        _bad("Please ensure that multiturn requests alternate between user and model.")
    open_calls: list[dict[str, Any]] = []
    for content in contents:
        parts = content["parts"]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if len(results) != len(open_calls):
            _bad("Please ensure that the number of function response parts is equal to the number of calls.")
        if sorted((call["id"], call["name"]) for call in open_calls) != sorted((r["id"], r["name"]) for r in results):
            _bad("Function responses do not match their calls")
        if any("functionResponse" not in part for part in parts[: len(results)]):
            _bad("Please ensure that function response turn comes immediately after a function call turn.")
        if any(not isinstance(result["response"], dict) for result in results):
            _bad("Proto field is not repeating, cannot start list.")
        if any(not part.get("text", "x").strip() and "thoughtSignature" not in part for part in parts):
            _bad("contents.parts must not be empty.")
        signed = [part.get("thoughtSignature") for part in parts if "functionCall" in part]
        if signed and "gemini-3" in model and not signed[0]:
            _bad("Function call is missing a thought_signature in functionCall parts.")
        open_calls = [part["functionCall"] for part in parts if "functionCall" in part]
    if open_calls:
        _bad("Please ensure that function response turn comes immediately after a function call turn.")
    for tool in body.get("tools", ()):
        for declaration in tool["functionDeclarations"]:
            check_schema(declaration.get("parametersJsonSchema", {}))


def check_schema(schema: Any) -> None:
    """Raises Refusal when the schema has words that Gemini does not read."""
    if not isinstance(schema, dict):
        return
    if unknown := set(schema) - _SCHEMA_WORDS:
        _bad(f'Unknown name "{unknown.pop()}" at tools[0].function_declarations[0].parameters_json_schema')
    if "$ref" in schema and any(not word.startswith("$") for word in schema):
        _bad("$ref cannot stand beside other fields")
    inner = [schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", ())]
    named = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for each in (*inner, *schema.get("oneOf", ()), *schema.get("prefixItems", ()), *named):
        check_schema(each)
