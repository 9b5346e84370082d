"""What services tell whoever listens: values, in the order they happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from palimpsest.domain.messages import ConversationId, MessageId


class ContextEventType(StrEnum):
    SUMMARIZATION_START = "context_summarization_start"
    SUMMARIZATION_PROGRESS = "context_summarization_progress"
    SUMMARIZATION_COMPLETE = "context_summarization_complete"
    SUMMARIZATION_ERROR = "context_summarization_error"
    SUMMARIZATION_FALLBACK = "context_summarization_fallback"
    RECUT = "context_recut"
    LEFT_OUT = "context_left_out"
    RULES_CAP = "context_rules_cap"
    NOT_RECALLED = "context_not_recalled"
    GUARD = "context_guard"


@dataclass(frozen=True, slots=True)
class ContextEvent:
    """Something happened to a context. Fields that do not apply are None. Tokens are in the model's tokens."""

    conversation_id: ConversationId
    type: ContextEventType
    timestamp: str
    operation_id: str | None = None
    """Of what strategies do: the same from the start to the one complete or error (`context/operations.py`)."""
    strategy: str | None = None
    cause: str | None = None
    current_tokens: int | None = None
    max_tokens: int | None = None
    items_processed: int | None = None
    total_items: int | None = None
    tokens_saved: int | None = None
    new_token_count: int | None = None
    duration_ms: int | None = None
    error: str | None = None
    trigger: str | None = None
    outcome: str | None = None
    limit_tokens: int | None = None
    projected_tokens: int | None = None
    remaining_tokens: int | None = None
    left_out: tuple[tuple[MessageId, MessageId], ...] | None = None
    """[start, end) of messages that are not sent any more."""
    rules: tuple[str, ...] | None = None
    """Ids of standing rules that became ordinary text."""


EventSink = Callable[[ContextEvent], None]


@dataclass(frozen=True, slots=True)
class ConversationChanged:
    """A conversation has new messages or another model."""

    conversation_id: ConversationId


@dataclass(frozen=True, slots=True)
class FactsChanged:
    """Facts of the folder, or the condition of their places, have changed."""


FolderEvent = ContextEvent | ConversationChanged | FactsChanged


class Listeners:
    """Who wants to hear of a folder's events. Telling them never fails and never waits."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[FolderEvent], None]] = []

    def add(self, listener: Callable[[FolderEvent], None]) -> Callable[[], None]:
        """Returns what removes it again."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, event: FolderEvent) -> None:
        for listener in list(self._listeners):
            listener(event)
