"""One conversation's context together with the right to change it."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.messages import ConversationId
from palimpsest.services.context.state import ContextState
from palimpsest.storage.leases import HeldLease


@dataclass(slots=True)
class WritableContext:
    """Whoever has this holds the conversation's lease, and is the only one that changes `state`. Readers see the same
    state while it is held (`ContextEngine.state`)."""

    state: ContextState
    """A model switch, and what was hidden with its cut, put another in its place."""
    lease: HeldLease

    @property
    def id(self) -> ConversationId:
        return self.state.id
