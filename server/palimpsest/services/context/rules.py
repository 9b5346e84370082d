"""The rules that hold in one conversation, derived from its messages, pins and withdrawals."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final, Protocol

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.request_layout import Front
from palimpsest.domain.context.rules.detection import read_rulings, readers_version
from palimpsest.domain.context.rules.standing import Commands, RulesBasis, StandingRules, derive, front_text, news_text
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import StoreError
from palimpsest.domain.messages import MessageId
from palimpsest.services.context.rule_patterns import load_patterns
from palimpsest.services.context.state import ContextState, front
from palimpsest.services.events import EventSink, RulesProgress
from palimpsest.storage.context import rules as stored
from palimpsest.storage.conversation import hidden_ranges, message_log, rule_marks
from palimpsest.storage.conversation.hidden_ranges import HiddenRange
from palimpsest.storage.store import Store

RULES_SHARE: Final = 0.15
"""Share of the budget that rules may take; older rules over it become ordinary text, pins never."""
_BATCH: Final = 400
"""Messages that are read before other work gets its turn."""
_WORTH_KEEPING: Final = 100
"""Messages read, from which on the result is stored."""
_WORTH_TELLING: Final = 1_600
"""Messages, which take seconds."""


class Contexts(Protocol):
    """The store of conversations, and who hears how far one is looked through."""

    @property
    def store(self) -> Store: ...

    @property
    def emit(self) -> EventSink: ...


async def read_rules(contexts: Contexts, state: ContextState) -> StandingRules:
    """The rules that hold now."""
    return await _read_rules(contexts, state, None)


async def read_rules_of_turn(contexts: Contexts, state: ContextState) -> StandingRules:
    """The rules that hold for the request in preparation: by the pins and withdrawals that it was begun with."""
    return await _read_rules(contexts, state, state.commands)


async def _read_rules(contexts: Contexts, state: ContextState, commands: Commands | None) -> StandingRules:
    """`commands`: None for those of now. Each message is read once, and rules are derived again only when something
    changed: reading costs some 0.05 ms a word, deriving about 1 ms a rule.

    Needs no lease: meanwhile a turn may add messages, and a roll back may hide some.
    """
    ruling = await _ruling(contexts, state)

    def read() -> tuple[list[HiddenRange], Commands]:
        now = Commands(tuple(stored.pins()), tuple(stored.closed_pins()), tuple(stored.withdrawals(state.id)))
        return hidden_ranges.read(state.id), now

    hidden, now = await contexts.store.read(read)
    visible = tuple(each for each in ruling if not any(h.start <= each.id < h.end for h in hidden))
    cap = int(RULES_SHARE * state.budget_raw)
    basis = RulesBasis(visible, now if commands is None else commands, cap)
    rules = state.rules
    if rules is None or not rules.basis.is_same(basis):
        rules = state.rules = await asyncio.to_thread(_derived, basis, state.tokenizer.count)
    return rules


async def _ruling(contexts: Contexts, state: ContextState) -> tuple[StoredMessage, ...]:
    """The user's messages that set or take back a rule, oldest first.

    A long conversation is read in batches, so that other work goes on, and what was found is stored with each: the next
    load begins where this one ended, or was ended. Who asks meanwhile waits for it.
    """
    store = contexts.store
    async with state.reading_rules:
        until = MessageId(state.n_messages)
        await _remember(store, state)
        found, since = state.ruling, state.ruling_until
        is_long = until - since >= _WORTH_TELLING
        while since < until:
            if is_long:
                contexts.emit(RulesProgress(state.id, since, until))
            after = MessageId(min(since + _BATCH, until))
            said = await store.read(message_log.read_user_messages, state.id, since, after)
            found += await asyncio.to_thread(_with_rulings, said) if said else ()
            if state.ruling_until == since:
                state.ruling, state.ruling_until = found, after
            if after - since >= _WORTH_KEEPING:
                with contextlib.suppress(StoreError):  # a store that cannot be written can be read all the same
                    await store.run(rule_marks.write, state.id, readers_version(), [each.id for each in found], after)
            since = after
        return found


async def are_rules_read(contexts: Contexts, state: ContextState) -> bool:
    """Whether reading the rules takes no time worth a word. Otherwise, as after an import, it takes seconds for each
    thousand messages."""
    await _remember(contexts.store, state)
    return state.n_messages - state.ruling_until <= _BATCH


async def _remember(store: Store, state: ContextState) -> None:
    """Begins where an earlier reading has ended, unless the state is read already, in part or whole."""
    if not state.ruling_until and state.n_messages > _WORTH_KEEPING:
        known, since = await _remembered(store, state)
        if not state.ruling_until:
            state.ruling, state.ruling_until = known, since


async def _remembered(store: Store, state: ContextState) -> tuple[tuple[StoredMessage, ...], int]:
    """The stored result of an earlier reading: its messages, and the id of the first message that was not read."""
    ids, until = await store.read(rule_marks.read, state.id, readers_version())
    found: tuple[StoredMessage, ...] = ()
    for chunk in (ids[first : first + _BATCH] for first in range(0, len(ids), _BATCH)):
        found += tuple(await store.read(message_log.read_user_messages, state.id, chunk[0], chunk[-1] + 1, chunk))
    return found, until


def front_of(state: ContextState, rules: StandingRules, left_out: Sequence[tuple[MessageId, MessageId]]) -> Front:
    """The front of the next cut: the rules that a request holds before its messages."""
    return front(front_text(rules.lines(left_out)), state.tokenizer)


def news_of(state: ContextState, rules: StandingRules) -> str:
    """The pins and withdrawals since the cut was chosen that no message of the context states; empty for none."""
    told = [state.front.text, *(piece.injection for piece in state.pieces if isinstance(piece, MessagePiece))]
    return news_text(rules.lines(state.cut.left_out), rules.basis.commands.closed_pins, "\n".join(filter(None, told)))


def _derived(basis: RulesBasis, count: CountText) -> StandingRules:
    if basis.messages:
        load_patterns()
    return derive(basis, count)


def _with_rulings(messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """The messages that set or take back a rule."""
    load_patterns()
    return tuple(m for m in messages if read_rulings(m.content))
