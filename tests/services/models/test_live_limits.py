"""What providers say of their models counts as soon as it is known, is asked for once a day, and never waited for."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import KEY
from tests.clients.fake_responses import FakeResponses
from tests.services.scripted import ScriptedProvider
from tests.services.telling import TellingProvider, told
from tests.waiting import WAIT_S

from palimpsest.data import load_model_table
from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.models.limits import LimitsSource, ModelLimits
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.live_limits import LiveLimits
from palimpsest_clients.anthropic import AnthropicClient

NOON = "2026-11-22T12:00:00.000Z"
DOWN = ProviderError(ErrorKind.NETWORK, "p could not be reached.")


def kept(file: Path) -> dict[str, Any]:
    """The content of the cache's only file, which only its user can read."""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]
    providers: dict[str, Any] = json.loads(file.read_bytes())["providers"]
    return providers


def keep(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    file.chmod(0o600)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> str:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "live.json"


Open = Callable[[], LiveLimits]


@pytest.fixture
async def process(file: Path, clock: Clock) -> AsyncIterator[Open]:
    """Begins another process's life on the same file."""
    begun: list[LiveLimits] = []

    def begin() -> LiveLimits:
        begun.append(LiveLimits(file, clock))
        return begun[-1]

    yield begin
    for each in begun:
        await each.close()


async def windows(limits: LiveLimits, *providers: TellingProvider, **addresses: str) -> dict[str, int]:
    """The windows that are known once the answers have come."""
    given = await limits.of({each.name: each for each in providers}, addresses)
    await limits.settle()
    return {name: each.window for name, each in given.items()}


async def test_what_is_told_is_kept_for_the_next_process(process: Open) -> None:
    provider = TellingProvider("p", told(a=10_000, b=None))
    assert await windows(process(), provider) == {"p/a": 10_000}
    known = await process().of({"p": provider}, {})
    assert known == {"p/a": ModelLimits(10_000, 1_000)}
    assert provider.n_asked == 1


async def test_every_limit_survives_the_file(process: Open, file: Path) -> None:
    [model] = told(a=10_000)
    limits = ModelLimits(10_000, 2_000, 7_000)
    await windows(process(), TellingProvider("p", [type(model)("a", limits)]))
    assert await process().of({"p": TellingProvider("p")}, {}) == {"p/a": limits}
    assert kept(file) == {"p": {"at": NOON, "models": {"a": [10_000, 2_000, 7_000]}}}


async def test_nobody_waits_for_an_answer(process: Open) -> None:
    gate = asyncio.Event()
    limits = process()
    async with asyncio.timeout(WAIT_S):
        given = await limits.of({"p": TellingProvider("p", told(a=10_000), gate=gate)}, {})
        assert given == {}
        gate.set()
        await limits.settle()
    assert given == {"p/a": ModelLimits(10_000, 1_000)}


async def test_an_answer_reaches_everybody_who_asked(process: Open) -> None:
    gate = asyncio.Event()
    provider, other = TellingProvider("p", told(a=10_000), gate=gate), TellingProvider("q", told(a=5_000))
    limits = process()
    alone, both = await limits.of({"p": provider}, {}), await limits.of({"p": provider, "q": other}, {})
    gate.set()
    await limits.settle()
    assert alone == {"p/a": ModelLimits(10_000, 1_000)}
    assert both == {**alone, "q/a": ModelLimits(5_000, 1_000)}
    assert await limits.of({"p": provider}, {}) is alone
    assert (provider.n_asked, other.n_asked) == (1, 1)


@pytest.mark.parametrize(
    ("later", "n_asked"),
    [
        ("2026-11-22T12:00:01.000Z", 1),
        ("2026-11-23T12:00:00.000Z", 1),
        ("2026-11-23T12:00:01.000Z", 2),
        ("2026-11-22T11:00:00.000Z", 2),
    ],
)
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_provider_is_asked_again_after_a_day(
    process: Open, clock: Clock, later: str, n_asked: int, is_restarted: bool
) -> None:
    provider = TellingProvider("p", told(a=10_000))
    limits = process()
    await windows(limits, provider)
    clock.now = later
    await windows(process() if is_restarted else limits, provider)
    assert provider.n_asked == n_asked


async def test_a_provider_that_takes_its_time_is_not_asked_twice(process: Open, clock: Clock) -> None:
    gate = asyncio.Event()
    limits, provider = process(), TellingProvider("p", told(a=10_000), gate=gate)
    await limits.of({"p": provider}, {})
    clock.now = "2026-11-22T23:00:00.000Z"
    await limits.of({"p": provider}, {})
    gate.set()
    assert await windows(limits, provider) == {"p/a": 10_000}
    assert provider.n_asked == 1


async def test_a_newer_word_replaces_an_older_one_as_a_whole(process: Open, clock: Clock) -> None:
    limits, provider, other = process(), TellingProvider("p", told(a=10_000, b=9_000)), TellingProvider("q", told(b=5))
    await windows(limits, provider, other)
    clock.now, provider.tells = "2026-11-24T00:00:00.000Z", told(a=20_000, c=8_000)
    assert await windows(limits, provider, other) == {"p/a": 20_000, "p/c": 8_000, "q/b": 5}
    assert await windows(process(), provider, other) == {"p/a": 20_000, "p/c": 8_000, "q/b": 5}


@pytest.mark.parametrize("answer", [DOWN, RuntimeError("a bug"), ()])
async def test_a_failure_leaves_what_was_known_and_is_not_repeated_at_once(
    process: Open, clock: Clock, caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    provider = TellingProvider("p", told(a=10_000))
    await windows(process(), provider)
    clock.now, provider.tells = "2026-11-24T00:00:00.000Z", answer
    limits = process()
    with caplog.at_level(logging.INFO):
        found = [await windows(limits, provider) for _ in range(3)]
    assert found == [{"p/a": 10_000}] * 3
    assert provider.n_asked == 2
    assert bool(caplog.records) == (answer != ())
    clock.now, provider.tells = "2026-11-24T02:00:00.000Z", told(a=20_000)
    assert await windows(limits, provider) == {"p/a": 20_000}


async def test_only_providers_that_can_be_asked_are(process: Open, file: Path) -> None:
    limits = process()
    assert await limits.of({"offline": ScriptedProvider([])}, {}) == {}
    await limits.settle()
    assert not file.parent.exists()


async def test_one_name_at_two_addresses_is_two_services(process: Open, file: Path) -> None:
    here, there = "http://me:secret@localhost:8080/v1", "http://elsewhere/v1"
    first, second = TellingProvider("p", told(a=1_000)), TellingProvider("p", told(a=2_000))
    limits = process()
    found = [await windows(limits, first), await windows(limits, first, p=here), await windows(limits, second, p=there)]
    assert found == [{"p/a": 1_000}, {"p/a": 1_000}, {"p/a": 2_000}]
    assert first.n_asked == 2
    assert "secret" not in str(kept(file))


async def test_a_name_without_its_date_means_the_newest_snapshot(process: Open) -> None:
    snapshots = told(m_20250101=1_000, m_20260101=3_000, m_20251231=2_000, n=7_000, n_20260101=8_000)
    found = await windows(process(), TellingProvider("p", snapshots))
    assert (found["p/m"], found["p/n"], found["p/m-20250101"]) == (3_000, 7_000, 1_000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "5",
        '{"format": 2, "providers": {}}',
        '{"format": 1}',
        '{"format": 1, "providers": {"p": {"at": "yesterday", "models": {}}}}',
        '{"format": 1, "providers": {"p": {"at": "2026-11-22T12:00:00", "models": {}}}}',
        '{"format": 1, "providers": {"p": {"at": "2026-11-22T12:00:00Z", "models": {"a": [1, 2]}}}}',
        '{"format": 1, "providers": {"p": {"at": "2026-11-22T12:00:00Z", "models": {"a": ["1", 2, null]}}}}',
        '{"format": 1, "providers": {"p": {"at": "2026-11-22T12:00:00Z", "models": {"a": [0, 2, null]}}}}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:80],
)
async def test_a_file_that_cannot_be_meant_is_written_anew(process: Open, file: Path, text: str) -> None:
    keep(file, text)
    provider = TellingProvider("p", told(a=10_000))
    assert await windows(process(), provider) == {"p/a": 10_000}
    assert list(kept(file)) == ["p"]


async def test_a_cache_that_cannot_be_written_does_no_harm(process: Open, file: Path) -> None:
    file.parent.write_text("in the way")
    assert await windows(process(), TellingProvider("p", told(a=10_000))) == {"p/a": 10_000}


async def test_two_processes_keep_each_others_words(process: Open) -> None:
    one, two = process(), process()
    await one.of({}, {})
    await two.of({}, {})
    await windows(one, TellingProvider("p", told(a=1_000)))
    await windows(two, TellingProvider("q", told(a=2_000)))
    provider, other = TellingProvider("p"), TellingProvider("q")
    assert await windows(process(), provider, other) == {"p/a": 1_000, "q/a": 2_000}
    assert (provider.n_asked, other.n_asked) == (0, 0)


async def test_closing_does_not_wait_for_an_answer(process: Open) -> None:
    limits = process()
    given = await limits.of({"p": TellingProvider("p", told(a=1), gate=asyncio.Event())}, {})
    async with asyncio.timeout(WAIT_S):
        await limits.close()
    assert given == {}


async def test_the_limits_of_a_model_follow_what_its_service_says(process: Open) -> None:
    limits = process()
    async with FakeResponses() as fake, aclosing(AnthropicClient(KEY, fake.url)) as client:
        entry = {"id": "claude-opus-4-5-20251101", "max_input_tokens": 500_000, "max_tokens": 32_000}
        fake.answers["/v1/models?limit=1000"] = {"data": [entry], "has_more": False}
        providers = {"anthropic": client}
        live = await limits.of(providers, {"anthropic": fake.url})
        models = Models(load_model_table(), providers, {}, Settings(), live=live)
        assert models.get("claude-opus-4-5").source is LimitsSource.PREFIX
        await limits.settle()
    found = models.get("claude-opus-4-5")
    assert (found.limits, found.source) == (ModelLimits(500_000, 32_000), LimitsSource.LIVE)


async def test_a_failure_is_forgotten_when_another_client_asks_such_as_one_with_another_key(process: Open) -> None:
    limits, refused = process(), TellingProvider("p", ProviderError(ErrorKind.AUTH, "p did not accept the key."))
    assert await windows(limits, refused) == {}
    assert await windows(limits, refused) == {}
    assert refused.n_asked == 1
    assert await windows(limits, TellingProvider("p", told(a=10_000))) == {"p/a": 10_000}
