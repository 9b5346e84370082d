"""People pin, verify, update, forget and restore facts; a fact that cannot be changed stays as it is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.services.facts.librarians import CODE, RULE, librarian_of
from tests.services.scripted import Action, Opener, ScriptedProvider, says

from palimpsest.data import load_model_table
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.errors import ErrorKind, InvalidRequest, NotFound, ProviderError
from palimpsest.domain.facts.fact import FactFilter, FactId, FactState, FactType, Place, Span, StoredFact
from palimpsest.domain.messages import MessageId
from palimpsest.domain.models.limits import compute_budget
from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.services.facts.model import LibrarianModel
from palimpsest.services.models.helper import HelpingModel
from palimpsest.storage.facts import facts
from palimpsest.storage.lifecycle import forgotten_facts


async def test_a_fact_that_cannot_be_pinned_again_stays_what_it_was(bench: Opener, folder: Path) -> None:
    b = await bench([says("Noted.")])
    (folder / "shapes.py").write_text("LIMIT = 30\n" + CODE)
    await b.ask("The size limit in shapes.py is 30 points (LIMIT).")
    librarian = librarian_of(b, folder)
    keeper = librarian.keeper
    await librarian.extract_and_store(b.conversation_id)
    (fact,) = await keeper.all_facts()
    assert fact.sources
    (folder / "shapes.py").unlink()
    with pytest.raises(NotFound, match="Forget it"):
        await keeper.pin_again(fact.id)
    assert await keeper.select(FactFilter(includes_closed=True)) == [await keeper.get(fact.id)]
    (folder / "shapes.py").write_text("\nLIMIT = 30\n" + CODE)
    pinned = await keeper.pin_again(fact.id)
    assert (pinned.fact.fact_type, pinned.fact.content) == (FactType.PINNED, fact.fact.content)
    assert [source.state for source in pinned.sources] == [FactState.FRESH]
    assert (await keeper.get(fact.id)).superseded_by == pinned.id
    unpinned = await keeper.unpin(pinned.id)
    assert unpinned.fact == fact.fact
    assert [source.state for source in unpinned.sources] == [FactState.FRESH]
    assert await keeper.all_facts() == [unpinned] == [await keeper.unpin(unpinned.id)]


async def test_what_was_pinned_from_the_start_is_a_decision_when_it_is_unpinned(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    pinned = await keeper.pin_fact("Doubling is a function of its own.")
    assert (await keeper.unpin(pinned.id)).fact.fact_type is FactType.DECISION


async def test_a_file_that_is_gone_makes_its_facts_stale_and_verifying_says_what_to_do(
    bench: Opener, folder: Path
) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    fact = await keeper.pin_fact("Doubling is a function of its own.", place=Place("shapes.py", Span(5, 6)))
    (folder / "shapes.py").unlink()
    assert (await keeper.places.check(["shapes.py"])).changed == {fact.id}
    with pytest.raises(NotFound, match="Forget it"):
        await keeper.verify(fact.id)
    assert (await keeper.counts()).n_stale == 1


@pytest.fixture
async def ruled(bench: Opener, folder: Path) -> tuple[FactKeeper, StoredFact, list[list[Action]]]:
    """A keeper with a model that answers from the list, and a fact whose place has changed since."""
    b = await bench([says("Noted.")])
    await b.ask("The function area() in shapes.py multiplies with 3.14 and never with math.pi.")
    librarian, answers = librarian_of(b, folder), list[list[Action]]()
    keeper = librarian.keeper
    await librarian.extract_and_store(b.conversation_id)
    model = load_model_table().find("offline")
    assert model is not None
    helping = HelpingModel(ScriptedProvider(answers), model, compute_budget(model.limits), count_bytes)

    async def choose(_: object) -> HelpingModel:
        return helping

    keeper.model = LibrarianModel(b.store, choose, 1_000_000)
    (fact,) = await keeper.all_facts()
    (folder / "shapes.py").write_text(CODE.replace("3.14", "math.tau"))
    await keeper.places.check(["shapes.py"])
    return keeper, await keeper.get(fact.id), answers


async def test_a_fact_is_said_anew_by_words_of_its_place(
    ruled: tuple[FactKeeper, StoredFact, list[list[Action]]],
) -> None:
    keeper, fact, answers = ruled
    assert fact.is_stale
    said = {"content": "The function area() in shapes.py multiplies with math.tau.", "quote": "return math.tau * r * r"}
    answers.append(says(json.dumps(said)))
    updated = await keeper.update(fact.id)
    assert (updated.fact.content, updated.is_stale) == (said["content"], False)
    assert [each.id for each in await keeper.all_facts()] == [updated.id]


@pytest.mark.parametrize(
    "reply",
    [
        says("I'm sorry, but I can't help with that request."),
        says('{"facts": []}'),
        [
            TextDelta('{"content": "area() uses math.tau", "quote": "math.tau"}'),
            Finished(StopReason.OUTPUT_LIMIT, TokenUsage()),
        ],
        [ProviderError(ErrorKind.OVERLOADED, "Too many want it.")],
    ],
)
async def test_what_is_no_statement_changes_nothing_and_the_user_is_told_what_to_do(
    ruled: tuple[FactKeeper, StoredFact, list[list[Action]]], reply: list[Action]
) -> None:
    keeper, fact, answers = ruled
    answers.append(reply)
    with pytest.raises(InvalidRequest, match=r"stays as it is.*mark it as still true, or forget it"):
        await keeper.update(fact.id)
    assert await keeper.all_facts() == [fact]


async def test_a_fact_that_is_forgotten_while_the_model_thinks_does_not_come_back(
    ruled: tuple[FactKeeper, StoredFact, list[list[Action]]],
) -> None:
    keeper, fact, answers = ruled
    asked, gate = asyncio.Event(), asyncio.Event()
    said = {"content": "The function area() in shapes.py multiplies with math.tau.", "quote": "math.tau"}
    answers.append([asked.set, gate, *says(json.dumps(said))])
    updating = asyncio.create_task(keeper.update(fact.id))
    await asked.wait()
    await keeper.forget(fact.id)
    gate.set()
    with pytest.raises(NotFound):
        await updating
    assert await keeper.select(FactFilter(includes_closed=True)) == []


async def test_a_statement_is_pinned_once_and_must_be_one(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    first = await keeper.pin_fact("The port is  8080.")
    assert (await keeper.pin_fact("The port is 8080.")).id == first.id
    for text in ("", " \n", "x" * 1_001):
        with pytest.raises(InvalidRequest, match="one statement"):
            await keeper.pin_fact(text)
    with pytest.raises(NotFound, match="no file"):
        await keeper.pin_fact("It rests on nothing.", place=Place("none.py"))


async def test_clearing_removes_all(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    await keeper.pin_fact("The port is 8080.")
    await keeper.pin_fact("Doubling is a function.", place=Place("shapes.py", Span(5, 6)))
    assert await keeper.clear() == 2
    assert (await keeper.counts()).n_open == 0


async def test_a_fact_that_is_restored_is_as_it_was_and_learned_again(bench: Opener, folder: Path) -> None:
    b = await bench([says("Understood."), says("Understood.")])
    librarian = librarian_of(b, folder)
    keeper = librarian.keeper
    await b.ask(RULE)
    await librarian.extract_and_store(b.conversation_id)
    (fact,) = await keeper.all_facts()
    await keeper.forget(fact.id)
    assert (await keeper.search("tabs"), await keeper.select(FactFilter(includes_closed=True))) == ([], [])
    assert [each.id for each in await keeper.forgotten()] == [fact.id]
    assert await keeper.restore(fact.id) == fact
    assert (await keeper.search("tabs"), await keeper.forgotten()) == ([fact], [])
    assert not await b.store.read(facts.is_forgotten, fact.fact)


async def test_a_fact_that_was_pinned_again_meanwhile_is_restored_as_that_one(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    first = await keeper.pin_fact("Areas are computed with a short pi.", place=Place("shapes.py", Span(1, 2)))
    await keeper.forget(first.id)
    second = await keeper.pin_fact("Areas are computed with a short pi.")
    assert await keeper.restore(first.id) == second
    assert await keeper.all_facts() == [second]


async def test_what_was_rolled_back_meanwhile_holds_no_more_when_it_is_restored(bench: Opener, folder: Path) -> None:
    b = await bench([says("Understood."), says("Yes.")])
    librarian = librarian_of(b, folder)
    keeper = librarian.keeper
    await b.ask("A first message.", "first")
    await b.ask(RULE, "second")
    await librarian.extract_and_store(b.conversation_id)
    (fact,) = await keeper.all_facts()
    await keeper.forget(fact.id)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(2))
    assert not (await keeper.restore(fact.id)).is_open


@pytest.mark.parametrize("said", ["Always use spaces for indentation, not tabs.", "Forget the rule about tabs."])
async def test_what_was_ruled_otherwise_meanwhile_holds_no_more_when_it_is_restored(
    bench: Opener, folder: Path, said: str
) -> None:
    b = await bench([says("Understood."), says("Yes.")])
    librarian = librarian_of(b, folder)
    keeper = librarian.keeper
    await b.ask("Always use tabs for indentation.", "first")
    await librarian.extract_and_store(b.conversation_id)
    (fact,) = await keeper.all_facts()
    await keeper.forget(fact.id)
    await b.ask(said, "second")
    await librarian.extract_and_store(b.conversation_id)
    newer: list[FactId | None] = [each.id for each in await keeper.all_facts()]
    restored = await keeper.restore(fact.id)
    assert not restored.is_open
    assert [restored.superseded_by] == (newer or [None])
    assert [each.id for each in await keeper.all_facts()] == newer


async def test_what_closed_a_fact_is_known_of_it_again_when_it_is_restored(bench: Opener, folder: Path) -> None:
    b = await bench([says("Understood."), says("Yes.")])
    librarian = librarian_of(b, folder)
    keeper = librarian.keeper
    for number, text in enumerate(("Always use tabs for indentation.", "Forget the rule about tabs.")):
        await b.ask(text, f"request {number}")
        await librarian.extract_and_store(b.conversation_id)
    (fact,) = await keeper.select(FactFilter(includes_closed=True))
    await keeper.forget(fact.id)
    assert not (await keeper.restore(fact.id)).is_open
    await b.session.conversations.roll_back(b.conversation_id, MessageId(2))
    assert (await keeper.get(fact.id)).is_open


async def test_nothing_that_was_purged_can_be_restored(bench: Opener, folder: Path) -> None:
    b = await bench([says("Understood.")])
    librarian = librarian_of(b, folder)
    keeper = librarian.keeper
    await b.ask(RULE)
    await librarian.extract_and_store(b.conversation_id)
    (fact,) = await keeper.all_facts()
    await keeper.forget(fact.id)
    purging = b.session.purging
    await purging.purge(b.conversation_id, (MessageId(0), MessageId(2)), is_confirmed=True)
    assert await keeper.forgotten() == []
    with pytest.raises(NotFound):
        await keeper.restore(fact.id)


async def test_a_fact_that_was_forgotten_long_ago_is_gone(bench: Opener, folder: Path) -> None:
    b = await bench([])
    keeper = librarian_of(b, folder).keeper
    fact = await keeper.pin_fact("Areas are computed with a short pi.")
    await keeper.forget(fact.id)
    await b.store.run(forgotten_facts.drop_before, "9999")
    assert await keeper.forgotten() == []
