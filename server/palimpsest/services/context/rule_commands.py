"""What the user rules by command: pins, which hold in every conversation of the folder, and rules taken back.

The next turn is told; the next compaction puts it in front of the conversation.
"""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.context.rules.rule_set import NO_MESSAGE, Pin, RuleId, RuleState, pin_tokens
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.context.summaries.node import CLOSING, OPENING
from palimpsest.domain.errors import InvalidRequest, NotFound, RulesTooLarge
from palimpsest.domain.messages import ConversationId, MessageId, clean_text
from palimpsest.machine import utc_now
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.rules import read_rules
from palimpsest.storage.context import rules as commanded_rules
from palimpsest.storage.facts import facts


@dataclass(frozen=True, slots=True)
class RuleCommands:
    """For one folder's conversations."""

    engine: ContextEngine

    async def rules(self, conversation_id: ConversationId) -> StandingRules:
        """Raises NotFound."""
        return await read_rules(self.engine, await self.engine.state(conversation_id))

    async def pin(self, conversation_id: ConversationId, text: str) -> StandingRules:
        """Raises InvalidRequest for a text that cannot stand as a rule, RulesTooLarge, with the numbers, when pins
        would take more than their share of the conversation's budget; then nothing is pinned."""
        cleaned = clean_text(text)[0].strip()
        if not cleaned:
            raise InvalidRequest("A pin needs a text: what should hold from now on?")
        if OPENING in cleaned or CLOSING in cleaned:
            raise InvalidRequest("A pin cannot hold the markers of a summary. Leave them out.")
        state = await self.engine.state(conversation_id)
        rules = await read_rules(self.engine, state)
        if any(entry.is_pin and entry.text == cleaned for entry in rules.whole.open_entries()):
            return rules
        needed = rules.pin_tokens + pin_tokens((Pin(0, cleaned).entry,), state.tokenizer.count)
        if needed > rules.cap_tokens:
            part = state.cut.estimator.part
            raise RulesTooLarge(part(needed), part(rules.cap_tokens))
        await self.engine.store.run(commanded_rules.add_pin, cleaned, utc_now())
        return await read_rules(self.engine, state)

    async def withdraw(self, conversation_id: ConversationId, rule_id: str) -> StandingRules:
        """Takes back a rule of the conversation with the fact that was made of it, or a pin of the folder. Raises
        NotFound when none of that id holds."""
        state = await self.engine.state(conversation_id)
        rules = await read_rules(self.engine, state)
        entry = next((each for each in rules.whole.open_entries() if str(each.id) == rule_id), None)
        if entry is None:
            raise NotFound(f"No standing rule {rule_id!r} holds in this conversation. /rules lists them.")

        def write() -> None:
            for pin in commanded_rules.pins():
                if pin.text == entry.text:
                    commanded_rules.close_pin(pin.number)
            if entry.id.message_id != NO_MESSAGE:
                commanded_rules.withdraw(conversation_id, entry.id, utc_now())
                facts.close_ruled(conversation_id, entry.id.message_id, entry.text, utc_now())

        await self.engine.store.run(write)
        return await read_rules(self.engine, state)


def is_ordinary(rules: StandingRules, entry_id: RuleId) -> bool:
    """Whether an open rule became ordinary text, because all together take too much."""
    return any(each.id == entry_id and each.state is RuleState.OPEN for each in rules.demoted)


def message_of(entry_id: RuleId) -> MessageId | None:
    """The message a rule was said in; None for a pin that comes from none."""
    return None if entry_id.message_id == NO_MESSAGE else entry_id.message_id
