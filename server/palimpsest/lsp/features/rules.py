"""`rules/list|pin|withdraw`."""

from __future__ import annotations

from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.context.rule_commands import RuleCommands, is_ordinary, message_of
from palimpsest.services.folder.session import FolderSession
from palimpsest.wire.areas.places import ConversationParams
from palimpsest.wire.areas.rules import ListRulesResult, PinParams, RuleState, StandingRule, WithdrawParams


async def list_rules(ls: PalimpsestServer, params: ConversationParams) -> ListRulesResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    return await _to_result(session, conversation_id, await RuleCommands(session.contexts).rules(conversation_id))


async def pin(ls: PalimpsestServer, params: PinParams) -> ListRulesResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    done = await RuleCommands(session.contexts).pin(conversation_id, params.text)
    return await _to_result(session, conversation_id, done)


async def withdraw(ls: PalimpsestServer, params: WithdrawParams) -> ListRulesResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    done = await RuleCommands(session.contexts).withdraw(conversation_id, params.rule_id)
    return await _to_result(session, conversation_id, done)


async def _to_result(session: FolderSession, conversation_id: ConversationId, rules: StandingRules) -> ListRulesResult:
    state = await session.contexts.state(conversation_id)
    part = state.cut.estimator.part
    open_texts = [entry.text for entry in rules.kept.open_entries()]
    return ListRulesResult(
        rules=[
            StandingRule(
                id=str(entry.id),
                text=entry.text,
                state=RuleState.ORDINARY if is_ordinary(rules, entry.id) else RuleState(entry.state.value),
                is_pin=entry.is_pin,
                message_id=message_of(entry.id),
                superseded_by=None if entry.superseded_by is None else str(entry.superseded_by),
            )
            for entry in rules.whole.entries
        ],
        tokens=part(sum(state.tokenizer.count(text) for text in open_texts)),
        cap_tokens=part(rules.cap_tokens),
    )
