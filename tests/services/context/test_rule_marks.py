"""A long conversation is looked through for standing rules once, not after every reload, and others are answered
meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.services.scripted import Bench, Opener

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import SummarizationNeeded
from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.machine import utc_now
from palimpsest.services.context import rules as rules_module
from palimpsest.services.context.reports import usage_status
from palimpsest.services.context.rules import read_rules
from palimpsest.services.events import RulesProgress
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log, rule_marks
from palimpsest.storage.tables import RuleMark


async def filled(bench: Opener, n_messages: int) -> Bench:
    b = await bench([])
    said = [
        user_message(f"Never deploy part {n} on Fridays." if n % 50 == 7 else f"Look at part {n}.")
        for n in range(n_messages)
    ]
    await b.store.run(message_log.append, b.conversation_id, said, utc_now())
    return b


def forget_all_but(b: Bench, message_id: int) -> None:
    """Stores that only one message sets a rule: a new reading finds the others, a remembered one does not."""
    RuleMark.update(message_ids=f"[{message_id}]").where(RuleMark.conversation == b.conversation_id).execute()


async def rules_of(b: Bench, conversation_id: ConversationId) -> list[str]:
    """The open rules after a reload."""
    b.session.contexts.forget(conversation_id)
    rules = await read_rules(b.session.contexts, await b.session.contexts.state(conversation_id))
    return [entry.text for entry in rules.kept.open_entries()]


async def test_every_message_is_looked_at_once_whatever_is_loaded_again(bench: Opener) -> None:
    b = await filled(bench, 1_000)
    first = await rules_of(b, b.conversation_id)
    assert len(first) == 20
    assert await rules_of(b, b.conversation_id) == first
    await b.store.run(forget_all_but, b, 57)
    assert await rules_of(b, b.conversation_id) == ["Never deploy part 57 on Fridays."]
    await b.store.run(message_log.append, b.conversation_id, [user_message("Never use tabs.")], utc_now())
    assert await rules_of(b, b.conversation_id) == ["Never deploy part 57 on Fridays.", "Never use tabs."]


async def test_a_fork_knows_what_was_found_before_it(bench: Opener) -> None:
    b = await filled(bench, 600)
    await rules_of(b, b.conversation_id)
    fork = await b.session.conversations.fork(b.conversation_id, MessageId(299), None)
    assert len(await rules_of(b, fork.id)) == 6
    await b.store.run(forget_all_but, b, 57)
    assert len(await rules_of(b, fork.id)) == 1


async def test_what_was_hidden_meanwhile_rules_no_more(bench: Opener) -> None:
    b = await filled(bench, 600)
    assert len(await rules_of(b, b.conversation_id)) == 12
    await b.store.run(hidden_ranges.add, b.conversation_id, MessageId(300), MessageId(600), utc_now())
    assert len(await rules_of(b, b.conversation_id)) == 6


async def test_another_version_of_the_reader_looks_anew(bench: Opener) -> None:
    b = await filled(bench, 300)
    await b.store.run(rule_marks.write, b.conversation_id, "an older one", [MessageId(1)], MessageId(300))
    assert len(await rules_of(b, b.conversation_id)) == 6


async def test_who_asks_while_it_is_looked_through_waits_instead_of_looking_too(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await filled(bench, 1_000)
    looked_at = list[MessageId]()
    really = rules_module._with_rulings

    def noting(said: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
        looked_at.extend(each.id for each in said)
        return really(said)

    monkeypatch.setattr(rules_module, "_with_rulings", noting)
    state = await b.session.contexts.state(b.conversation_id)
    first, second = await asyncio.gather(
        read_rules(b.session.contexts, state), read_rules(b.session.contexts, replace(state))
    )
    assert [entry.text for entry in first.kept.open_entries()] == [entry.text for entry in second.kept.open_entries()]
    assert looked_at == list(range(1_000))


async def test_a_look_that_was_stopped_goes_on_where_it_was(bench: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    b = await filled(bench, 1_000)
    looked_at = list[MessageId]()
    really = rules_module._with_rulings

    def noting(said: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
        looked_at.extend(each.id for each in said)
        if len(looked_at) > 800:
            raise asyncio.CancelledError
        return really(said)

    monkeypatch.setattr(rules_module, "_with_rulings", noting)
    with pytest.raises(asyncio.CancelledError):
        await rules_of(b, b.conversation_id)
    looked_at.clear()
    assert len(await rules_of(b, b.conversation_id)) == 20
    assert looked_at == list(range(800, 1_000))


async def test_the_usage_of_a_conversation_that_was_never_looked_through_waits_for_nothing(bench: Opener) -> None:
    b = await filled(bench, 1_000)
    contexts = b.session.contexts
    state = await contexts.state(b.conversation_id)
    state.budget = replace(state.budget, budget=state.estimate.upper - 7)
    problem = (await usage_status(contexts, b.conversation_id)).problem
    assert isinstance(problem, SummarizationNeeded)
    assert problem.messages_to_summarize
    assert problem.excess_tokens == 7
    assert (await contexts.state(b.conversation_id)).ruling_until == 0
    await read_rules(b.session.contexts, state)
    told = (await usage_status(contexts, b.conversation_id)).problem
    assert isinstance(told, SummarizationNeeded)
    assert told.messages_to_summarize


async def test_others_have_their_turn_while_a_long_conversation_is_looked_through(bench: Opener) -> None:
    b = await filled(bench, 3_000)
    state = await b.session.contexts.state(b.conversation_id)
    looking = asyncio.create_task(read_rules(b.session.contexts, state))
    reached = set[int]()
    while not looking.done():
        await b.store.read(conversations.get, b.conversation_id)
        reached.add(state.ruling_until)
    assert len((await looking).basis.messages) == 60
    assert len(reached) > 3


async def test_how_far_a_long_conversation_is_looked_through_is_told(bench: Opener) -> None:
    b = await filled(bench, 2_000)
    contexts = b.session.contexts
    heard = list[object]()
    contexts.emit = heard.append
    await read_rules(contexts, await contexts.state(b.conversation_id))
    assert heard == [RulesProgress(b.conversation_id, n_read, 2_000) for n_read in range(0, 2_000, 400)]
    heard.clear()
    await rules_of(b, b.conversation_id)
    assert not heard
