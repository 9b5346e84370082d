"""A change of mind ends the rule of a conversation and the fact that was made of it, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.services.facts.librarians import librarian_of
from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.context.rules.rule_set import RuleState
from palimpsest.domain.facts.fact import FactFilter, FactType
from palimpsest.domain.messages import MessageId
from palimpsest.services.context.rule_commands import RuleCommands

RULINGS = (FactType.CONSTRAINT, FactType.DECISION)


async def said(b: Bench, folder: Path, *texts: str) -> tuple[set[str], set[str]]:
    """The rules that hold and the facts that are open, by the words they rest on."""
    librarian = librarian_of(b, folder)
    for number, text in enumerate(texts):
        b.provider.replies = [says("Understood.")]
        assert await b.ask(text, f"request {number} of {b.conversation_id}") == "committed"
        await librarian.extract_and_store(b.conversation_id)
    rules = await RuleCommands(b.session.contexts).rules(b.conversation_id)
    held = {entry.text for entry in rules.whole.entries if entry.state is RuleState.OPEN}
    facts = [each for each in await librarian.keeper.all_facts() if each.fact.fact_type in RULINGS]
    return held, {each.evidence.quote for each in facts if each.evidence is not None}


BESIDE = "Never log passwords of our customers."
REDIS = "Let's go with Redis for the queue, since we already run it."


@pytest.mark.parametrize(
    ("before", "change", "is_rule"),
    [
        ("use spaces, not tabs", "use tabs", True),
        (REDIS, "Actually, drop Redis: RabbitMQ instead.", True),
        (REDIS, "Actually, drop Redis: we go with RabbitMQ for the queue instead.", True),
        (REDIS, "Forget what I said about Redis for the queue.", False),
        ("Use npm for all packages.", "We moved from npm to pnpm.", True),
        ("Always squash commits before merging.", "No need to squash commits any more.", False),
        ("Never touch the legacy folder.", "You can touch the legacy folder now.", False),
        ("Keep every answer under 100 words.", "Scratch that.", False),
        ("Wir nehmen Redis für die Queue.", "Vergiss Redis, wir nehmen RabbitMQ für die Queue.", True),
        ("On utilise npm.", "On n'utilise plus npm.", True),
        ("Usa yarn en todas partes.", "Usa npm en lugar de yarn.", True),
        ("我们用 npm。", "我们已经从 npm 换成 pnpm 了。", True),
    ],
)
async def test_a_change_of_mind_ends_the_rule_and_the_fact(
    bench: Opener, tmp_path: Path, before: str, change: str, is_rule: bool
) -> None:
    held, known = await said(await bench([]), tmp_path, BESIDE, before, change)
    assert held == known == {BESIDE, *([change] if is_rule else [])}


@pytest.mark.parametrize(
    "passing",
    [
        "Drop the temporary table after the import.",
        "What if we dropped Redis?",
        "Someone suggested to drop Redis, what is your opinion?",
        "Restart Redis instead of waiting for it.",
        "Never mind, I found the typo.",
    ],
)
async def test_what_only_looks_like_a_change_of_mind_ends_nothing(bench: Opener, tmp_path: Path, passing: str) -> None:
    held, known = await said(await bench([]), tmp_path, BESIDE, REDIS, passing)
    assert held == known == {BESIDE, REDIS}


async def test_the_fact_says_what_took_its_place(bench: Opener, tmp_path: Path) -> None:
    b = await bench([])
    await said(b, tmp_path, "use spaces, not tabs", "use tabs")
    (tabs, spaces) = await librarian_of(b, tmp_path).keeper.select(FactFilter(includes_closed=True))
    assert (tabs.fact.content, spaces.fact.content) == ("use tabs", "use spaces, not tabs")
    assert spaces.superseded_by == tabs.id
    assert tabs.is_open


async def test_a_rule_said_again_after_it_was_taken_back_is_known_again(bench: Opener, tmp_path: Path) -> None:
    held, known = await said(
        await bench([]), tmp_path, "Use tabs everywhere.", "Forget that rule.", "Use tabs everywhere."
    )
    assert held == known == {"Use tabs everywhere."}


async def test_a_change_of_mind_in_another_conversation_ends_the_fact_of_the_folder(
    bench: Opener, tmp_path: Path
) -> None:
    b = await bench([])
    await said(b, tmp_path, REDIS)
    other = await b.session.conversations.create("Another", None)
    b.conversation_id = other.id
    held, known = await said(b, tmp_path, "Actually, drop Redis: RabbitMQ instead.")
    assert held == known == {"Actually, drop Redis: RabbitMQ instead."}


@pytest.mark.parametrize("is_learned_first", [True, False])
async def test_a_rule_that_a_command_takes_back_is_no_fact_any_more(
    bench: Opener, tmp_path: Path, *, is_learned_first: bool
) -> None:
    b = await bench([says("Understood."), says("Yes.")])
    await b.ask(BESIDE, "first")
    librarian = librarian_of(b, tmp_path)
    if is_learned_first:
        await librarian.extract_and_store(b.conversation_id)
    await RuleCommands(b.session.contexts).withdraw(b.conversation_id, "0.0")
    await b.ask(REDIS, "second")
    await librarian.extract_and_store(b.conversation_id)
    assert [each.evidence.quote for each in await librarian.keeper.all_facts() if each.evidence is not None] == [REDIS]


async def test_what_a_command_took_back_stays_so_when_the_change_of_mind_beside_it_is_rolled_back(
    bench: Opener, tmp_path: Path
) -> None:
    b = await bench([])
    first, other = b.conversation_id, (await b.session.conversations.create("Another", None)).id
    await said(b, tmp_path, REDIS)
    b.conversation_id = other
    await said(b, tmp_path, "Actually, drop Redis: RabbitMQ instead.")
    await RuleCommands(b.session.contexts).withdraw(first, "0.0")
    await b.session.conversations.roll_back(other, MessageId(0))
    assert await librarian_of(b, tmp_path).keeper.all_facts() == []
