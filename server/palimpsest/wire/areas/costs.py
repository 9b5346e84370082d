"""What models cost."""

from __future__ import annotations

import attrs

from palimpsest.wire.declare import Request, Wire


@attrs.frozen(eq=False, repr=False)
class CostsParams(Wire):
    """What to tell the costs of."""

    folder: str | None = None
    """The folder. Absent: that of the conversation, or the first one."""
    conversation_id: str | None = None
    """A conversation."""
    turn_id: str | None = None
    """A turn of it."""


@attrs.frozen(eq=False, repr=False)
class CostLine(Wire):
    """The calls of one purpose and model. Tokens are the service's; each is counted once."""

    purpose: str
    """`answer`, or what a helping model was asked for: `summaries`, `facts`, `rerank`."""
    provider: str
    """The model's provider."""
    model: str
    """The model."""
    calls: int
    """How many calls."""
    estimated_calls: int
    """How many of them broke off or came without a count, so that their tokens are estimated."""
    input_tokens: int
    """Sent, and neither from nor to the service's cache."""
    cache_read_tokens: int
    """Sent, and read from the service's cache."""
    cache_write_tokens: int
    """Sent, and written to the service's cache."""
    output_tokens: int
    """Received."""
    dollars: float | None = None
    """The cost in US dollars. Absent: no price is known."""


@attrs.frozen(eq=False, repr=False)
class Costs(Wire):
    """Calls of models, added up."""

    dollars: float
    """In US dollars, of those whose price is known."""
    is_priced: bool
    """Whether every price is known."""
    lines: list[CostLine]
    """By purpose, provider and model."""


@attrs.frozen(eq=False, repr=False)
class CostsResult(Wire):
    """What models cost. Days and months are UTC."""

    today: Costs
    """The folder, today."""
    month: Costs
    """The folder, this month."""
    everywhere_dollars: float
    """All folders of this user, this month, in US dollars."""
    prices_as_of: str
    """The date of the built-in prices."""
    conversation: Costs | None = None
    """The conversation, with its summaries and facts. Absent: none was named."""
    turn: Costs | None = None
    """The turn's own calls. Absent: none was named."""
    budget_dollars: float | None = None
    """The setting `budget.monthly`. Absent: there is no limit."""


MESSAGES: tuple[Request, ...] = (Request("palimpsest/costs", CostsParams, CostsResult, "Tell what models cost."),)
