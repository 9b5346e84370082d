"""Notebooks: what they hold of a long conversation, after a restart, and after something was hidden."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.summaries.hybrid import hybrid_text
from palimpsest.domain.context.summaries.node import HYBRID, Summary
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.messages import MessageId, SummaryId
from palimpsest.services.context import notebooks
from palimpsest.services.context.notebooks import Notebooks, told_by
from palimpsest.services.context.state import ContextState


async def talked(bench: Opener, n_turns: int) -> Bench:
    b = await bench([], window=4_000, reserve=500)
    for number in range(n_turns):
        b.provider.replies = [says(f"The valve of pump_{number} is shut. " + f"It runs dry at rpm_{number}. " * 12)]
        assert await b.ask(f"Question {number}: why is tank_{number} wet?") == "committed"
    return b


async def state_of(b: Bench) -> ContextState:
    return await b.session.contexts.state(b.conversation_id)


def fresh(b: Bench) -> Notebooks:
    """A state loaded anew, like after a restart."""
    return Notebooks(b.store, b.session.contexts.background)


def ids_and_names(book: Notebook) -> tuple[set[int], set[str]]:
    return set(book.entries), {name for entry in book.entries.values() for name in entry.names}


async def test_of_a_long_conversation_the_newest_messages_are_kept_whole_and_of_the_others_their_page(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await talked(bench, 40)
    state = await state_of(b)
    blocks = [piece.summary for piece in state.pieces if isinstance(piece, SummaryPiece)]
    told = "".join(block.text for block in blocks)
    starts = {int(block.start) for block in blocks}  # which hold what only the list of a page names
    everything, _ = await fresh(b).ask(state, ids_and_names)
    assert everything == set(range(80))
    monkeypatch.setattr(notebooks, "KEPT_WHOLE", 30)
    for book in (fresh(b), b.session.contexts.notebooks):  # read anew, and grown while it was in use
        ids, names = await book.ask(state, ids_and_names)
        assert set(range(50, 80)) <= ids
        assert len(ids) < 80
        old = {id for id in ids if id < 50}
        assert old
        assert all(f"[{id}]" in told for id in old - starts)
        assert {f"pump_{number}" for number in range(35, 40)} <= names


async def test_what_was_rolled_back_or_purged_is_in_no_notebook(bench: Opener) -> None:
    b = await talked(bench, 6)
    books = b.session.contexts.notebooks
    ids, names = await books.ask(await state_of(b), ids_and_names)
    assert 11 in ids
    assert "tank_5" in names
    await b.session.conversations.roll_back(b.conversation_id, MessageId(10))
    ids, names = await books.ask(await state_of(b), ids_and_names)
    assert ids == set(range(10))
    assert "tank_5" not in names
    await b.session.purging.purge(b.conversation_id, (MessageId(0), MessageId(2)), is_confirmed=True)
    ids, names = await books.ask(await state_of(b), ids_and_names)
    assert ids == set(range(2, 10))
    assert "tank_0" not in names


async def test_two_who_ask_at_once_find_each_message_read_once(bench: Opener) -> None:
    b = await talked(bench, 8)
    state, books = await state_of(b), fresh(b)

    def uses(book: Notebook) -> int:
        return book.uses["tank_3"].by_user

    assert await asyncio.gather(*(books.ask(state, uses) for _ in range(5))) == [1] * 5


async def test_no_step_waits_for_many_messages_and_one_reading_of_them_is_under_way(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await talked(bench, 40)
    monkeypatch.setattr(notebooks, "_MANY", 5)
    books = b.session.contexts.notebooks
    await books.ask(await state_of(b), ids_and_names)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(78))
    await b.session.folder.background.settle(b.conversation_id)
    state, search, begun = await state_of(b), b.store.search, list[object]()

    async def noting(function: Callable[..., object], *args: object) -> object:
        begun.append(function)
        return await search(function, *args)

    monkeypatch.setattr(b.store, "search", noting)
    for _ in range(4):
        assert not (await books.note(state, 0, 1_000)).text, "what was read before the roll back counts no longer"
    assert not begun
    await b.session.folder.background.settle(b.conversation_id)
    assert len(begun) == 1
    ids, _ = await books.ask(state, ids_and_names)
    assert ids == set(range(78))


def test_names_in_a_models_text_do_not_count_as_told() -> None:
    text = hybrid_text("## Done\n- [0] Read src/pump.py", "I mistook src/tank.py for it.")
    summary = Summary(SummaryId(1), MessageId(0), MessageId(2), 1, HYBRID, text, 900, "m", "now")
    assert set(told_by(Notebook(count_bytes), [SummaryPiece(summary, 20)])) == {"src/pump.py"}
