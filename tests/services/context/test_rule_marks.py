"""A long conversation is looked through for standing rules once, not after every reload, and others are answered
meanwhile."""

from __future__ import annotations

import asyncio

from tests.services.scripted import Bench, Opener

from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.machine import utc_now
from palimpsest.services.context.rules import read_rules
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
    rules = await read_rules(b.store, await b.session.contexts.state(conversation_id))
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


async def test_others_have_their_turn_while_a_long_conversation_is_looked_through(bench: Opener) -> None:
    b = await filled(bench, 3_000)
    state = await b.session.contexts.state(b.conversation_id)
    looking = asyncio.create_task(read_rules(b.store, state))
    reached = set[int]()
    while not looking.done():
        await b.store.read(conversations.get, b.conversation_id)
        reached.add(state.ruling_until)
    assert len((await looking).basis.messages) == 60
    assert len(reached) > 3
