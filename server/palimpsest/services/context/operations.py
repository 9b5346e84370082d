"""Operations: what strategies do to a context, as listeners hear of it.

An operation begins with a start event and ends with exactly one complete or error event, all under one id, whatever
happens in between: only `Operations` begins one, and whoever holds it ends what it began by leaving its `with` block.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import attrs

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.machine import machine, utc_now
from palimpsest.services.events import ContextEvent, EventSink

NOTHING_GAINED: Final = "Nothing became smaller, so the context stays as it is."
NOT_SHORTER: Final = "A summary would not be shorter than what it stands for."
STOPPED: Final = "It was stopped. What was stored by then counts."
_FAILED: Final = "It failed inside Palimpsest."


@dataclass(slots=True)
class Operation:
    """One run of a strategy. Token counts are the model's, of the whole context."""

    id: str
    strategy: str
    tokens_before: int
    n_items: int | None
    """Messages that it summarizes; None for one that writes no summary."""
    _emit: EventSink
    _event: ContextEvent
    """What all its events say."""
    tokens_after: int | None = None
    """None while nothing became smaller."""
    _started: float = field(default_factory=lambda: machine.monotonic_s())
    _has_ended: bool = False

    def changed(self, tokens_after: int) -> None:
        """The context would take so many tokens now."""
        self.tokens_after = tokens_after

    def progress(self, n_done: int) -> None:
        """So many of its messages are summarized."""
        after = self.tokens_before if self.tokens_after is None else self.tokens_after
        self._tell(
            ContextEventType.SUMMARIZATION_PROGRESS,
            items_processed=n_done,
            total_items=self.n_items,
            tokens_saved=self.tokens_before - after,
        )

    def fall_back(self, sentence: str) -> None:
        """A text came about otherwise than wanted; the operation goes on."""
        self._tell(ContextEventType.SUMMARIZATION_FALLBACK, error=sentence)

    def start(self, limit_tokens: int) -> None:
        self._tell(
            ContextEventType.SUMMARIZATION_START,
            current_tokens=self.tokens_before,
            max_tokens=limit_tokens,
            total_items=self.n_items,
        )

    def complete(self) -> None:
        """It stands in the context as it is sent from now on."""
        assert self.tokens_after is not None
        self._end(
            ContextEventType.SUMMARIZATION_COMPLETE,
            current_tokens=self.tokens_before,
            new_token_count=self.tokens_after,
            tokens_saved=self.tokens_before - self.tokens_after,
            items_processed=self.n_items,
            total_items=self.n_items,
            duration_ms=self.duration_ms,
        )

    def give_up(self, why: str) -> None:
        """The context stays as it was."""
        self._end(ContextEventType.SUMMARIZATION_ERROR, error=why, duration_ms=self.duration_ms)

    @property
    def duration_ms(self) -> int:
        return int((machine.monotonic_s() - self._started) * 1000)

    def _end(self, type: ContextEventType, **fields: object) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._tell(type, **fields)

    def _tell(self, type: ContextEventType, **fields: object) -> None:
        self._emit(attrs.evolve(self._event, type=type, timestamp=utc_now(), **fields))  # type: ignore[arg-type]


@dataclass(slots=True)
class Operations:
    """Those of one compaction, in their order: each begins with the tokens that the one before it left, so what they
    save adds up to what the compaction saves."""

    emit: EventSink
    conversation_id: ConversationId
    tokens_before: int
    limit_tokens: int
    begun: list[Operation] = field(default_factory=list)
    _started: float = field(default_factory=lambda: machine.monotonic_s())

    @property
    def duration_ms(self) -> int:
        return int((machine.monotonic_s() - self._started) * 1000)

    @property
    def tokens(self) -> int:
        """Of the context as the operations so far would leave it."""
        changed = [each.tokens_after for each in self.begun if each.tokens_after is not None]
        return changed[-1] if changed else self.tokens_before

    @property
    def have_changed(self) -> bool:
        """Whether any of them made something smaller."""
        return any(each.tokens_after is not None for each in self.begun)

    def begin(self, strategy: str, n_items: int | None = None) -> Operation:
        operation_id = machine.new_id()
        event = ContextEvent(
            self.conversation_id,
            ContextEventType.SUMMARIZATION_START,
            "",
            strategy=strategy,
            operation_id=operation_id,
        )
        operation = Operation(operation_id, strategy, self.tokens, n_items, self.emit, event)
        self.begun.append(operation)
        operation.start(self.limit_tokens)
        return operation

    def saved(self, tokens_after: int) -> dict[str, int]:
        """Tokens by strategy, of those that changed something, where the context takes `tokens_after` in the end."""
        changed = [each for each in self.begun if each.tokens_after is not None]
        if changed:
            changed[-1].tokens_after = tokens_after
        return {each.strategy: each.tokens_before - (each.tokens_after or 0) for each in changed}

    def complete(self) -> None:
        """The compaction took effect."""
        for each in self.begun:
            if each.tokens_after is None:
                each.give_up(NOTHING_GAINED)
            else:
                each.complete()

    def give_up(self, why: str) -> None:
        """Nothing is adopted."""
        for each in self.begun:
            each.give_up(why)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.give_up(_reason(error))


def _reason(error: BaseException | None) -> str:
    match error:
        case None:
            return NOTHING_GAINED
        case asyncio.CancelledError() | KeyboardInterrupt() | SystemExit():
            return STOPPED
        case PalimpsestError():
            return str(error)
        case _:
            return _FAILED
