"""Gemini's wire format of 2026-11 (v1beta), with the rules that it enforces and its wordings.

The rules: the key is in its header and nowhere else; contents alternate and begin with the user; as many results follow
a turn of calls at once; Gemini 3 wants a signature on the first call of a step; other fields are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NoReturn

from palimpsest_clients.fake.replies import Heard, Reply, Usage
from palimpsest_clients.fake.service import Asked, Refusal

_FIELDS = {"contents", "generationConfig", "systemInstruction", "tools", "toolConfig", "safetySettings"}
_SCHEMA_WORDS = {
    *("$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"),
    *("minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"),
    *("required", "propertyOrdering"),
}
_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ADDRESS = re.compile(r"/v1(?:beta)?/((?:models|tunedModels)/[\w.%-]+):(\w+)")
_STREAM = "streamGenerateContent"


class Gemini:
    name = "gemini"
    content_type = "text/event-stream"
    status_without_key = 400
    streams_unasked = True

    def speaks(self, asked: Asked) -> bool:
        return asked.path.startswith("/v1beta/") or _ADDRESS.fullmatch(asked.path) is not None

    def has_key(self, headers: Mapping[str, str]) -> bool:
        return bool(headers.get("x-goog-api-key"))

    def is_streamed(self, asked: Asked) -> bool:
        return asked.path.endswith(f":{_STREAM}")

    def check(self, asked: Asked) -> None:
        if "key=" in asked.target:
            _bad("API keys are not taken from addresses here: they end up in logs.")
        if asked.method == "POST":
            match = _ADDRESS.fullmatch(asked.path)
            if match is None:
                raise Refusal(404, self.error(404, "not found"))
            if match[2] == _STREAM and "alt=sse" not in asked.target:
                _bad("This service streams events only: ask with ?alt=sse.")
            check_request(match[1], asked.body.get("generateContentRequest", asked.body))

    def told(self, asked: Asked, n_tokens: int, limit_tokens: int) -> Any:
        model = {
            "name": "models/gemini-fake",
            "displayName": "Fake",
            "inputTokenLimit": limit_tokens,
            "outputTokenLimit": max(1, limit_tokens // 4),
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
        if asked.path.endswith(":countTokens"):
            return {"totalTokens": n_tokens}
        return {"models": [model]} if asked.path == "/v1beta/models" else None

    def error(self, status: int, message: str, code: str | None = None) -> Any:
        if status == 401 and code == "invalid_api_key":  # the service answers 400 there
            reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            return error(400, f"API key not valid. {message}", "INVALID_ARGUMENT", reason)
        return error(status, message, _NAMES.get(status, "UNKNOWN"))

    def too_long(self, n_tokens: int, limit_tokens: int) -> Any:
        said = f"The input token count ({n_tokens}) exceeds the maximum number of tokens allowed ({limit_tokens})."
        return error(400, said)

    def stream_error(self) -> bytes:
        return event(error(503, "The model is overloaded.", "UNAVAILABLE"))

    def heard(self, body: Any) -> Heard:
        declared = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
        tools = {
            each["name"]: each.get("parametersJsonSchema") or _lower(each.get("parameters") or {}) for each in declared
        }
        parts = body["contents"][-1]["parts"]
        text = "\n".join(part["text"] for part in parts if "text" in part)
        results = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
        if not results or text:
            return Heard(text, None, tools)
        told = results[-1]
        return Heard("", str(told.get("output", told.get("error", told))), tools)

    def events(self, body: Any, usage: Usage, reply: Reply) -> Iterator[bytes]:
        parts: list[dict[str, Any]] = []
        parts += [{"text": piece, "thought": True} for piece in reply.pieces(reply.thinking)]
        parts += [{"text": piece} for piece in reply.pieces(reply.text)]
        for n, call in enumerate(reply.calls):
            function = {"id": call.call_id, "name": call.name, "args": json.loads(call.arguments)}
            parts.append({"functionCall": function} | ({"thoughtSignature": "c2ln"} if n == 0 else {}))
        counts = {
            "promptTokenCount": usage.n_prompt,
            "cachedContentTokenCount": usage.n_cache_read,
            "candidatesTokenCount": usage.n_output,
            "totalTokenCount": usage.n_prompt + usage.n_output,
        }
        for part in parts[:-1]:
            yield event(chunk(part, usage=counts))
        yield event(chunk(*parts[-1:], usage=counts, finish=reply.stop or "STOP"))


def error(status: int, message: str, name: str = "INVALID_ARGUMENT", *details: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": name, "details": list(details)}}


def event(data: Any) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\r\n\r\n"


def chunk(
    *parts: Mapping[str, Any], usage: Mapping[str, int], finish: str | None = None, **more: Any
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-x", "responseId": "r1", **more}


def check_request(model: str, body: Mapping[str, Any]) -> None:
    """Raises Refusal for a request that the service would not take."""
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
        open_calls = _check_content(model, content["parts"], open_calls)
    if open_calls:
        _bad("Please ensure that function response turn comes immediately after a function call turn.")
    for tool in body.get("tools") or ():
        for declaration in tool["functionDeclarations"]:
            check_schema(declaration.get("parametersJsonSchema", {}))


def _check_content(model: str, parts: list[dict[str, Any]], open_calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls that the next content has to answer."""
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
    return [part["functionCall"] for part in parts if "functionCall" in part]


def check_schema(schema: Any) -> None:
    """Raises Refusal for a schema with keywords that Gemini does not read."""
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


def _bad(message: str) -> NoReturn:
    raise Refusal(400, error(400, message))


def _lower(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Gemini's own form of schemas, with the names of types in capitals."""
    properties = schema.get("properties") or {}
    return {
        "required": schema.get("required") or [],
        "properties": {name: {"type": str(each.get("type")).lower()} for name, each in properties.items()},
    }
