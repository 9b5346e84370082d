"""What an editor may hold a server to, message by message: one answer a request, errors of known kinds, streams and
progress that end with their request, events in pairs, nothing that was not asked for, counts that add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.simulation.world import World

from palimpsest.domain.errors import ErrorKind

Answered = Callable[[dict[str, Any]], None]
Id = int | str

_CODES: Final = {-32600, -32601, -32602, -32700, -32002, -32800, -32801, -32802, -32803}
_KINDS: Final = {
    *(kind.value for kind in ErrorKind),
    *("invalid_params", "method_not_found", "not_initialized", "cancelled"),
}
_BROKEN: Final = {ErrorKind.INTERNAL.value, ErrorKind.CONTEXT_TOO_LONG.value, ErrorKind.LEASE_LOST.value}
"""Kinds that no editor should see."""
_BEFORE_INITIALIZED: Final = ("window/showMessage", "window/logMessage", "telemetry/event", "window/showMessageRequest")
_ENDS: Final = ("context_summarization_complete", "context_summarization_error")


@dataclass(eq=False, slots=True)
class Asked:
    """A request of the editor."""

    id: Id
    method: str
    heard: Answered | None
    stream: Id | None = None
    """Its token for partial results."""
    progress: Id | None = None
    """Its token for work-done progress."""
    on_partial: Callable[[Any], None] | None = None
    may_fail: bool = True
    is_answered: bool = False
    was_cancelled: bool = False


@dataclass(eq=False)
class Manners:
    """The manners of one connection."""

    world: World
    hears_changes: bool = False
    """Whether the editor asked for notifications of ours."""
    asked: dict[Id, list[Asked]] = field(default_factory=dict)
    n_open: int = 0
    """Requests that are not answered yet."""
    n_nameless: int = 0
    """Messages whose answer will carry no id, and that are not answered yet."""
    is_initialized: bool = False
    is_shut_down: bool = False
    """Whether `shutdown` was answered."""
    is_over: bool = False
    excused: tuple[str, ...] = ()
    """Sentences of failures that were put in."""
    is_ending: bool = False
    """Whether the server's process was told to end."""
    has_closed_folder: bool = False
    """Whether the editor has closed a folder: of what goes on there it hears no more, also not how it ends."""
    _methods: set[str] = field(default_factory=set)
    """That the editor asked for."""
    _streams: dict[Id, Asked] = field(default_factory=dict)
    _progress: dict[Id, str] = field(default_factory=dict)
    """How far each work-done progress has come."""
    _operations: dict[str, bool] = field(default_factory=dict)
    """Of contexts, by id: whether they have ended."""
    _requests: set[Id] = field(default_factory=set)
    """Ids of requests of the server."""

    # ---------------------------------------------------------------------------------------------------- of the editor

    def asks(self, message_id: Id, method: str, heard: Answered | None, **what: Any) -> Asked:
        asked = Asked(message_id, method, heard, **what)
        self.asked.setdefault(message_id, []).append(asked)
        self._methods.add(method)
        self.n_open += 1
        for token in (asked.stream, asked.progress):
            if token is not None:
                self._streams[token] = asked
        return asked

    def cancels(self, message_id: Id) -> None:
        for asked in self.asked.get(message_id, ()):
            asked.was_cancelled = True

    def open_requests(self) -> list[Asked]:
        return [asked for each in self.asked.values() for asked in each if not asked.is_answered]

    # ---------------------------------------------------------------------------------------------------- of the server

    def hears(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self._answer(message)
            return
        if not self.is_initialized and method not in _BEFORE_INITIALIZED:
            self._problem("too early", method)
        if self.is_shut_down and not self.is_over and method != "$/cancelRequest":
            self._problem("after shutdown", method)
        if "id" in message:
            if message["id"] in self._requests:
                self._problem("id used twice", method)
            self._requests.add(message["id"])
        params = message.get("params")
        if method == "$/progress":
            self._hear_progress(params)
        elif method.startswith("palimpsest/") and "id" not in message:
            self._hear_change(method, params)

    def _answer(self, message: dict[str, Any]) -> None:
        message_id = message.get("id")
        if message_id is None:
            self.n_nameless -= 1
            if self.n_nameless < 0:
                self._problem("answer to nothing", str(message.get("error"))[:100])
            return
        waiting = [each for each in self.asked.get(message_id, ()) if not each.is_answered]
        if not waiting:
            self._problem("answered twice", " ".join(each.method for each in self.asked.get(message_id, ())))
            return
        # Of several with one id the first goes on, and the others are refused.
        is_refused = len(waiting) > 1 and (message.get("error") or {}).get("code") == -32600
        asked = waiting[-1 if is_refused else 0]
        asked.is_answered = True
        self.n_open -= 1
        self._end_progress(asked)
        if "error" in message:
            self._judge(asked, message["error"])
        else:
            self.is_initialized |= asked.method == "initialize"
            self.is_shut_down |= asked.method == "shutdown"
            self._count(asked.method, message.get("result"))
        if asked.heard is not None:
            asked.heard(message)

    def _judge(self, asked: Asked, error: dict[str, Any]) -> None:
        code, data = error.get("code"), error.get("data")
        said = f"{asked.method}: {code} {error.get('message')}"
        kind = data.get("kind") if isinstance(data, dict) else None
        if self.world.disk.n_failed and (kind == ErrorKind.STORE.value or code == -32603):
            return
        if code not in _CODES or kind not in _KINDS or kind in _BROKEN:
            self._problem("error", said)
        if kind == ErrorKind.STORE.value and error.get("message") not in self.excused:
            self._problem("store", said)
        is_leaving = self.is_over or self.is_ending or self.has_asked("shutdown")
        if code == -32800 and not (asked.was_cancelled or is_leaving):
            self._problem("cancelled by nobody", said)
        if not str(error.get("message", "")).rstrip().endswith((".", "?", "!")):
            self._problem("no sentence", said)
        if not asked.may_fail:
            self._problem("failed", said)

    def has_asked(self, method: str) -> bool:
        return method in self._methods

    # ----------------------------------------------------------------------------------------------- streams and events

    def _hear_progress(self, params: Any) -> None:
        token, value = params["token"], params["value"]
        asked = self._streams.get(token)
        if asked is None:
            self._problem("unknown token", str(value)[:80])
        elif asked.is_answered:
            self._problem("progress after the answer", f"{asked.method} {str(value)[:80]}")
        elif token == asked.stream:
            if asked.on_partial is not None:
                asked.on_partial(value)
        else:
            kind, before = value["kind"], self._progress.get(token)
            if {"begin": None, "report": "begun", "end": "begun"}[kind] != before:
                self._problem("progress out of order", f"{kind} after {before}")
            self._progress[token] = "ended" if kind == "end" else "begun"
            if not 0 <= value.get("percentage", 0) <= 100:
                self._problem("progress out of order", f"{value['percentage']} %")

    def _end_progress(self, asked: Asked) -> None:
        if asked.progress is not None and self._progress.get(asked.progress) == "begun":
            self._problem("progress without an end", asked.method)

    def _hear_change(self, method: str, params: Any) -> None:
        if not self.hears_changes:
            self._problem("not asked for", method)
        if method == "palimpsest/didChangeUsage":
            self._count(method, params["usage"])
        if method != "palimpsest/contextEvent" or (operation := params.get("operationId")) is None:
            return
        what = params["type"]
        known = self._operations.get(operation)
        if what == "context_summarization_start" and known is not None:
            self._problem("events out of order", f"{what} again")
        elif known:
            self._problem("events out of order", f"{what} after the end")
        self._operations[operation] = what in _ENDS

    def _count(self, method: str, result: Any) -> None:
        """Parts add up to the whole."""
        if not isinstance(result, dict):
            return
        usage = result if "byKind" in result else result.get("usage")
        if isinstance(usage, dict) and "byKind" in usage:
            parts = sum(each["tokens"] for each in usage["byKind"])
            if parts != usage["usedTokens"]:
                self._problem("does not add up", f"{method}: {parts} of {usage['usedTokens']}")
        if "segments" in result and sum(each["tokens"] for each in result["segments"]) != result["usedTokens"]:
            self._problem("does not add up", f"{method}: segments of {result['usedTokens']}")

    # ----------------------------------------------------------------------------------------------------- in the quiet

    def look(self) -> None:
        """When nothing is under way and the connection lives."""
        if self.is_over:
            return
        if left := self.open_requests():
            self._problem("not answered", " ".join(each.method for each in left))
        if self.n_nameless:
            self._problem("not answered", f"{self.n_nameless} broken messages")
        if not self.has_closed_folder and any(not has_ended for has_ended in self._operations.values()):
            self._problem("operation without an end", "")

    def _problem(self, name: str, seen: str) -> None:
        self.world.problem(name, seen)
