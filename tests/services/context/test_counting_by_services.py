"""A request is counted by its provider only where the estimate could be wrong about whether it fits."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.clients.contexts import context
from tests.services.scripted import ScriptedProvider
from tests.services.telling import TellingProvider
from tests.waiting import WAIT_S

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.services.context import counting
from palimpsest.services.context.counting import counted, is_near


def request(mean: int, upper: int, limit: int = 1_000) -> PreparedContext:
    return replace(context(), estimated_tokens=mean, upper_tokens=upper, limit_tokens=limit)


@pytest.mark.parametrize(
    ("mean", "upper", "expected"),
    [
        (900, 949, False),
        (900, 950, True),
        (900, 1_000, True),
        (1_000, 1_050, True),
        (1_000, 1_051, False),
        (980, 980, False),
    ],
)
def test_near_is_a_twentieth_on_either_side_of_an_estimate(mean: int, upper: int, expected: bool) -> None:
    assert is_near(mean, upper, 1_000) is expected


async def test_only_a_request_near_its_limit_is_counted() -> None:
    provider = TellingProvider("p", counts=940)
    assert [await counted(provider, request(900, upper)) for upper in (940, 960, 900)] == [None, 940, None]
    assert provider.n_asked == 1


@pytest.mark.parametrize("answer", [None, ProviderError(ErrorKind.OVERLOADED, "p is overloaded.")])
async def test_without_a_count_the_estimate_holds(answer: Exception | None) -> None:
    assert await counted(TellingProvider("p", counts=answer), request(900, 990)) is None


async def test_a_provider_that_cannot_count_is_not_asked() -> None:
    assert await counted(ScriptedProvider([]), request(900, 990)) is None


async def test_a_count_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_PATIENCE_S", 0.01)
    async with asyncio.timeout(WAIT_S):
        assert await counted(TellingProvider("p", counts=1, gate=asyncio.Event()), request(900, 990)) is None


async def test_a_cancelled_request_is_not_counted_any_further() -> None:
    task = asyncio.create_task(counted(TellingProvider("p", counts=1, gate=asyncio.Event()), request(900, 990)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
