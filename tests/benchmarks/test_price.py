"""Every way of keeping a conversation gets the same requests within the same limit, and pays for its summaries."""

from __future__ import annotations

import asyncio
import itertools
import random
from pathlib import Path

import pytest
from benchmarks.billing import Request, Sizes
from benchmarks.prepare import coding_exchanges
from benchmarks.price import (
    MIDDLEWARE,
    NEWEST,
    OURS,
    ROOMY,
    SEED,
    UNTOLD,
    Helper,
    asked,
    figures_of,
    newest,
    ours,
    text_of,
)

from palimpsest.domain.messages import Role
from palimpsest.services.models.tokenizers import load_tokenizer

EXCHANGES = list(itertools.islice(coding_exchanges(random.Random(SEED)), 60))
BUDGET = 4_000


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Sizes:
    return Sizes(load_tokenizer("cl100k_base", Path(tmp_path_factory.mktemp("vocabularies"))).count)


def test_a_request_stands_before_each_message_of_the_assistant_and_nowhere_else() -> None:
    requests = asked(EXCHANGES)

    said = [exchange for exchanges, _, _ in requests for exchange in exchanges]
    assert said == EXCHANGES[: len(said)]
    answers = [text_of(exchange[0]) for exchange in EXCHANGES if exchange[0].role is Role.ASSISTANT]
    assert [answer for _, answer, _ in requests] == answers


def test_all_are_limited_by_the_same_count_and_pay_for_their_summaries(sizes: Sizes) -> None:
    helped = asyncio.run(ours(EXCHANGES, BUDGET, Helper(sizes)))
    trimmed = newest(EXCHANGES, BUDGET, sizes)

    for requests in (helped, trimmed):
        assert BUDGET * 0.8 < max(sizes.of(each.sent) for each in requests) <= BUDGET
    assert [each.answer for each in helped] == [each.answer for each in trimmed]
    assert any(each.summarized > each.summaries > 0 for each in helped)
    assert not any(each.summarized for each in trimmed)


def test_the_reason_stands_beside_a_price(sizes: Sizes) -> None:
    """Ours sends twice as much as the middleware, all of it but the newest message kept."""
    long, short = ([Request(["word " * n] * k, "yes", begins_turn=False) for k in (9, 10)] for n in (1_000, 500))
    found = {OURS: long, UNTOLD: long, NEWEST: None, MIDDLEWARE: short, ROOMY: None}

    share, newest_fit, middleware, _ = figures_of(found, sizes, 32_000, "two requests")

    assert share.value == pytest.approx(9 / 19, abs=0.001)
    assert newest_fit.theirs is None
    assert newest_fit.is_met is None
    assert middleware.value == pytest.approx(2, abs=0.01)
    assert "it sends 4,798 tokens in each, ours 9,548;" in middleware.note
