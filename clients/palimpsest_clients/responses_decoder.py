"""What one streamed answer of OpenAI's Responses API says. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from palimpsest.domain.messages import OpaquePart, canonical_json
from palimpsest.domain.models.provider import (
    Finished,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest_clients import faults
from palimpsest_clients.decoding import counts, index, string, word

OPENAI: Final = "openai"
_STOP_REASONS: Final = {"max_output_tokens": StopReason.OUTPUT_LIMIT, "content_filter": StopReason.FILTERED}
"""By the reason why an answer is incomplete. All others end it, or ask for its calls."""

Item = dict[str, Any]


class ResponsesDecoder:
    """One answer's events."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._items: dict[int, Item] = {}
        """The answer's items as last told, by their index."""
        self._began_at: dict[int, int] = {}
        """For each item, the characters of text before it, a call counted as one more."""
        self._with_arguments: set[int] = set()
        self._position = 0
        self._has_refused = False
        self._stop_reason = StopReason.END
        self._usage: object = None
        self.is_done = False

    def feed(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        match event.get("type"):
            case "response.output_item.added":
                return self._begin(index(event["output_index"]), event["item"])
            case "response.output_text.delta":
                return self._said(event["delta"])
            case "response.refusal.delta":
                self._has_refused = True
                return self._said(event["delta"])
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if event["delta"]:
                return (ThinkingDelta(string(event["delta"])),)
            case "response.reasoning_summary_part.added" if event["summary_index"] > 0:
                return (ThinkingDelta("\n\n"),)
            case "response.function_call_arguments.delta" if event["delta"]:
                return self._arguments(index(event["output_index"]), event["delta"])
            case "response.output_item.done":
                return self._end(index(event["output_index"]), event["item"])
            case "response.completed" | "response.incomplete":
                self._finish(event["response"])
            case "response.failed":
                self._fail(event["response"].get("error"))
            case "error":  # the nested form of it never comes here
                self._fail(event)
            case _:
                pass  # progress, repetitions of what was streamed, and what is yet to come
        return ()

    def finish(self) -> Finished | None:
        if not self.is_done:
            return None
        told, details = counts(self._usage), counts(self._usage, "input_tokens_details")
        n_read, n_written = details["cached_tokens"], details["cache_write_tokens"]
        usage = TokenUsage(
            input_tokens=max(0, told["input_tokens"] - n_read - n_written),
            cache_read_tokens=n_read,
            cache_write_tokens=n_written,
            output_tokens=told["output_tokens"],
        )
        return Finished(self._stop_reason, usage, self._opaque())

    def _begin(self, at: int, item: Item) -> Sequence[StreamEvent]:
        self._items[at] = item
        self._began_at[at] = self._position
        if item["type"] != "function_call":
            return ()
        self._position += 1
        return (ToolCallStart(string(item["call_id"]), string(item["name"])),)

    def _said(self, text: object) -> Sequence[StreamEvent]:
        text = string(text)
        self._position += len(text)
        return (TextDelta(text),) if text else ()

    def _arguments(self, at: int, text: object) -> Sequence[StreamEvent]:
        self._with_arguments.add(at)
        return (ToolArguments(string(self._items[at]["call_id"]), string(text)),)

    def _end(self, at: int, item: Item) -> Sequence[StreamEvent]:
        """Only now is reasoning whole. Arguments that were not streamed stand here, or are the empty object."""
        begun = () if at in self._items else self._begin(at, item)
        self._items[at] = item
        if item["type"] != "function_call" or at in self._with_arguments:
            return begun
        return (*begun, *self._arguments(at, item.get("arguments") or "{}"))

    def _finish(self, response: Mapping[str, Any]) -> None:
        self._usage = response.get("usage")
        why = word((response.get("incomplete_details") or {}).get("reason"))
        has_calls = any(item["type"] == "function_call" for item in self._items.values())
        self._stop_reason = _STOP_REASONS.get(why, StopReason.TOOL_CALLS if has_calls else StopReason.END)
        if self._has_refused:
            self._stop_reason = StopReason.FILTERED
        self.is_done = True

    def _fail(self, error: Any) -> None:
        raise faults.from_answer(OPENAI, self._model, None, {"error": error})

    def _opaque(self) -> tuple[OpaquePart, ...]:
        """What marks the items when they go back. Reasoning that is not encrypted cannot, and neither can the ids of
        the others then."""
        items = sorted(self._items.items())
        reasoning = [item for _, item in items if item["type"] == "reasoning"]
        has_ids = all(item.get("id") for _, item in items)
        with_ids = bool(reasoning) and has_ids and all(item.get("encrypted_content") for item in reasoning)
        marks = [(at, _mark(item, with_ids)) for at, item in items]
        return tuple(
            OpaquePart(OPENAI, self._model, canonical_json({"after": self._began_at[at], "item": mark}))
            for at, mark in marks
            if mark
        )


def _mark(item: Item, with_ids: bool) -> Item | None:
    """What of an item is not said by the message's other parts. `phase` tells comments from the final answer."""
    match item["type"]:
        case "reasoning":
            return item if with_ids else None
        case "message":
            kept = {name: item[name] for name in (("id", "phase") if with_ids else ("phase",)) if item.get(name)}
        case "function_call" if with_ids:
            kept = {"id": item["id"], "call_id": item["call_id"]}
        case _:
            kept = {}
    return {"type": item["type"], **kept} if kept else None
