"""The user's standing rules as they hold now, for one conversation: from its messages, pins and withdrawals."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.request_layout import Front
from palimpsest.domain.context.rules.detection import read_rulings, readers_version
from palimpsest.domain.context.rules.standing import Commands, RulesBasis, StandingRules, derive, front_text, news_text
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import StoreError
from palimpsest.domain.messages import MessageId
from palimpsest.services.context.state import ContextState, front
from palimpsest.storage.context import rules as stored
from palimpsest.storage.conversation import hidden_ranges, message_log, rule_marks
from palimpsest.storage.conversation.hidden_ranges import HiddenRange
from palimpsest.storage.store import Store

RULES_SHARE: Final = 0.15
"""Of the budget: what standing rules may take; older ones over it become ordinary text, pins never."""


_BATCH: Final = 400
"""Messages that are looked at before others have their turn."""
_WORTH_KEEPING: Final = 100
"""Messages looked at after which what was found is stored."""


async def read_rules(store: Store, state: ContextState) -> StandingRules:
    """The rules as they hold now."""
    return await _read_rules(store, state, None)


async def read_rules_of_turn(store: Store, state: ContextState) -> StandingRules:
    """The rules as they hold for the request that is being made."""
    return await _read_rules(store, state, state.commands)


async def _read_rules(store: Store, state: ContextState, commands: Commands | None) -> StandingRules:
    """`commands`: None for those of now. A message is looked at once, and what follows from all is derived again only
    when something changed: the one costs about 1 ms a message, the other a rule.

    Needs no lease: while this waits, a turn may add messages, a roll back may hide some, and another call may do the
    same work.
    """
    ruling = await _ruling(store, state)

    def read() -> tuple[list[HiddenRange], Commands]:
        now = Commands(tuple(stored.pins()), tuple(stored.closed_pins()), tuple(stored.withdrawals(state.id)))
        return hidden_ranges.read(state.id), now

    hidden, now = await store.read(read)
    visible = tuple(each for each in ruling if not any(h.start <= each.id < h.end for h in hidden))
    cap = int(RULES_SHARE * state.budget_raw)
    basis = RulesBasis(visible, now if commands is None else commands, cap)
    rules = state.rules
    if rules is None or not rules.basis.is_same(basis):
        rules = state.rules = await asyncio.to_thread(derive, basis, state.tokenizer.count)
    return rules


async def _ruling(store: Store, state: ContextState) -> tuple[StoredMessage, ...]:
    """The user's messages that make or take back a rule, oldest first. In batches, so that others are answered while a
    long conversation is looked through, and that is stored: the next one who loads it begins where this one ended."""
    until = MessageId(state.n_messages)
    if not state.ruling_until and until > _WORTH_KEEPING:
        known, since = await _remembered(store, state)
        if not state.ruling_until:
            state.ruling, state.ruling_until = known, since
    found, since, n_looked_at = state.ruling, state.ruling_until, 0
    while since < until:
        after = min(since + _BATCH, until)
        said = await store.read(message_log.read_user_messages, state.id, since, after)
        found += await asyncio.to_thread(_those_that_rule, said) if said else ()
        if state.ruling_until == since:
            state.ruling, state.ruling_until = found, after
        n_looked_at += after - since
        since = after
    if n_looked_at >= _WORTH_KEEPING:
        with contextlib.suppress(StoreError):  # a store that cannot be written can be read all the same
            await store.run(rule_marks.write, state.id, readers_version(), [each.id for each in found], until)
    return found


async def _remembered(store: Store, state: ContextState) -> tuple[tuple[StoredMessage, ...], int]:
    """What was found before, and how far."""
    ids, until = await store.read(rule_marks.read, state.id, readers_version())
    found: tuple[StoredMessage, ...] = ()
    for chunk in (ids[first : first + _BATCH] for first in range(0, len(ids), _BATCH)):
        found += tuple(await store.read(message_log.read_user_messages, state.id, chunk[0], chunk[-1] + 1, chunk))
    return found, until


def front_of(state: ContextState, rules: StandingRules, left_out: Sequence[tuple[MessageId, MessageId]]) -> Front:
    """What stands in front after a re-cut."""
    return front(front_text(rules.lines(left_out)), state.tokenizer)


def news_of(state: ContextState, rules: StandingRules) -> str:
    """What the user ruled by command since the cut was chosen and no message of the context says; empty for nothing."""
    told = [state.front.text, *(piece.injection for piece in state.pieces if isinstance(piece, MessagePiece))]
    return news_text(rules.lines(state.cut.left_out), rules.basis.commands.closed_pins, "\n".join(filter(None, told)))


def _those_that_rule(messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Those that make or take back a standing rule."""
    return tuple(m for m in messages if read_rulings(m.content))
