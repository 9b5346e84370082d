"""Values learned about a model are read as they were written; a learned limit counts for 30 days."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import reduce
from pathlib import Path

import pytest

from palimpsest.domain.context.calibration import Calibration, ModelKey, Observation
from palimpsest.domain.context.tokens import Estimator
from palimpsest.storage import models
from palimpsest.storage.store import Store, open_store

KEY = ModelKey("anthropic", "claude-x", "cl100k_base")
FAMILY = Estimator(1.6, 0.075)
NOW, LATER = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path / "store")
    yield opened
    await opened.close()


def learned(*told: tuple[int, int]) -> Calibration:
    return reduce(Calibration.observe, (Observation(*each) for each in told), Calibration.start(KEY, FAMILY))


async def test_a_calibration_goes_on_where_it_was(store: Store) -> None:
    before = learned((20_000, 35_000), (60_000, 99_000))
    await store.run(models.write_calibration, before, NOW)
    after = await store.read(models.read_calibration, KEY, FAMILY)
    assert after == before
    following = Observation(40_000, 70_000)
    assert after.observe(following) == before.observe(following)


async def test_a_later_calibration_replaces_the_earlier(store: Store) -> None:
    later = learned((20_000, 35_000), (60_000, 99_000))
    await store.run(models.write_calibration, learned((20_000, 35_000)), NOW)
    await store.run(models.write_calibration, later, LATER)
    assert await store.read(models.read_calibration, KEY, FAMILY) == later


@pytest.mark.parametrize(
    "other",
    [
        ModelKey("openai", "claude-x", "cl100k_base"),
        ModelKey("anthropic", "claude-y", "cl100k_base"),
        ModelKey("anthropic", "claude-x", "bytes"),
    ],
)
async def test_nothing_learned_is_the_familys_start(store: Store, other: ModelKey) -> None:
    await store.run(models.write_calibration, learned((20_000, 35_000)), NOW)
    assert await store.read(models.read_calibration, other, FAMILY) == Calibration.start(other, FAMILY)


@pytest.mark.parametrize(
    ("now", "counts"),
    [
        ("2026-01-01T00:00:00.000Z", True),
        ("2026-01-30T23:59:59.999Z", True),
        ("2026-01-31T00:00:00.000Z", False),
        ("2027-01-01T00:00:00.000Z", False),
    ],
)
async def test_a_learned_limit_counts_for_30_days(store: Store, now: str, counts: bool) -> None:
    await store.run(models.learn_limit, "openai", "org/model", 120_000, NOW)
    assert await store.read(models.learned_limits, now) == ({"openai/org/model": 120_000} if counts else {})


async def test_the_newest_word_of_a_provider_counts(store: Store) -> None:
    await store.run(models.learn_limit, "openai", "m", 120_000, NOW)
    await store.run(models.learn_limit, "openai", "m", 150_000, LATER)
    await store.run(models.learn_limit, "gemini", "m", 90_000, NOW)
    assert await store.read(models.learned_limits, LATER) == {"openai/m": 150_000, "gemini/m": 90_000}


async def test_a_limit_below_one_token_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="at least one token"):
        await store.run(models.learn_limit, "openai", "m", 0, NOW)
    assert await store.read(models.learned_limits, NOW) == {}
