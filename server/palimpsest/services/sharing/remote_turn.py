"""A turn that another machine runs, as far as it was shown here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.turns.journal import EventType, JournalEvent, Numbered, shown_text
from palimpsest.services.sharing.following import Shown

Listener = Callable[[Numbered], None]
_SHOWN: Final = {
    each.value: each
    for each in (EventType.TEXT, EventType.TOOL_CALL, EventType.TOOL_START, EventType.TOOL_RESULT, EventType.DONE)
}
_CHARS_OF_EVENT: Final = 100
"""For what an event takes beside its text."""
_MOST_CHARS: Final = 4_000_000
"""Of what is shown of one turn: a member may show frames without end. The messages come all the same."""


@dataclass(slots=True)
class RemoteTurn:
    """It exists from the first word that is shown until the turn has ended."""

    id: TurnId
    conversation_id: ConversationId
    writer: str
    """The name of the member who runs it."""
    shown: list[Numbered] = field(default_factory=list)
    """All that was shown since it is followed."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at the end."""
    _n_chars: int = 0
    _n_stored: int = 0
    """How many of those are stored as messages."""
    _calls: list[tuple[str, str]] = field(default_factory=list)
    """(name, id) of the calls without a result. The ids are ours: others are not told the service's."""
    _n_calls: int = 0
    _listeners: list[Listener] = field(default_factory=list)

    @property
    def last_seq(self) -> int:
        return self.shown[-1].seq if self.shown else 0

    @property
    def text(self) -> str:
        """The text that is not among the messages yet."""
        return shown_text([each.event for each in self.shown[self._n_stored :]])

    def store_shown(self) -> None:
        """What was shown so far is stored."""
        self._n_stored = len(self.shown)

    def show(self, shown: Sequence[Shown]) -> None:
        """Publishes what is new. What is of no known kind is passed over."""
        for each in shown:
            if (kind := _SHOWN.get(each.type)) is None or each.seq <= self.last_seq:
                continue
            self._n_chars += len(each.text) + _CHARS_OF_EVENT
            if self._n_chars > _MOST_CHARS:
                return
            call_id = self._call(kind, each.name or "") if kind not in (EventType.TEXT, EventType.DONE) else None
            new = Numbered(each.seq, JournalEvent(kind, each.text, call_id, each.name))
            self.shown.append(new)
            for listener in list(self._listeners):
                listener(new)

    def _call(self, kind: EventType, name: str) -> str:
        known = [each for each in self._calls if each[0] == name]
        if kind is EventType.TOOL_CALL or not known:
            self._n_calls += 1
            known = [(name, f"{self.id}:{self._n_calls}")]
            self._calls += known
        if kind is EventType.TOOL_RESULT:
            self._calls.remove(known[0])
        return known[0][1]

    def follow(self, listener: Listener, after_seq: int) -> Callable[[], None]:
        """Calls `listener` with every event after `after_seq`. Returns what ends this."""
        for each in self.shown:
            if each.seq > after_seq:
                listener(each)
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def is_followed(self) -> bool:
        return bool(self._listeners)
