"""Opening a store takes words out of use that were rolled back or purged and that an earlier version left."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.storage.maintenance.test_health import NOW, C, F, change, directory, problems

from palimpsest.domain.facts.fact import Evidence, Fact, FactId, FactType, Origin
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.services.maintenance.health import examine, repair
from palimpsest.storage import backups
from palimpsest.storage.context import cuts, summary_tree
from palimpsest.storage.conversation import pending_work
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import search as fact_search
from palimpsest.storage.lifecycle import purge as purging
from palimpsest.storage.maintenance.health import Verdict
from palimpsest.storage.maintenance.hidden_words import HiddenWords
from palimpsest.storage.store import open_store

__all__ = ["directory"]
WORDS = "the passphrase is walrusmarmalade"
LATER = "2026-02-02T00:00:00.000Z"
VISIBLE = 5 + 6
"""Tokens of messages 4 and 5; messages 6 and 7 are hidden."""
HIDDEN = 7 + 8


def fact_of(message_id: int, conversation_id: ConversationId = C, content: str = WORDS) -> FactId:
    evidence = Evidence(conversation_id, MessageId(message_id), content, Origin.USER)
    return facts.add(Fact(FactType.DECISION, content, tuple(content.split()[-1:])), 1, evidence, NOW)


def write(directory: Path, text: str, tokens: int) -> None:
    """A summary of messages 4 to 7 in the newest cut, written after the roll back."""
    change(
        directory,
        f"""INSERT INTO summary (id, conversation, start_message_id, end_message_id, level, kind, text, original_tokens,
                author, children, duration_ms, input_tokens, output_tokens, created_at)
            VALUES (50, 'c', 4, 8, 1, 'extractive', '{text}', {tokens}, 'palimpsest', '[]', 0, 0, 0, '{NOW}');
        INSERT INTO cut (conversation, version, cause, model, factor, sigma, overhead, frame_digest, end_message_id,
                blocks, saved, tokens_before, tokens_after, duration_ms, front, left_out, created_at)
            VALUES ('c', 9, 'threshold', 'offline', 1, 0, 0, '', 8, '[1, 50]', '{{}}', 0, 0, 0, '', '[]', '{NOW}')""",
    )


async def blocks(directory: Path) -> tuple[int, ...]:
    store = await open_store(directory)
    try:
        cut = await store.read(cuts.latest_cut, C)
        assert cut is not None
        return cut.blocks
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("They chose a passphrase.", VISIBLE + HIDDEN),
        ("They chose a passphrase.", VISIBLE + 7),
        ("- [6] the passphrase is walrusmarmalade", VISIBLE),
    ],
)
async def test_a_summary_that_took_in_rolled_back_messages_is_used_no_more(
    directory: Path, text: str, tokens: int
) -> None:
    write(directory, text, tokens)
    assert problems(await examine(directory)) == {"hidden words"}
    assert await blocks(directory) == (1,)
    assert problems(await examine(directory)) == set()
    store = await open_store(directory)
    try:
        assert 50 in [each.id for each in await store.read(summary_tree.read, C)]
        assert not store.mended
    finally:
        await store.close()


async def test_a_summary_of_what_was_left_may_reach_over_a_roll_back(directory: Path) -> None:
    write(directory, "They chose a passphrase.\n- [5] unspeakable", VISIBLE)
    assert problems(await examine(directory)) == set()
    assert await blocks(directory) == (1, 50)


async def test_where_nobody_counted_the_messages_a_summary_is_not_suspected(directory: Path) -> None:
    write(directory, "They chose a passphrase.", VISIBLE + HIDDEN)
    change(directory, "DELETE FROM token_count")
    assert await blocks(directory) == (1, 50)


async def poison_with_purged_words(directory: Path) -> None:
    """Purges messages 4 and 5, which a fork has too, and then adds the facts that a late extraction stored."""
    store = await open_store(directory)

    def poison() -> None:
        purging.purge(store.writer(NOW), C, (MessageId(4), MessageId(5)))
        while pending_work.do_some() is not None:
            pass
        fact_of(4)
        fact_of(4, F)
        fact_of(0, content="what was never purged")

    await store.run(poison)
    await store.close()
    backups.keep(directory / DATABASE_NAME, "request")


async def test_facts_of_purged_words_are_removed_and_the_words_leave_every_file(directory: Path) -> None:
    await poison_with_purged_words(directory)
    assert "walrusmarmalade" in all_text(directory)
    assert "hidden words" in problems(await examine(directory))
    store = await open_store(directory)
    try:
        assert [fact.fact.content for fact in await store.read(facts.all_known)] == ["what was never purged"]
        assert await store.read(fact_search.match, "passphrase", 5) == []
        assert len(store.mended.of_purged) == 2
    finally:
        await store.close()
    assert "walrus" not in all_text(directory)
    assert problems(await examine(directory)) == set()


def all_text(directory: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in directory.rglob("*.db*"))


async def test_what_a_turn_was_told_of_a_purged_fact_is_not_sent_again(directory: Path) -> None:
    await poison_with_purged_words(directory)
    change(
        directory, f"INSERT INTO injection VALUES (1, 'c', 't', 1, 'recall', '[facts]\n- {WORDS}', '{NOW}', NULL, 0)"
    )
    store = await open_store(directory)
    await store.close()
    assert "walrus" not in all_text(directory)


async def test_facts_of_rolled_back_words_are_closed_unless_a_person_said_since_that_they_hold(
    directory: Path,
) -> None:
    store = await open_store(directory)

    def poison() -> tuple[FactId, FactId, FactId]:
        hidden, verified, visible = fact_of(6), fact_of(7, content="verified"), fact_of(5, content="visible")
        facts.verify(verified, LATER)
        return hidden, verified, visible

    hidden, verified, visible = await store.run(poison)
    await store.close()
    assert problems(await examine(directory)) == {"hidden words"}
    store = await open_store(directory)
    try:
        open_facts = [fact.id for fact in await store.read(facts.all_known) if fact.is_open]
        assert (open_facts, store.mended) == ([verified, visible], HiddenWords((), (hidden,), ()))
    finally:
        await store.close()


async def test_a_repair_says_what_it_took_back(directory: Path) -> None:
    await poison_with_purged_words(directory)
    write(directory, "They chose a passphrase.", 10_000)
    change(directory, "INSERT INTO preview VALUES ('c', 55, 1, '{}')")
    report = await repair(directory)
    did = [f.text for f in report.findings if f.check == "repair" and f.verdict is Verdict.REPAIRED]
    assert len(did) == 2
    assert "of hidden messages, which are no longer used: 1" in did[0]
    assert "purged messages that were deleted" in did[1]
    assert problems(await examine(directory)) == set()
    assert report.backup is not None
    assert "walrus" not in all_text(directory)


async def test_a_store_that_cannot_be_looked_through_is_opened_all_the_same(directory: Path) -> None:
    write(directory, "They chose a passphrase.", 10_000)
    change(directory, "UPDATE summary SET children = 'nonsense' WHERE id = 50")
    store = await open_store(directory)
    assert store.mended == HiddenWords()
    await store.close()
