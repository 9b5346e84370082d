"""Once a service has refused a request for its length, no request is over its limit again, whatever its format."""

from __future__ import annotations

import pytest
from benchmarks.calibration import LIMIT, talk
from tests.slow import slow

from palimpsest_clients.fake.server import NAMES


@pytest.mark.parametrize("wire", [NAMES[0], *(slow(each) for each in NAMES[1:])])
async def test_a_limit_that_was_learned_is_kept(wire: str) -> None:
    figures = await talk(wire, 16)
    assert figures.failed == []
    assert figures.n_over > 0, f"the conversation never reached {LIMIT} tokens"
    assert figures.n_over_after_learning == 0
