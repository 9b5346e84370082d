"""The same fake service speaking OpenAI's Responses API, and answering what is asked with GET from a script.

Its rules are those of the service in 2026-11: nothing is stored, calls and outputs pair, thinking must be encrypted and
goes with its neighbours, models that do not think refuse to be asked for thinking.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.clients.fake_provider import KEY, FakeProvider, Fault, Raw, Reply, Request, sse

Item = dict[str, Any]


class _Refused(Exception):
    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class FakeResponses(FakeProvider):
    def __init__(self, *, limit_tokens: int = 200_000, chunk_bytes: int | None = None) -> None:
        super().__init__(limit_tokens=limit_tokens, chunk_bytes=chunk_bytes)
        self.answers: dict[str, Any] = {}
        """JSON by the path of a GET; every other path is not found."""
        self.can_read = "enc-"
        """What thinking begins with that this service has encrypted."""

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        body = json.loads(raw) if raw else {}
        self.requests.append(Request(target, headers, body, number))
        step = self.script.pop(0) if self.script else Reply()
        if isinstance(step, Raw):
            return await _send(writer, 200, step.content_type, step.body)
        fault = step if isinstance(step, Fault) else None
        try:
            if fault and fault.status != 200:
                raise _Refused(fault.status, "scripted failure")
            if headers.get("authorization") != f"Bearer {KEY}" and headers.get("x-api-key") != KEY:
                raise _Refused(401, "Incorrect API key provided", "invalid_api_key")
            if method == "GET":
                return await self._tell(writer, target)
            n_tokens = len(raw) // 4
            if target.endswith(("/input_tokens", "/count_tokens")):
                self._check_counted(body)
                return await _send(writer, 200, "application/json", json.dumps({"input_tokens": n_tokens}).encode())
            self._check(body, n_tokens)
        except _Refused as refusal:
            error = {"message": str(refusal), "type": "invalid_request_error", "param": None, "code": refusal.code}
            said = json.dumps(fault.body if fault and fault.body is not None else {"error": error})
            extra = fault.headers if fault else {}
            return await _send(writer, refusal.status, "application/json", said.encode(), extra)
        reply = step if isinstance(step, Reply) else Reply()
        return await self._stream(reader, writer, "chat", events_of(items_of(reply), n_tokens=n_tokens), fault)

    async def _tell(self, writer: asyncio.StreamWriter, target: str) -> bool:
        if target not in self.answers:
            raise _Refused(404, "Unknown request URL")
        return await _send(writer, 200, "application/json", json.dumps(self.answers[target]).encode())

    def _check_counted(self, body: Mapping[str, Any]) -> None:
        for name in ("stream", "max_tokens", "max_output_tokens", "store", "include", "prompt_cache_key"):
            if name in body:
                raise _Refused(400, f"Unknown parameter: '{name}'.", "unknown_parameter")

    def _check(self, body: Mapping[str, Any], n_tokens: int) -> None:
        if body["store"] is not False or body["max_output_tokens"] < 16:
            raise _Refused(400, "Invalid value")
        if body["model"].startswith("gpt-4") and "include" in body:
            raise _Refused(400, "Encrypted content is not supported with this model.")
        items: list[Item] = body["input"]
        calls = [item["call_id"] for item in items if item["type"] == "function_call"]
        outputs = [item["call_id"] for item in items if item["type"] == "function_call_output"]
        if sorted(calls) != sorted(outputs):
            raise _Refused(400, "No tool output found for function call, or the reverse")
        if any(len(call_id) > 64 for call_id in calls):
            raise _Refused(400, "Invalid 'input[0].call_id': string too long.", "string_above_max_length")
        for before, item, after in zip([{}, *items], items, [*items[1:], {}], strict=False):
            self._check_neighbours(before, item, after)
        if n_tokens > self.limit_tokens:
            said = f"Input tokens exceed the configured limit of {self.limit_tokens} tokens."
            said += f" Your messages resulted in {n_tokens} tokens."
            raise _Refused(400, said, "context_length_exceeded")

    def _check_neighbours(self, before: Item, item: Item, after: Item) -> None:
        if item["type"] != "reasoning":
            if "id" in item and "id" not in before:
                raise _Refused(400, "Item was provided without its required 'reasoning' item")
            return
        if not item.get("encrypted_content"):
            raise _Refused(404, "Item not found. Items are not persisted when `store` is set to false.")
        if not item["encrypted_content"].startswith(self.can_read):
            raise _Refused(400, "The encrypted content could not be verified.", "invalid_encrypted_content")
        if "id" not in after:
            raise _Refused(400, "Item of type 'reasoning' was provided without its required following item")


async def _send(
    writer: asyncio.StreamWriter, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None
) -> bool:
    extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    return True


def thought(number: int, *summary: str, encrypted: str | None = "") -> Item:
    """A reasoning item; `encrypted` None is one that cannot go back."""
    told = [{"type": "summary_text", "text": text} for text in summary]
    hidden = None if encrypted is None else encrypted or f"enc-{number}"
    return {"type": "reasoning", "id": f"rs_{number}", "summary": told, "encrypted_content": hidden}


def message(number: int, text: str, **more: Any) -> Item:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": content,
        **more,
    }


def refusal(text: str) -> Item:
    return message(1, "") | {"content": [{"type": "refusal", "refusal": text}]}


def call(number: int, name: str, arguments: str) -> Item:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def items_of(reply: Reply) -> list[Item]:
    items = [thought(0, reply.thinking)] if reply.thinking else []
    items += [message(0, reply.text)] if reply.text else []
    return items + [
        call(n, each.name, each.arguments) | {"call_id": each.call_id} for n, each in enumerate(reply.calls)
    ]


def events_of(
    items: Sequence[Item], *, last: str = "completed", n_tokens: int = 100, **response: Any
) -> Iterator[bytes]:
    """The whole stream of an answer. `last` is how it ends; `response` goes into its last event."""
    number = 0

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return sse({"type": f"response.{kind}", "sequence_number": number, **fields}, event=f"response.{kind}")

    head: Item = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "model-x",
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    yield event("created", response=head)
    yield event("in_progress", response=head)
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item["id"]}
        yield event("output_item.added", output_index=index, item=_begun(item))
        match item["type"]:
            case "reasoning":
                for n, part in enumerate(item["summary"]):
                    in_part = {**at, "summary_index": n}
                    yield event("reasoning_summary_part.added", **in_part, part={"type": "summary_text", "text": ""})
                    for delta in _pieces(part["text"]):
                        yield event("reasoning_summary_text.delta", **in_part, delta=delta)
                    yield event("reasoning_summary_text.done", **in_part, text=part["text"])
            case "message":
                [part] = item["content"]
                in_part = {**at, "content_index": 0}
                kind, name = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
                yield event("content_part.added", **in_part, part={**part, name: ""})
                for delta in _pieces(part[name]):
                    yield event(f"{kind}.delta", **in_part, delta=delta, logprobs=[])
                yield event(f"{kind}.done", **in_part, **{name: part[name]}, logprobs=[])
                yield event("content_part.done", **in_part, part=part)
            case "function_call":
                for delta in _pieces(item["arguments"]):
                    yield event("function_call_arguments.delta", **at, delta=delta)
                yield event("function_call_arguments.done", **at, name=item["name"], arguments=item["arguments"])
        yield event("output_item.done", output_index=index, item=item)
    usage = {
        "input_tokens": n_tokens + 33,
        "input_tokens_details": {"cached_tokens": 22, "cache_write_tokens": 11},
        "output_tokens": 44,
        "output_tokens_details": {"reasoning_tokens": 7},
        "total_tokens": n_tokens + 77,
    }
    yield event(last, response={**head, "status": last, "output": list(items), "usage": usage, **response})


def _begun(item: Item) -> Item:
    empty: dict[str, Item] = {
        "reasoning": {"summary": [], "encrypted_content": "incompl"},
        "message": {"content": []},
        "function_call": {"arguments": ""},
    }
    return {**item, **empty[item["type"]], "status": "in_progress"}


def _pieces(text: str) -> list[str]:
    step = max(1, -(-len(text) // 3))
    return [text[start : start + step] for start in range(0, len(text), step)]
