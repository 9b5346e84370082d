"""What services tell whoever listens: values, in the order they happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import attrs

from palimpsest.domain.context.events import ContextEventFields, ContextEventType
from palimpsest.domain.messages import ConversationId, MessageId


@attrs.frozen
class ContextEvent(ContextEventFields):
    """Something happened to a context. Fields that do not apply are None. Tokens are in the model's tokens."""

    left_out: tuple[tuple[MessageId, MessageId], ...] | None = None
    """[start, end) of messages that are not sent any more."""

    @property
    def changed_conversation(self) -> ConversationId | None:
        """The conversation, after a compaction."""
        return self.conversation_id if self.type is ContextEventType.COMPACTION else None


@dataclass(frozen=True, slots=True)
class RulesProgress:
    """A long conversation, such as one that was just imported, is being looked through for rules: no request can be
    made before the end."""

    conversation_id: ConversationId
    n_read: int
    n_messages: int

    @property
    def changed_conversation(self) -> ConversationId | None:
        return None


EventSink = Callable[[ContextEvent | RulesProgress], None]


@dataclass(frozen=True, slots=True)
class ConversationChanged:
    """A conversation has new messages or another model."""

    conversation_id: ConversationId

    @property
    def changed_conversation(self) -> ConversationId | None:
        return self.conversation_id


@dataclass(frozen=True, slots=True)
class FactsChanged:
    """Facts of the folder, or the condition of their places, have changed."""

    @property
    def changed_conversation(self) -> ConversationId | None:
        return None


@dataclass(frozen=True, slots=True)
class MovedApart:
    """Messages of a shared conversation moved into a fork, because somebody else wrote it while the hub was away."""

    conversation_id: ConversationId
    fork_id: ConversationId
    at: MessageId
    """The first of them."""

    @property
    def changed_conversation(self) -> ConversationId | None:
        return None


@dataclass(frozen=True, slots=True)
class PresenceChanged:
    """Somebody else began or ended to write a shared conversation."""

    conversation_id: ConversationId

    @property
    def changed_conversation(self) -> ConversationId | None:
        return None


@dataclass(frozen=True, slots=True)
class HubChanged:
    """The folder's way to the hub is in another state."""

    @property
    def changed_conversation(self) -> ConversationId | None:
        return None


@dataclass(frozen=True, slots=True)
class McpChanged:
    """A server of the Model Context Protocol is in another state, or offers something else."""

    @property
    def changed_conversation(self) -> ConversationId | None:
        return None


FolderEvent = (
    ContextEvent
    | RulesProgress
    | ConversationChanged
    | FactsChanged
    | MovedApart
    | PresenceChanged
    | HubChanged
    | McpChanged
)
"""An event in a folder. `changed_conversation`: the conversation whose messages, model or cut are others now; None when
the event is about something else."""


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
