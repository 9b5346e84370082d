"""One conversation's context together with the right to change it."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.messages import ConversationId
from palimpsest.services.context.state import ContextState
from palimpsest.services.models.editor_models import EditorId
from palimpsest.storage.leases import HeldLease


@dataclass(slots=True)
class WritableContext:
    """Whoever has this holds the conversation's lease, and is the only one that changes `state`. Readers see the same
    state while it is held (`ContextEngine.state`)."""

    state: ContextState
    """A model switch, and what was hidden with its cut, put another in its place."""
    lease: HeldLease
    asked_by: EditorId | None = None
    """The editor that asked for the work; None when it was not an editor. Where editors offer models, its own are asked
    first."""

    @property
    def id(self) -> ConversationId:
        return self.state.id
