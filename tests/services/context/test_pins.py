"""What the user rules by command is told to the next turn and stands in every request, once, until it is taken back;
what the user ruled in messages holds beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.services.scripted import Bench, Opener, ScriptedProvider, open_bench, says
from tests.waiting import WAIT_S

from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.rules.rule_set import RuleState, missing
from palimpsest.domain.context.rules.standing import HEAD, NEWS_HEAD
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.errors import InvalidRequest, NotFound, RulesTooLarge
from palimpsest.domain.messages import MessageId, user_message
from palimpsest.domain.models.limits import with_window
from palimpsest.machine import utc_now
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.context.rules import read_rules
from palimpsest.services.events import ContextEvent
from palimpsest.services.models.catalog import with_override
from palimpsest.storage.context import rules as stored
from palimpsest.storage.conversation import hidden_ranges
from palimpsest.storage.store import Store

PIN = "The schema is frozen until the release."
GONE = "No longer in force: "
FILLER = "The pump is on. " * 40


async def ask(b: Bench, *texts: str) -> None:
    for text in texts:
        b.provider.replies = [says(FILLER)]
        assert await b.ask(text, f"request {len(b.provider.seen)}") == "committed"


async def until_compaction(b: Bench) -> None:
    """Goes on until the context was summarized once more."""
    before = len(compactions(b))
    for number in range(20):
        if len(compactions(b)) > before:
            return
        await ask(b, f"Question {number}. " + "It is wet. " * 20)
    raise AssertionError("no compaction came")


def compactions(b: Bench) -> list[ContextEvent]:
    return [e for e in b.events if isinstance(e, ContextEvent) and e.type is ContextEventType.COMPACTION]


def text_of(context: PreparedContext) -> str:
    return "\n".join(message.text for message in context.messages)


def front_of(context: PreparedContext) -> str:
    return "".join(content.text for s in context.segments if s.type == "pins" for content in s.contents)


async def rule_states(b: Bench) -> list[tuple[str, RuleState]]:
    rules = await RuleCommands(b.session.contexts).rules(b.conversation_id)
    return [(entry.text, entry.state) for entry in rules.whole.entries]


async def rule_id(b: Bench, text: str) -> str:
    rules = await RuleCommands(b.session.contexts).rules(b.conversation_id)
    return next(str(entry.id) for entry in rules.whole.open_entries() if entry.text == text)


async def pin(b: Bench, text: str) -> None:
    await RuleCommands(b.session.contexts).pin(b.conversation_id, text)


async def withdraw(b: Bench, text: str) -> None:
    await RuleCommands(b.session.contexts).withdraw(b.conversation_id, await rule_id(b, text))


async def test_a_pin_is_told_to_the_next_turn_and_stands_in_front_after_the_next_compaction(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await ask(b, "Hello.")
    await pin(b, PIN)
    await ask(b, "First.", "Second.")
    told, later = b.provider.seen[1:]
    assert told.messages[-1].text.startswith("First.")
    assert told.messages[-1].text.endswith(f"{NEWS_HEAD}\n- {PIN}")
    assert [s.type for s in told.segments][-2:] == ["message", "injection"]
    assert later.lines()[: len(told.lines())] == told.lines(), "the pin changed what was sent"
    assert text_of(later).count(PIN) == 1
    n_before = len(b.provider.seen)
    await until_compaction(b)
    assert all(text_of(context).count(PIN) == 1 for context in b.provider.seen[n_before:])
    assert front_of(b.provider.seen[-1]) == f"{HEAD}\n- {PIN}"
    assert [s.type for s in b.provider.seen[-1].segments][1] == "pins"
    assert (await b.said())[2][1] == "First.", "the message was changed"


async def test_a_pin_survives_a_restart_between_any_two_turns(tmp_path: Path) -> None:
    b = await open_bench(tmp_path, [], window=4_000, reserve=500)
    await ask(b, "Hello.")
    await pin(b, PIN)
    await ask(b, "First.")
    await b.session.folder.close()
    again = await open_bench(tmp_path, [], window=4_000, reserve=500)
    again.conversation_id = b.conversation_id
    try:
        again.provider.seen = list(b.provider.seen)
        await ask(again, "Second.")
        told, later = again.provider.seen[-2:]
        assert later.lines()[: len(told.lines())] == told.lines()
        await until_compaction(again)
        again.session.contexts.forget(again.conversation_id)
        await ask(again, "Third.")
        before, after = again.provider.seen[-2:]
        assert after.lines()[: len(before.lines())] == before.lines()
        assert (front_of(after), text_of(after).count(PIN)) == (f"{HEAD}\n- {PIN}", 1)
    finally:
        await again.session.folder.close()


async def test_a_pin_holds_in_the_other_conversations_of_the_folder(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await ask(b, "Hello.")
    first, b.conversation_id = b.conversation_id, (await b.session.conversations.create("bench", None)).id
    await ask(b, "Hello here.")
    b.conversation_id, other = first, b.conversation_id
    await pin(b, PIN)
    b.conversation_id = other
    await ask(b, "Go on.")
    assert text_of(b.provider.seen[-1]).count(PIN) == 1
    await until_compaction(b)
    assert PIN in front_of(b.provider.seen[-1])
    b.conversation_id = (await b.session.conversations.create("bench", None)).id
    await ask(b, "And from the beginning.")
    assert text_of(b.provider.seen[-1]).count(PIN) == 1


async def test_a_pin_is_told_though_the_context_is_nearly_full_of_what_no_summary_can_take(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await ask(b, "Hello.", "It is wet. " * 610)
    state = await b.session.contexts.state(b.conversation_id)
    pinned = "The schema is frozen. " * 80
    await pin(b, pinned)
    rules = await read_rules(b.session.contexts, state)
    assert state.raw_tokens < state.budget.budget < state.raw_tokens + rules.pin_tokens
    await ask(b, "Go on.")
    assert text_of(b.provider.seen[-1]).count(pinned.strip()) == 1


async def test_a_fork_knows_what_was_taken_back_before_it(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    rule = "Never use tabs in this project."
    await ask(b, rule, "Question.")
    await withdraw(b, rule)
    b.conversation_id = (await b.session.conversations.fork(b.conversation_id, None, None)).id
    assert await rule_states(b) == [(rule, RuleState.WITHDRAWN)]
    await ask(b, "Go on.")
    assert b.provider.seen[-1].messages[-1].text.endswith(f"- {GONE}{rule}")


async def test_a_fork_is_not_told_what_was_taken_back_behind_it(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    rule = "Never use tabs in this project."
    await ask(b, "Hello.", rule)
    await withdraw(b, rule)
    await until_compaction(b)
    assert f"- {GONE}{rule}" in front_of(b.provider.seen[-1])
    whole = (await b.session.conversations.fork(b.conversation_id, None, None)).id
    b.conversation_id = (await b.session.conversations.fork(b.conversation_id, MessageId(1), None)).id
    await ask(b, "Go on.")
    assert rule not in text_of(b.provider.seen[-1])
    b.conversation_id = whole
    await ask(b, "Go on.")
    assert front_of(b.provider.seen[-1]).endswith(f"- {GONE}{rule}"), "the prefix was lost for nothing"


async def test_a_pin_over_the_cap_is_refused_with_the_numbers_and_not_stored(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await ask(b, "Hello.")
    await pin(b, PIN)
    rules = await RuleCommands(b.session.contexts).rules(b.conversation_id)
    with pytest.raises(RulesTooLarge, match="The pins would take") as caught:
        await pin(b, "Never touch the pump. " * 100)
    assert caught.value.cap_tokens == caught.value.detail.limit_tokens == rules.cap_tokens
    assert caught.value.required_tokens > rules.pin_tokens + 500
    assert [each.text for each in await b.store.read(stored.pins)] == [PIN]
    for nothing in ("", " \n", "\0"):
        with pytest.raises(InvalidRequest, match="needs a text"):
            await pin(b, nothing)
    with pytest.raises(InvalidRequest, match="markers"):
        await pin(b, "[Earlier conversation summary] says so")
    with pytest.raises(NotFound, match="No standing rule"):
        await RuleCommands(b.session.contexts).withdraw(b.conversation_id, "99.0")
    assert [each.text for each in await b.store.read(stored.pins)] == [PIN]


async def test_a_switch_to_a_model_the_pins_do_not_fit_changes_nothing(bench: Opener) -> None:
    b = await bench([], window=8_000, reserve=500)
    models = b.session.contexts.models
    tiny = replace(with_window(models.get("offline"), 1_500), name="tiny")
    b.session.contexts.models = with_override(models, tiny)
    await ask(b, "Hello.")
    await pin(b, "Never touch the pump. " * 60)
    state = await b.session.contexts.state(b.conversation_id)
    before = (state.model, state.budget, state.cut, list(state.pieces))
    with pytest.raises(RulesTooLarge, match="pins"):
        await b.session.conversations.switch_model(b.conversation_id, "tiny")
    state = await b.session.contexts.state(b.conversation_id)
    assert (state.model, state.budget, state.cut, state.pieces) == before
    assert (await b.session.conversations.read(b.conversation_id, None, None)).record.model == "offline"
    await ask(b, "Go on.")


async def test_a_pin_that_was_taken_back_is_told_so_and_is_gone_after_the_next_compaction(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await pin(b, PIN)
    await ask(b, "Hello.")
    await until_compaction(b)
    assert PIN in front_of(b.provider.seen[-1])
    await withdraw(b, PIN)
    await ask(b, "Go on.", "And on.")
    told, later = b.provider.seen[-2:]
    assert told.messages[-1].text.endswith(f"{NEWS_HEAD}\n- {GONE}{PIN}")
    assert later.lines()[: len(told.lines())] == told.lines(), "it was told twice"
    assert text_of(later).count(GONE) == 1
    await until_compaction(b)
    assert front_of(b.provider.seen[-1]) == ""
    assert f"- {PIN}" not in text_of(b.provider.seen[-1])


async def test_a_pin_that_no_turn_heard_of_is_taken_back_without_a_word(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await ask(b, "Hello.")
    await pin(b, PIN)
    await withdraw(b, PIN)
    await ask(b, "Go on.")
    assert PIN not in text_of(b.provider.seen[-1])


async def test_a_text_that_is_pinned_again_holds_again(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await pin(b, PIN)
    await ask(b, "Hello.")
    await withdraw(b, PIN)
    await ask(b, "Go on.")
    await pin(b, PIN)
    await pin(b, f" {PIN}\n")
    await ask(b, "And on.", "And on again.")
    assert b.provider.seen[-2].messages[-1].text.endswith(f"- {PIN}")
    assert text_of(b.provider.seen[-1]).count(f"- {PIN}") == 2
    assert await rule_states(b) == [(PIN, RuleState.OPEN)]
    await until_compaction(b)
    assert front_of(b.provider.seen[-1]) == f"{HEAD}\n- {PIN}"


async def test_a_pin_whose_text_was_typed_stands_in_its_message_and_in_front_elsewhere(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    rule = "Never use tabs in this project."
    await ask(b, rule)
    await pin(b, rule)
    await ask(b, "Please use tabs from now on.", "Go on.")
    assert text_of(b.provider.seen[-1]).count(rule) == 1
    assert (rule, RuleState.OPEN) in await rule_states(b), "a sentence superseded a pin"
    await until_compaction(b)
    assert rule not in front_of(b.provider.seen[-1])
    assert rule in text_of(b.provider.seen[-1])
    await withdraw(b, rule)
    assert (rule, RuleState.WITHDRAWN) in await rule_states(b)
    assert await b.store.read(stored.pins) == []


async def test_a_rule_taken_back_by_command_is_told_and_then_stands_in_front_as_taken_back(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    rule = "Never use tabs in this project."
    await ask(b, rule, "Question.")
    await withdraw(b, rule)
    await ask(b, "Go on.")
    assert b.provider.seen[-1].messages[-1].text.endswith(f"- {GONE}{rule}")
    await until_compaction(b)
    assert front_of(b.provider.seen[-1]) == f"{HEAD}\n- {GONE}{rule}"
    await ask(b, rule)
    assert (rule, RuleState.OPEN) in await rule_states(b), "a rule said again holds again"
    with pytest.raises(NotFound):
        await RuleCommands(b.session.contexts).withdraw(b.conversation_id, "0.0")


async def test_a_rule_that_holds_again_after_a_roll_back_stands_in_its_block_again(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    old, new = "Use tabs for indentation.", "Use spaces for indentation."
    await ask(b, old)
    await until_compaction(b)
    state = await b.session.contexts.state(b.conversation_id)
    n_before = state.n_messages
    await ask(b, new)
    assert dict(await rule_states(b)) == {old: RuleState.SUPERSEDED, new: RuleState.OPEN}
    await until_compaction(b)
    await until_compaction(b)
    state = await b.session.contexts.state(b.conversation_id)
    assert isinstance(state.pieces[0], SummaryPiece)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(n_before))
    assert dict(await rule_states(b)) == {old: RuleState.OPEN}
    state = await b.session.contexts.state(b.conversation_id)
    assert not missing((await read_rules(b.session.contexts, state)).kept, state.pieces, state.front.text)
    await ask(b, "Go on.")
    assert old in text_of(b.provider.seen[-1])
    assert new not in text_of(b.provider.seen[-1])


async def test_over_the_cap_the_oldest_rules_become_ordinary_text_and_the_user_is_told_once(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    rules = [f"Always check the valve number {n} before you touch the pump with the number {n}." for n in range(24)]
    await ask(b, "\n".join(rules))
    await until_compaction(b)
    await until_compaction(b)
    (told,) = [e for e in b.events if isinstance(e, ContextEvent) and e.type is ContextEventType.RULES_CAP]
    state = await b.session.contexts.state(b.conversation_id)
    found = await read_rules(b.session.contexts, state)
    n_ordinary = len(found.demoted)
    assert 0 < n_ordinary < len(rules)
    assert [entry.text for entry in found.demoted] == rules[:n_ordinary], "not the oldest became ordinary"
    assert told.rules == tuple(f"0.{n}" for n in range(n_ordinary))
    assert told.max_tokens == found.cap_tokens
    assert [entry.text for entry in found.kept.open_entries()] == rules[n_ordinary:]
    assert all(rule in text_of(b.provider.seen[-1]) for rule in rules[n_ordinary:])


async def test_that_a_rule_was_taken_back_is_said_however_much_the_rules_take(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    taken_back = "Never use tabs in this project."
    await ask(b, taken_back)
    await withdraw(b, taken_back)
    for number in range(24):
        await ask(b, f"Always check the valve number {number} before you touch the pump with the number {number}.")
    assert f"- {GONE}{taken_back}" in text_of(b.provider.seen[-1])


class SlowStore:
    """Answers a reader when it is let, with what was so when it asked."""

    def __init__(self, store: Store) -> None:
        self._store, self.has_read, self.may_answer = store, asyncio.Event(), asyncio.Event()

    async def read(self, function: Callable[..., object], *args: object) -> object:
        found = await self._store.read(function, *args)
        self.has_read.set()
        await self.may_answer.wait()
        return found


@asynccontextmanager
async def while_reading(b: Bench) -> AsyncIterator[None]:
    """The block happens between what a slow reader of the rules has read and what it makes of it."""
    slow = SlowStore(b.store)
    state = await b.session.contexts.state(b.conversation_id)
    reader = asyncio.create_task(read_rules(replace(b.session.contexts.adoption, store=cast(Store, slow)), state))
    await asyncio.wait_for(slow.has_read.wait(), WAIT_S)
    yield
    slow.may_answer.set()
    await asyncio.wait_for(reader, WAIT_S)


async def test_a_rule_that_is_said_while_the_rules_are_read_is_not_missed(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await b.session.contexts.state(b.conversation_id)
    rule = "Never use tabs in this project."
    async with while_reading(b):
        async with b.session.conversations._writing(b.conversation_id, "a test") as context:
            await b.session.contexts.push_message(context, user_message(rule))
    assert await rule_states(b) == [(rule, RuleState.OPEN)]
    async with while_reading(b), while_reading(b):
        await ask(b, "Always check the valve.")
    assert await rule_states(b) == [(rule, RuleState.OPEN), ("Always check the valve.", RuleState.OPEN)]


async def test_a_rule_that_is_hidden_while_the_rules_are_read_does_not_come_back(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await ask(b, "Hello.", "Never use tabs in this project.")
    b.session.contexts.forget(b.conversation_id)
    async with while_reading(b):
        await b.store.run(hidden_ranges.add, b.conversation_id, MessageId(2), MessageId(4), utc_now())
    assert await rule_states(b) == []


async def test_what_is_pinned_between_admission_and_the_first_request_is_told_to_the_next_turn(bench: Opener) -> None:
    """The message was admitted without it, so with it there may be no room."""
    b = await bench([])
    contexts, n_asked = b.session.contexts, 0
    await contexts.state(b.conversation_id)

    async def pins_when_the_turn_begins() -> Frame:
        nonlocal n_asked
        n_asked += 1
        if n_asked == 2:
            await RuleCommands(contexts).pin(b.conversation_id, PIN)
        return b.frame

    b.frame_now = pins_when_the_turn_begins
    await ask(b, "What is new?", "And now?")
    first, second = (text_of(context) for context in b.provider.seen)
    assert PIN not in first
    assert second.count(PIN) == 1
    assert (PIN, RuleState.OPEN) in await rule_states(b)


class Counting(ScriptedProvider):
    """Counts requests near their limit, as services do that can."""

    async def models(self) -> list[object]:
        return []

    async def count_tokens(self, context: PreparedContext) -> int:
        return context.estimated_tokens


async def test_a_pin_is_told_also_where_only_a_count_of_the_service_lets_the_request_through(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    b.provider = service = Counting([says("Yes.") for _ in range(4)])
    models = b.session.contexts.models
    model = replace(models.get("offline"), estimator=Estimator(1.0, 0.06))
    b.session.contexts.models = replace(with_override(models, model), providers={"offline": service})
    assert await b.ask("q " + "wet " * 2_760, "first") == "committed"
    await RuleCommands(b.session.contexts).pin(b.conversation_id, PIN)
    for number in range(3):
        assert await b.ask("And now? " + "dry " * 25, f"later {number}") == "committed"
        assert text_of(service.seen[-1]).count(PIN) == 1
