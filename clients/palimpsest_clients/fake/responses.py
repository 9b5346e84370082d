"""OpenAI's Responses API of 2026-11. It stores nothing, demands pairs of calls and outputs, demands encrypted
thinking with its neighbors, and refuses thinking for models that do not think."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palimpsest_clients.fake.chat import OpenAIErrors
from palimpsest_clients.fake.dialect import refuse, texts
from palimpsest_clients.fake.replies import Heard, Reply, Usage, sse
from palimpsest_clients.fake.service import Asked

Item = dict[str, Any]


class Responses(OpenAIErrors):
    name = "openai"

    def __init__(self, can_read: str = "enc-") -> None:
        self.can_read = can_read
        """The beginning of thinking that this service has encrypted."""

    def speaks(self, asked: Asked) -> bool:
        return asked.path.startswith("/v1/responses")

    def is_streamed(self, asked: Asked) -> bool:
        return asked.path == "/v1/responses"

    def check(self, asked: Asked) -> None:
        if self.is_streamed(asked):
            self.check_request(asked.body)
        else:
            self.check_counted(asked.body)

    def check_counted(self, body: Mapping[str, Any]) -> None:
        for name in ("stream", "max_tokens", "max_output_tokens", "store", "include", "prompt_cache_key"):
            if name in body:
                refuse(self, f"Unknown parameter: '{name}'.", code="unknown_parameter")

    def check_request(self, body: Mapping[str, Any]) -> None:
        if body.get("store") is not False or body.get("max_output_tokens", 16) < 16:
            refuse(self, "Invalid value: this service stores nothing, and answers with 16 tokens or more.")
        if body["model"].startswith("gpt-4") and "include" in body:
            refuse(self, "Encrypted content is not supported with this model.")
        items = _items(body)
        calls = [item["call_id"] for item in items if item["type"] == "function_call"]
        outputs = [item["call_id"] for item in items if item["type"] == "function_call_output"]
        if sorted(calls) != sorted(outputs):
            refuse(self, "No tool output found for function call, or the reverse")
        if any(len(call_id) > 64 for call_id in calls):
            refuse(self, "Invalid 'input[0].call_id': string too long.", code="string_above_max_length")
        for before, item, after in zip([{}, *items], items, [*items[1:], {}], strict=False):
            self._check_neighbours(before, item, after)

    def told(self, asked: Asked, n_tokens: int, limit_tokens: int) -> Any:
        if asked.path == "/v1/responses/input_tokens":
            return {"object": "response.input_tokens", "input_tokens": n_tokens}
        return None

    def heard(self, body: Any) -> Heard:
        tools = {tool["name"]: tool.get("parameters") or {} for tool in body.get("tools") or () if "name" in tool}
        last = _items(body)[-1]
        if last["type"] == "function_call_output":
            return Heard("", texts(last["output"]), tools)
        return Heard(texts(last.get("content")), None, tools)

    def events(self, body: Any, usage: Usage, reply: Reply) -> Iterator[bytes]:
        return events_of(items_of(reply), usage, n_pieces=reply.n_pieces, model=body["model"])

    def _check_neighbours(self, before: Item, item: Item, after: Item) -> None:
        if item["type"] != "reasoning":
            if "id" in item and "id" not in before:
                refuse(self, "Item was provided without its required 'reasoning' item")
            return
        if not item.get("encrypted_content"):
            said = "Item not found. Items are not persisted when `store` is set to false."
            refuse(self, said, status=404)
        if not item["encrypted_content"].startswith(self.can_read):
            refuse(self, "The encrypted content could not be verified.", code="invalid_encrypted_content")
        if "id" not in after:
            refuse(self, "Item of type 'reasoning' was provided without its required following item")


def _items(body: Mapping[str, Any]) -> list[Item]:
    """The input, with the types that may be left out."""
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return [{"type": "message", **item} for item in items]


def thought(number: int, *summary: str, encrypted: str | None = "") -> Item:
    """A reasoning item; one with `encrypted` None cannot go back."""
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
    items: Sequence[Item],
    took: Usage,
    *,
    last: str = "completed",
    n_pieces: int = 3,
    model: str = "model-x",
    **response: Any,
) -> Iterator[bytes]:
    """The whole stream of an answer. `last` is the name of its last event, and `response` its content."""
    number = 0
    pieces = Reply(n_pieces=n_pieces).pieces

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return sse({"type": f"response.{kind}", "sequence_number": number, **fields}, event=f"response.{kind}")

    head: Item = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
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
                    for delta in pieces(part["text"]):
                        yield event("reasoning_summary_text.delta", **in_part, delta=delta)
                    yield event("reasoning_summary_text.done", **in_part, text=part["text"])
            case "message":
                [part] = item["content"]
                in_part = {**at, "content_index": 0}
                kind, name = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
                yield event("content_part.added", **in_part, part={**part, name: ""})
                for delta in pieces(part[name]):
                    yield event(f"{kind}.delta", **in_part, delta=delta, logprobs=[])
                yield event(f"{kind}.done", **in_part, **{name: part[name]}, logprobs=[])
                yield event("content_part.done", **in_part, part=part)
            case "function_call":
                for delta in pieces(item["arguments"]):
                    yield event("function_call_arguments.delta", **at, delta=delta)
                yield event("function_call_arguments.done", **at, name=item["name"], arguments=item["arguments"])
        yield event("output_item.done", output_index=index, item=item)
    counts = {
        "input_tokens": took.n_prompt,
        "input_tokens_details": {"cached_tokens": took.n_cache_read, "cache_write_tokens": took.n_cache_written},
        "output_tokens": took.n_output,
        "output_tokens_details": {"reasoning_tokens": 7},
        "total_tokens": took.n_prompt + took.n_output,
    }
    yield event(last, response={**head, "status": last, "output": list(items), "usage": counts, **response})


def _begun(item: Item) -> Item:
    empty: dict[str, Item] = {
        "reasoning": {"summary": [], "encrypted_content": "incompl"},
        "message": {"content": []},
        "function_call": {"arguments": ""},
    }
    return {**item, **empty[item["type"]], "status": "in_progress"}
