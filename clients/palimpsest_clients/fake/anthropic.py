"""Anthropic's Messages API of 2026-11 (version 2026-10-21), with the rules that it enforces and its wordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from palimpsest_clients.fake.dialect import refuse, texts
from palimpsest_clients.fake.replies import Heard, Reply, Usage, sse
from palimpsest_clients.fake.service import Asked

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Anthropic:
    name = "anthropic"
    content_type = "text/event-stream"
    status_without_key = 401
    streams_unasked = False

    def speaks(self, asked: Asked) -> bool:
        return asked.path.startswith("/v1/messages") or (
            asked.path.startswith("/v1/models") and "anthropic-version" in asked.headers
        )

    def has_key(self, headers: Mapping[str, str]) -> bool:
        """The SDK of 2026-11 sends the key as a bearer token, most other programs in a header of its own."""
        return bool(headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer").strip())

    def is_streamed(self, asked: Asked) -> bool:
        return asked.path == "/v1/messages"

    def check(self, asked: Asked) -> None:
        body = asked.body
        if asked.headers.get("anthropic-version", "") == "":
            self._refuse("anthropic-version: header is required")
        if asked.method == "GET":
            return
        if asked.headers["anthropic-version"] >= "2026-10-21":
            for name in ("temperature", "top_p", "top_k"):
                if name in body:
                    self._refuse(f"{name}: Extra inputs are not permitted")
        if self.is_streamed(asked) and "max_tokens" not in body:
            self._refuse("max_tokens: Field required")
        self._check_messages(body["messages"])

    def told(self, asked: Asked, n_tokens: int, limit_tokens: int) -> Any:
        model = {
            "type": "model",
            "id": "claude-fake",
            "display_name": "Fake",
            "created_at": "2026-11-01T00:00:00Z",
            "max_input_tokens": limit_tokens,
            "max_tokens": max(1, limit_tokens // 4),
        }
        match asked.path:
            case "/v1/messages/count_tokens":
                return {"input_tokens": n_tokens}
            case "/v1/models":
                return {"data": [model], "has_more": False, "first_id": model["id"], "last_id": model["id"]}
            case "/v1/models/claude-fake":
                return model
            case _:
                return None

    def error(self, status: int, message: str, code: str | None = None) -> Any:
        otherwise = "api_error" if status >= 500 else _ERROR_TYPES[400]
        error = {"type": _ERROR_TYPES.get(status, otherwise), "message": message}
        return {"type": "error", "error": error, "request_id": "req_fake"}

    def too_long(self, n_tokens: int, limit_tokens: int) -> Any:
        return self.error(400, f"prompt is too long: {n_tokens} tokens > {limit_tokens} maximum")

    def stream_error(self) -> bytes:
        return sse(self.error(529, "Overloaded"), event="error")

    def heard(self, body: Any) -> Heard:
        tools = {tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or ()}
        content = body["messages"][-1]["content"]
        results = [block for block in content if isinstance(block, dict) and block["type"] == "tool_result"]
        text = texts(content)
        return Heard(text, texts(results[-1].get("content")) if results and not text else None, tools)

    def events(self, body: Any, usage: Usage, reply: Reply) -> Iterator[bytes]:
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if reply.thinking:
            thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in reply.pieces(reply.thinking)]
            signature = {"type": "signature_delta", "signature": "c2ln=="}
            blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signature]))
        if reply.text:
            said = [{"type": "text_delta", "text": piece} for piece in reply.pieces(reply.text)]
            blocks.append(({"type": "text", "text": ""}, said))
        for call in reply.calls:
            arguments = ["", *reply.pieces(call.arguments)]
            inputs = [{"type": "input_json_delta", "partial_json": piece} for piece in arguments]
            blocks.append(({"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}, inputs))

        def event(kind: str, **fields: Any) -> bytes:
            return sse({"type": kind, **fields}, event=kind)

        counts = {
            "input_tokens": usage.n_input,
            "cache_creation_input_tokens": usage.n_cache_written,
            "cache_read_input_tokens": usage.n_cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.n_cache_written,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": 1,
            "service_tier": "standard",
        }
        start = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
        yield event("message_start", message={**start, "stop_reason": None, "usage": counts})
        for index, (block, deltas) in enumerate(blocks):
            yield event("content_block_start", index=index, content_block=block)
            yield event("ping")
            for delta in deltas:
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        stop = reply.stop or ("tool_use" if reply.calls else "end_turn")
        totals = {"output_tokens": usage.n_output, "cache_read_input_tokens": None}
        yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=totals)
        yield event("message_stop")

    def _check_messages(self, messages: Any) -> None:
        if not messages or messages[0]["role"] != "user":
            self._refuse('messages: first message must use the "user" role')
        open_ids: list[str] = []
        previous = ""
        for message in messages:
            blocks = message["content"]
            if isinstance(blocks, str):
                blocks = [{"type": "text", "text": blocks}]
            if message["role"] == previous:
                self._refuse("messages: roles must alternate")
            if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
                self._refuse("messages: text content blocks must contain non-whitespace text")
            if blocks[-1]["type"] in ("thinking", "redacted_thinking"):
                self._refuse("messages: the final block in an assistant message cannot be `thinking`")
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            if sorted(results) != sorted(open_ids):
                self._refuse("messages: `tool_use` ids without `tool_result` blocks immediately after, or the reverse")
            if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
                self._refuse("messages: `tool_result` blocks must come first")
            open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
            if any(not all(char.isalnum() or char in "_-" for char in call_id) for call_id in open_ids):
                self._refuse("messages: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            previous = message["role"]
        if open_ids:
            self._refuse("messages: `tool_use` ids without `tool_result` blocks immediately after")

    def _refuse(self, message: str) -> NoReturn:
        refuse(self, message)
