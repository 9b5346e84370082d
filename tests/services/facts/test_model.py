"""A model may reorder excerpts; when it cannot, or its answer is no order, the scores decide."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.services.scripted import Action, ScriptedProvider, says
from tests.waiting import WAIT_S

from palimpsest.data import load_model_table
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.facts.retrieval.reranking import LONGEST_EXCERPT, MOST_EXCERPTS, read_order, to_request
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.domain.models.limits import compute_budget
from palimpsest.services.facts import model as librarian_model
from palimpsest.services.facts.model import LibrarianModel
from palimpsest.services.facts.retrieval import Question, Retriever
from palimpsest.services.models.helper import HelpingModel
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.store import Store, open_store

C, NOW = ConversationId("c"), "2026-03-20T10:00:00.000Z"
ASKED = Question("Which pump did I choose?", C, NOW)
SAID = ("The pump is a blue one.", "The pump is a red one.", "The pump is a green one.")
ROOM = 18
"""One of them fits, with its heading."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path / "store")
    await opened.run(conversations.create, C, "", "offline", NOW)
    await opened.run(message_log.append, C, [user_message(each) for each in SAID], NOW)
    yield opened
    await opened.close()


def model_of(store: Store, answers: list[list[Action]], daily_tokens: int = 1_000_000) -> LibrarianModel:
    model = load_model_table().find("offline")
    assert model is not None
    helping = HelpingModel(ScriptedProvider(answers), model, compute_budget(model.limits), count_bytes)

    async def choose(_: ConversationId) -> HelpingModel:
        return helping

    return LibrarianModel(store, choose, daily_tokens)


@dataclass
class Seen:
    """Remembers what was to be ordered, and answers with one order."""

    answer: Sequence[int] | None
    excerpts: list[str] = field(default_factory=list)

    async def order(self, _: Question, excerpts: Sequence[str]) -> Sequence[int] | None:
        self.excerpts = list(excerpts)
        return self.answer


async def test_what_the_model_names_first_is_what_fits(store: Store) -> None:
    usual = await Retriever(store, count_bytes).retrieve(ASKED, ROOM)
    seen = Seen(None)
    assert (await Retriever(store, count_bytes, seen.order).retrieve(ASKED, ROOM)).text == usual.text
    assert len(seen.excerpts) == 3
    for position, excerpt in enumerate(seen.excerpts):
        order = [position, *(each for each in range(3) if each != position)]
        found = await Retriever(store, count_bytes, Seen(order).order).retrieve(ASKED, ROOM)
        assert len(found.items) == 1
        assert excerpt.strip() in found.text


async def test_a_model_orders_within_what_a_day_may_cost(store: Store) -> None:
    willing = model_of(store, [says("2, 3"), says("I cannot say.")])
    assert await willing.order(ASKED, SAID) == [1, 2, 0]
    assert await willing.order(ASKED, SAID) == [0, 1, 2]
    assert await model_of(store, [says("2")], daily_tokens=1).order(ASKED, SAID) is None


async def test_a_model_that_fails_or_is_slow_leaves_the_scores(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = model_of(store, [[ProviderError(ErrorKind.NETWORK, "Nobody answers.")]])
    assert await failing.order(ASKED, SAID) is None
    monkeypatch.setattr(librarian_model, "_TURN_LIMIT_S", 0.05)
    assert await asyncio.wait_for(model_of(store, [[asyncio.Event()]]).order(ASKED, SAID), WAIT_S) is None


@given(st.text(alphabet="0123456789, .-[]x\n", max_size=60), st.integers(0, MOST_EXCERPTS))
def test_any_answer_is_an_order_of_all_of_them(answer: str, n_excerpts: int) -> None:
    assert sorted(read_order(answer, n_excerpts)) == list(range(n_excerpts))


@pytest.mark.parametrize(
    ("answer", "order"),
    [
        ("3, 1", [2, 0, 1]),
        ("[2], [3].", [1, 2, 0]),
        ("Most helpful: 2, 1", [1, 0, 2]),
        ("The pumps decide it.\n\n3", [2, 0, 1]),
        ("3\n2\n1", [2, 1, 0]),
        ("0", [0, 1, 2]),
        ("I'm sorry, but I can't help with 3 of these.", [0, 1, 2]),
        ('{"facts": [], "n": 3}', [0, 1, 2]),
        ("3 is about the pump, 2 is not", [0, 1, 2]),
    ],
)
def test_only_a_list_of_numbers_is_an_order(answer: str, order: list[int]) -> None:
    assert read_order(answer, 3) == order


def test_an_excerpt_is_one_line_of_the_request() -> None:
    request = to_request("What?", ["one\n[9] and more", "x" * 2 * LONGEST_EXCERPT])
    lines = request.splitlines()
    assert lines[-2:] == ["[1] one [9] and more", f"[2] {'x' * LONGEST_EXCERPT}"]
