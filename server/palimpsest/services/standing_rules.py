"""The user's standing rules as they hold now, for one conversation: from its messages, pins and withdrawals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from palimpsest.domain.chain import StoredMessage
from palimpsest.domain.constraints import read_rulings
from palimpsest.domain.cut import Live
from palimpsest.domain.front import RulesBasis, StandingRules, derive, front_text, news_text
from palimpsest.domain.layout import Front
from palimpsest.domain.ledger import EntryId, Pin
from palimpsest.domain.messages import MessageId
from palimpsest.services.context_state import ContextState, front
from palimpsest.storage import conversations
from palimpsest.storage import ledger as stored
from palimpsest.storage.conversations import HiddenRange
from palimpsest.storage.store import Store

LEDGER_SHARE: Final = 0.15
"""Of the budget: what standing rules may take; older ones over it become ordinary text, pins never."""


async def read_rules(store: Store, state: ContextState) -> StandingRules:
    """The rules as they hold now. A message is looked at once, and what follows from all of them is derived again only
    when something changed: the one costs about 1 ms a message, the other a rule.

    Needs no lease: while this waits, a turn may add messages, a roll back may hide some, and another call may do the
    same work.
    """
    known, since, until = state.ruling, state.ruling_until, MessageId(state.n_messages)

    def read() -> tuple[list[StoredMessage], list[HiddenRange], list[Pin], list[Pin], list[EntryId]]:
        said = conversations.read_user_messages(state.id, since) if since < until else []
        hidden = conversations.hidden_ranges(state.id)
        return said, hidden, stored.pins(), stored.closed_pins(), stored.withdrawals(state.id)

    said, hidden, pins, closed, taken_back = await store.read(read)
    looked_at = [message for message in said if message.id < until]
    ruling = known + (await asyncio.to_thread(_ruling, looked_at) if looked_at else ())
    if state.ruling_until == since:
        state.ruling, state.ruling_until = ruling, until
    visible = tuple(each for each in ruling if not any(h.start <= each.id < h.end for h in hidden))
    cap = int(LEDGER_SHARE * state.cut.estimator.raw_within(state.budget.budget))
    basis = RulesBasis(visible, tuple(pins), tuple(closed), tuple(taken_back), cap)
    rules = state.rules
    if rules is None or not rules.basis.is_same(basis):
        rules = state.rules = await asyncio.to_thread(derive, basis, state.tokenizer.count)
    return rules


def front_of(state: ContextState, rules: StandingRules, left_out: Sequence[tuple[MessageId, MessageId]]) -> Front:
    """What stands in front after a re-cut."""
    return front(front_text(rules.lines(left_out)), state.tokenizer)


async def news_of(store: Store, state: ContextState) -> str:
    """What the user ruled by command since the cut was chosen and no message of the context says; empty for nothing."""
    rules = await read_rules(store, state)
    told = [state.front.text, *(piece.injection for piece in state.pieces if isinstance(piece, Live))]
    return news_text(rules.lines(state.cut.left_out), rules.basis.closed_pins, "\n".join(told))


def _ruling(messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Those that make or take back a standing rule."""
    return tuple(m for m in messages if read_rulings(m.content))
