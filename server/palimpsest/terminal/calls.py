"""A running request: the events before its answer, and the answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from palimpsest.terminal import texts
from palimpsest.terminal.errors import REQUEST_CANCELLED, BadAnswer, RequestFailed
from palimpsest.values import Mismatch
from palimpsest.wire.areas.turns import TurnDelta
from palimpsest.wire.areas.usage import ContextEvent
from palimpsest.wire.codec.convert import from_json

T = TypeVar("T")
EDIT_TOOL = "propose_edit"
"""The tool by which a model changes a file."""


@dataclass(frozen=True, slots=True)
class WorkDone:
    """A step of a standard work-done progress."""

    text: str
    """The current work; empty when this step does not say."""
    percentage: int | None
    is_over: bool


@dataclass(frozen=True, slots=True)
class ServerNote:
    """A sentence for the user beside the answer, mostly the server's."""

    text: str


Event = TurnDelta | ContextEvent | WorkDone | ServerNote
"""The events of a request before its answer."""


class Call(Generic[T]):
    """A running request: first its events, then its result."""

    def __init__(self, method: str, result: Any, send_cancel: Callable[[], None]) -> None:
        self._method = method
        self._send_cancel = send_cancel
        self._result_hint = result
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._is_answered = asyncio.Event()
        self._outcome: T | Exception | None = None
        self._title = ""
        self._has_unknown = False
        self.is_followed = False
        """Whether somebody reads its events."""

    async def events(self) -> AsyncGenerator[Event, None]:
        """The events up to the answer, in order. Read them once, before `result`."""
        self.is_followed = True
        with self._cancelled_with_its_caller():
            while (event := await self._events.get()) is not None:
                yield event

    async def result(self) -> T:
        """The result. Raises RequestFailed, BadAnswer or ServerGone."""
        with self._cancelled_with_its_caller():
            await self._is_answered.wait()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return cast(T, self._outcome)

    def cancel(self) -> None:
        """Ask the server to stop. The request still gets an answer, mostly an error."""
        if not self._is_answered.is_set():
            self._send_cancel()

    def add(self, event: Event) -> None:
        if not self._is_answered.is_set():
            self._events.put_nowait(event)

    def add_progress(self, value: Any) -> None:
        """A `$/progress` value: work-done progress has a `kind`, a delta never."""
        if isinstance(value, dict) and "kind" in value:
            self.add(self._work_done(value))
            return
        try:
            self.add(from_json(value, TurnDelta))
        except Mismatch:
            # A newer server may send unknown deltas: the rest of the answer is still good.
            if not self._has_unknown:
                self.add(ServerNote(texts.NEWER_SERVER))
            self._has_unknown = True

    def succeed(self, value: Any) -> None:
        try:
            self._end(from_json(value, self._result_hint))
        except Mismatch as error:
            self._end(BadAnswer(texts.bad_answer(self._method, str(error))))

    def fail(self, error: Exception) -> None:
        self._end(error)

    def _end(self, outcome: T | Exception) -> None:
        if not self._is_answered.is_set():
            self._outcome = outcome
            self._is_answered.set()
            self._events.put_nowait(None)

    def _work_done(self, value: dict[str, Any]) -> WorkDone:
        title, message, percentage = value.get("title"), value.get("message"), value.get("percentage")
        self._title = title if isinstance(title, str) else self._title
        parts = [part for part in (self._title, message) if isinstance(part, str) and part]
        is_counted = isinstance(percentage, int) and not isinstance(percentage, bool)
        return WorkDone(": ".join(parts), percentage if is_counted else None, value.get("kind") == "end")

    @contextlib.contextmanager
    def _cancelled_with_its_caller(self) -> Iterator[None]:
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            self.cancel()
            self.fail(RequestFailed(REQUEST_CANCELLED, texts.CANCELLED))
            raise
