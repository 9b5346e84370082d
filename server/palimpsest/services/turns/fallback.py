"""The next step of a turn whose request a model service refused: a smaller request, then the next of the user's
targets.

This happens only before the first word of an answer. After it, the turn ends and the partial answer is kept.
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
"""Errors after which another service may help. The model client has used up its retries by then."""
_AFTER_REFUSAL: Final = 0.9
"""The size of the next request as a share of the refused one, by our own count, whatever limit the service named."""


@dataclass(slots=True)
class Fallback:
    """The fallback of one turn."""

    contexts: ContextEngine
    ceiling_tokens: int | None = None
    """The largest request of the turn in tokens; None for the model's own limits."""
    _tried: set[str] = field(default_factory=set)

    def limit(self, tokens: int) -> int:
        """The limit of the next request."""
        return tokens if self.ceiling_tokens is None else min(tokens, self.ceiling_tokens)

    async def after(self, error: PalimpsestError, context: WritableContext, refused: PreparedContext | None) -> bool:
        """Prepare the context for another try. Returns False when there is none and the turn has to end with the error.

        `refused`: the refused request, None when no request could be built.
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
                error=f"{before} could not answer the request, so {target.name} answers it. {error}",
            )
        )
        return True

    async def _go_on(self, context: WritableContext, more_than_tokens: int) -> Model | None:
        """The target that the conversation was switched to; None when no target is left."""
        while (target := self._next_target(more_than_tokens)) is not None:
            self._tried.add(target.name)
            try:
                await switch_model(self.contexts, context, target)
            except RulesTooLarge:
                continue  # the user's pins do not fit
            return target
        return None

    def _next_target(self, more_than_tokens: int) -> Model | None:
        """The first target that is untried and available, and whose budget is larger than that."""
        models = self.contexts.models
        for model in models.targets():
            if model.name not in self._tried and models.budget(model).budget > more_than_tokens:
                return model
        return None
