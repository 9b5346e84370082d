"""Each call of a model is written down once, with what its service counted, or else what it is estimated to take."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.sent import NOTHING
from tests.storage.test_store import COUNTS, NOW, C, T, admit, begin_and_say, store

from palimpsest.domain.messages import TurnId
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.domain.turns.journal import Ending, EventType, JournalEvent, counted_event, done_event
from palimpsest.domain.turns.states import TurnState
from palimpsest.storage import model_calls
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.model_calls import ModelCall
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.turns import stream_journal, turns
from palimpsest.storage.turns.turns import NewStep, StepEnd, StepMessages, TurnEnd

__all__ = ["store"]
COUNTED = TokenUsage(50, 7, 3, 20)
LAST, FIRST = "2026-10-31", "2026-11-01"


async def test_a_dead_servers_whole_answer_counts_what_its_service_said(store: Store) -> None:
    dead = await open_store(store.directory)
    admission = await admit(dead)
    step = await begin_and_say(dead, admission, "whole answer")
    assert admission.lease is not None
    await dead.run(stream_journal.append, admission.lease, T, step, [done_event(COUNTED)], NOW)
    await dead.close()
    for _ in range(2):
        await store.run(turns.recover, store.writer(NOW))
    (spent,) = await store.read(model_calls.of_conversation, C)
    assert (spent.n_calls, spent.n_estimated, spent.usage) == (1, 0, COUNTED)
    assert spent.unpriced == COUNTED
    assert await store.read(model_calls.of_turn, T) == [spent]
    assert await store.read(model_calls.of_turn, TurnId("another")) == []


async def test_half_an_answer_is_estimated_and_a_refusal_costs_nothing(store: Store) -> None:
    dead = await open_store(store.directory)
    admission = await admit(dead)
    refused = await begin_and_say(dead, admission)
    assert admission.lease is not None
    nothing = StepMessages([], COUNTS, {}, 0)
    await dead.run(
        turns.commit_step, admission.lease, T, refused, nothing, StepEnd(Ending.ERRORED, None, None, None), NOW
    )
    assert await dead.read(model_calls.of_conversation, C) == []
    half = await dead.run(turns.begin_step, admission.lease, T, NewStep(1, "p", "m", 10, NOTHING), NOW)
    said = [JournalEvent(EventType.TEXT, "é" * 10)]
    await dead.run(stream_journal.append, admission.lease, T, half, said, NOW)
    await dead.close()
    await store.run(turns.recover, store.writer(NOW))
    (spent,) = await store.read(model_calls.of_conversation, C)
    assert (spent.n_calls, spent.n_estimated) == (1, 1)
    assert spent.usage.output_tokens == 5, "a token for each four bytes"
    assert spent.usage.input_tokens == 10


async def test_an_answer_that_breaks_off_keeps_what_its_service_counted_of_the_request(store: Store) -> None:
    admission = await admit(store)
    step = await begin_and_say(store, admission, "half")
    assert admission.lease is not None
    counts = [counted_event(TokenUsage(9, 1, 1)), counted_event(TokenUsage(50, 7, 3))]
    await store.run(stream_journal.append, admission.lease, T, step, counts, NOW)
    end = StepEnd(Ending.CANCELLED, None, None, TurnEnd(TurnState.CANCELLED))
    await store.run(turns.commit_step, admission.lease, T, step, StepMessages([], COUNTS, {}, 0), end, NOW)
    (spent,) = await store.read(model_calls.of_conversation, C)
    assert (spent.n_estimated, spent.usage) == (1, TokenUsage(50, 7, 3, 1)), "the answer is estimated"


async def test_a_request_that_was_counted_is_paid_for_although_nothing_was_said(store: Store) -> None:
    admission = await admit(store)
    step = await begin_and_say(store, admission)
    assert admission.lease is not None
    await store.run(stream_journal.append, admission.lease, T, step, [counted_event(TokenUsage(50, 7, 3))], NOW)
    end = StepEnd(Ending.CANCELLED, None, None, TurnEnd(TurnState.CANCELLED))
    await store.run(turns.commit_step, admission.lease, T, step, StepMessages([], COUNTS, {}, 0), end, NOW)
    (spent,) = await store.read(model_calls.of_conversation, C)
    assert (spent.n_calls, spent.n_estimated, spent.usage) == (1, 1, TokenUsage(50, 7, 3))


@pytest.mark.parametrize(("ending", "n_calls"), [(Ending.CANCELLED, 1), (Ending.INTERRUPTED, 1), (Ending.ERRORED, 0)])
async def test_a_request_that_was_begun_is_estimated_when_it_is_stopped_and_not_when_it_is_refused(
    store: Store, ending: Ending, n_calls: int
) -> None:
    admission = await admit(store)
    step = await begin_and_say(store, admission)
    assert admission.lease is not None
    await store.run(stream_journal.append, admission.lease, T, step, [counted_event(TokenUsage())], NOW)
    end = StepEnd(ending, None, None, TurnEnd(TurnState.CANCELLED))
    await store.run(turns.commit_step, admission.lease, T, step, StepMessages([], COUNTS, {}, 0), end, NOW)
    found = await store.read(model_calls.of_conversation, C)
    assert [(each.n_calls, each.n_estimated, each.usage.output_tokens) for each in found] == [(1, 1, 0)] * n_calls
    assert all(each.usage.input_tokens > 0 for each in found)


async def test_costs_are_added_up_by_purpose_and_model_from_a_day_on_also_by_others(
    store: Store, tmp_path: Path
) -> None:
    priced = ModelCall("facts", "box", "box/small", COUNTED, is_estimated=False, nanodollars=1_500)
    unpriced = ModelCall("facts", "box", "box/small", TokenUsage(1), is_estimated=True, nanodollars=None)
    for call, at in (
        (priced, f"{LAST}T23:59:59"),
        (priced, f"{FIRST}T00:00:00"),
        (unpriced, f"{FIRST}T10:00:00"),
    ):
        await store.run(model_calls.record, call, C, at)
    (all_,) = await store.read(model_calls.of_conversation, C)
    assert (all_.n_calls, all_.n_estimated, all_.nanodollars, all_.unpriced) == (3, 1, 3_000, TokenUsage(1))
    (spent,) = await store.read(model_calls.since, FIRST)
    assert (spent.n_calls, spent.nanodollars) == (2, 1_500)
    assert model_calls.since_in(store.directory / DATABASE_NAME, FIRST) == [spent]


@pytest.mark.parametrize("content", [b"", b"not a database at all"])
def test_a_store_that_says_nothing_adds_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    assert model_calls.since_in(tmp_path / "store.db", "2026-11-01") == []
    assert model_calls.since_in(tmp_path / "missing.db", "2026-11-01") == []
    assert not (tmp_path / "missing.db").exists()


async def test_a_step_that_is_committed_keeps_its_price(store: Store) -> None:
    admission = await admit(store)
    step = await begin_and_say(store, admission, "answer")
    assert admission.lease is not None
    end = StepEnd(Ending.COMPLETE, COUNTED, 4_200, TurnEnd(TurnState.COMMITTED, "end"))
    await store.run(turns.commit_step, admission.lease, T, step, StepMessages([], COUNTS, {}, 0), end, NOW)
    (spent,) = await store.read(model_calls.since, NOW[:10])
    assert (spent.purpose, spent.nanodollars, spent.usage) == (model_calls.ANSWER, 4_200, COUNTED)
    assert spent.unpriced == TokenUsage()
