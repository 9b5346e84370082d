"""What a turn does when a request is not taken: shrink it once, then the next of the user's targets.

Only before the first word of an answer; after that the turn ends and what was said is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.guard import Outcome
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ErrorKind, PalimpsestError, ProviderError, RecentMessagesTooLarge, RulesTooLarge
from palimpsest.domain.models.limits import Model
from palimpsest.machine import utc_now
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.model_switch import switch_model
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.events import ContextEvent

_OUTAGES: Final = (ErrorKind.OVERLOADED, ErrorKind.NETWORK, ErrorKind.RATE_LIMITED, ErrorKind.QUOTA)
"""After which another service may do: the model client has spent its retries by then."""
_AFTER_REFUSAL: Final = 0.9
"""Of what a service found too long, by our own count: what it is sent next, whatever limit it named."""


@dataclass(slots=True)
class Fallback:
    """Of one turn."""

    contexts: ContextEngine
    ceiling_tokens: int | None = None
    """No request of the turn may be larger; None: as the model's limits say."""
    _tried: set[str] = field(default_factory=set)

    def limit(self, tokens: int) -> int:
        """The limit of the next request."""
        return tokens if self.ceiling_tokens is None else min(tokens, self.ceiling_tokens)

    async def after(self, error: PalimpsestError, context: WritableContext, refused: PreparedContext | None) -> bool:
        """Whether there is something else to try, and then the context is made ready for it. Else the turn has to end
        with the error.

        `refused` is None when no request could be built.
        """
        state = context.state
        self._tried.add(state.model.name)
        is_too_long = isinstance(error, RecentMessagesTooLarge) or error.kind is ErrorKind.CONTEXT_TOO_LONG
        if is_too_long and isinstance(error, ProviderError) and refused is not None and self.ceiling_tokens is None:
            await self.contexts.learn_limit(state, refused, error.detail)
            self.ceiling_tokens = int(_AFTER_REFUSAL * refused.estimated_tokens)
            return True
        if not is_too_long and error.kind not in _OUTAGES:
            return False
        before, target = state.model.name, await self._go_on(context, state.budget.budget if is_too_long else 0)
        if target is None:
            return False
        self.ceiling_tokens = None
        self.contexts.emit(
            ContextEvent(
                state.id,
                ContextEventType.GUARD,
                utc_now(),
                trigger="turn_preflight",
                outcome=Outcome.SKIP.value,
                limit_tokens=error.detail.limit_tokens,
                projected_tokens=error.detail.projected_tokens,
                error=f"{before} could not take the request, so {target.name} goes on. {error}",
            )
        )
        return True

    async def _go_on(self, context: WritableContext, more_than_tokens: int) -> Model | None:
        """The target the conversation was switched to; None when there is none left."""
        while (target := self._next_target(more_than_tokens)) is not None:
            self._tried.add(target.name)
            try:
                await switch_model(self.contexts, context, target)
            except RulesTooLarge:
                continue  # the user's pins do not fit it
            return target
        return None

    def _next_target(self, more_than_tokens: int) -> Model | None:
        """The first target that was not tried yet, can be used, and has a larger budget than that."""
        models = self.contexts.models
        for model in models.targets():
            if model.name not in self._tried and models.budget(model).budget > more_than_tokens:
                return model
        return None
