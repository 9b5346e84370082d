"""What models cost a folder, and the monthly budget.

A cost is stored with its call, by the price of that day. Calls that were cut off have no count of their service: they
are estimated, and priced when they are shown. What helping models took is part of every sum, under its own purpose.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.domain.errors import BudgetSpent
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.models.prices import NANO
from palimpsest.machine import utc_now
from palimpsest.services.models.catalog import Models
from palimpsest.storage import model_calls
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.model_calls import ModelCall, Spent
from palimpsest.storage.store import Store

_WARN_AT: Final = 0.8
"""The share of the budget from which on the user is told."""
_LOOK_AGAIN_S: Final = 60
"""How long the sum of other folders is taken for true."""

Ask = Callable[[ApprovalRequest], Awaitable[Answer | None]]
"""Asks the user; None when no editor can."""


@dataclass(frozen=True, slots=True)
class Line:
    """The calls of one purpose and model."""

    spent: Spent
    dollars: float | None
    """None when no price is known."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Calls, added up."""

    lines: tuple[Line, ...] = ()
    """By purpose, provider and model."""

    @property
    def dollars(self) -> float:
        """Of those whose price is known."""
        return sum(line.dollars or 0.0 for line in self.lines)

    @property
    def n_calls(self) -> int:
        return sum(line.spent.n_calls for line in self.lines)

    @property
    def n_estimated(self) -> int:
        return sum(line.spent.n_estimated for line in self.lines)

    @property
    def is_priced(self) -> bool:
        """Whether every price is known."""
        return all(line.dollars is not None for line in self.lines)


@dataclass(frozen=True, slots=True)
class CostReport:
    """What models cost, from near to far."""

    turn: Costs | None
    """The newest turn's own calls; None without a conversation or a turn."""
    conversation: Costs | None
    today: Costs
    """Of this folder, since midnight (UTC)."""
    month: Costs
    """Of this folder, since the first of the month (UTC)."""
    everywhere_dollars: float
    """This month, in all folders of this user."""
    budget_dollars: float
    """A month's budget; 0 means no limit."""


@dataclass(slots=True)
class Remembered:
    """What is known of a folder's spending for as long as it is open."""

    elsewhere: tuple[str, list[Spent]] | None = None
    """When the other folders were looked at, and what they had spent in that month."""
    agreed: str = ""
    """The day on which the user agreed to spend more."""
    refused: str = ""
    """The day on which the user wanted no more questions about it."""
    warned: str = ""
    """The day on which the user was last told."""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Spending:
    """The account of one folder by the settings of one moment. The sum over the other folders is read from their
    stores."""

    store: Store
    models: Models
    monthly_budget: float
    """In US dollars; 0 means no limit."""
    known: Remembered
    warn: Callable[[ConversationId, str], None] = lambda _, __: None
    """Tells the user a sentence, in a conversation."""

    async def keep(self, call: ModelCall, conversation_id: ConversationId | None) -> None:
        """Writes down a call of a helping model."""
        await self.store.run(model_calls.record, call, conversation_id, utc_now())

    async def report(self, conversation_id: ConversationId | None, turn_id: TurnId | None) -> CostReport:
        """The costs of a conversation and its turn, and those of the folder."""
        now = utc_now()
        read = self.store.read
        month = self._costs(await read(model_calls.since, _month(now)))
        return CostReport(
            None if turn_id is None else self._costs(await read(model_calls.of_turn, turn_id)),
            None if conversation_id is None else self._costs(await read(model_calls.of_conversation, conversation_id)),
            self._costs(await read(model_calls.since, now[:10])),
            month,
            month.dollars + await self._spent_elsewhere(now),
            self.monthly_budget,
        )

    async def conversation(self, conversation_id: ConversationId) -> Costs:
        """The costs of a conversation."""
        return self._costs(await self.store.read(model_calls.of_conversation, conversation_id))

    async def require(self, ask: Ask, conversation_id: ConversationId) -> None:
        """Returns when an answer may be asked for: there is money left, or the user agrees. A yes and a never hold for
        the rest of the day. Otherwise raises BudgetSpent."""
        if not self.monthly_budget:
            return
        now = utc_now()
        spent = await self._spent(now)
        if spent < self.monthly_budget:
            if spent >= self.monthly_budget * _WARN_AT and self.known.warned != now[:10]:
                self.known.warned = now[:10]
                self.warn(
                    conversation_id,
                    f"{self._said(spent)} When it is spent, you are asked before each day's first answer.",
                )
            return
        async with self.known.asking:
            if self.known.agreed == now[:10]:
                return
            answer = Answer.NEVER if self.known.refused == now[:10] else await ask(self._question(spent))
            if answer is Answer.NEVER:
                self.known.refused = now[:10]
            if answer not in (Answer.ONCE, Answer.ALWAYS):
                raise BudgetSpent(f"{self._said(spent)} Raise `budget.monthly` in your settings, or go on next month.")
            self.known.agreed = now[:10]

    async def require_quietly(self) -> None:
        """Raises BudgetSpent when the budget is spent and the user has not agreed to more today."""
        if not self.monthly_budget:
            return
        now = utc_now()
        if self.known.agreed != now[:10] and await self._spent(now) >= self.monthly_budget:
            raise BudgetSpent("This month's budget for models is spent.")

    def _question(self, spent: float) -> ApprovalRequest:
        return ApprovalRequest(
            "budget",
            (),
            "This month's budget for models is spent. Go on today?",
            self._said(spent),
            may_be_always=False,
            covered="answers for the rest of the day",
        )

    def _said(self, spent: float) -> str:
        return f"Models have cost ${spent:,.2f} this month, of your budget of ${self.monthly_budget:,.2f}."

    async def _spent(self, now: str) -> float:
        own = self._costs(await self.store.read(model_calls.since, _month(now)))
        return own.dollars + await self._spent_elsewhere(now)

    async def _spent_elsewhere(self, now: str) -> float:
        """This month, in the other folders."""
        found = self.known.elsewhere
        if found is None or found[0][:7] != now[:7] or _seconds(found[0], now) >= _LOOK_AGAIN_S:
            found = now, await asyncio.to_thread(_in_other_stores, self.store.directory, _month(now))
            self.known.elsewhere = found
        return self._costs(found[1]).dollars

    def _costs(self, spent: list[Spent]) -> Costs:
        return Costs(tuple(Line(each, self._dollars(each)) for each in spent))

    def _dollars(self, spent: Spent) -> float | None:
        left = spent.unpriced
        if not left.prompt_tokens + left.output_tokens:
            return spent.nanodollars / NANO
        price = self.models.price(self.models.assume(spent.model))
        if price is None:
            return spent.nanodollars / NANO or None
        return (spent.nanodollars + price.of(left, prompt_tokens=0)) / NANO


def _in_other_stores(directory: Path, since: str) -> list[Spent]:
    databases = [each / DATABASE_NAME for each in directory.parent.iterdir() if each != directory]
    return [spent for database in databases if database.is_file() for spent in model_calls.since_in(database, since)]


def _month(now: str) -> str:
    return f"{now[:7]}-01"


def _seconds(before: str, now: str) -> float:
    return (datetime.fromisoformat(now) - datetime.fromisoformat(before)).total_seconds()
