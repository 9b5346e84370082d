"""Going on with another model: the cut is chosen anew for its budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest.domain.context.cut import CutCause, MessagePiece, SummaryPiece
from palimpsest.domain.context.measured import Measured
from palimpsest.domain.context.model_switch import ContextAdaptation, adapt
from palimpsest.domain.context.request_layout import FrameTokens
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.errors import RulesTooLarge
from palimpsest.domain.models.limits import Model
from palimpsest.services.context.counting import calibrated
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.rules import read_rules
from palimpsest.services.context.state import ContextState, front
from palimpsest.services.context.writable import WritableContext


@dataclass(frozen=True, slots=True)
class Switch:
    """What a model switch did."""

    model: Model
    adaptation: ContextAdaptation


async def switch_model(contexts: ContextEngine, context: WritableContext, model: Model) -> Switch:
    """Goes on with `model`: the cut is chosen anew for its budget, originals first, in one transaction.

    Raises RulesTooLarge when the user's pins would take more than their share of it.
    """
    state = context.state
    new = await as_with(contexts, state, model)
    model, budget = new.model, new.budget
    _check_pins(new, await read_rules(contexts, new))
    covered = {i for piece in state.pieces if isinstance(piece, SummaryPiece) for i in range(piece.start, piece.end)}
    await contexts.adopt_anew(WritableContext(new, context.lease), CutCause.MODEL)
    new.record = replace(new.record, model=model.name)
    context.state = new
    contexts.keep(new)
    restored = sum(isinstance(piece, MessagePiece) and piece.message.id in covered for piece in new.pieces)
    needs = model.estimator.upper(new.raw_tokens) > budget.budget
    old = state.budget.budget
    return Switch(model, adapt(old, budget.budget, needs_summarization=needs, can_restore=restored))


async def as_with(contexts: ContextEngine, state: ContextState, model: Model) -> ContextState:
    """The state as it would be with another model, but for the sizes of its pieces."""
    budget = contexts.models.budget(model)
    tokenizer = await contexts.tokenizer_of(model)
    model = await calibrated(contexts.store, model, tokenizer.name)
    count = tokenizer.count
    return replace(
        state,
        model=model,
        budget=budget,
        tokenizer=tokenizer,
        frame_tokens=FrameTokens(state.frame.system_tokens(count), state.frame.tools_tokens(count)),
        front=front(state.front.text, tokenizer),
        n_sent=0,
        cut=replace(state.cut, estimator=model.estimator),
        measured=Measured(),
    )


def _check_pins(state: ContextState, rules: StandingRules) -> None:
    """Raises RulesTooLarge when the user's pins take more than their share of the state's budget."""
    if rules.pin_tokens > rules.cap_tokens:
        part = state.cut.estimator.part
        raise RulesTooLarge(part(rules.pin_tokens), part(rules.cap_tokens))
