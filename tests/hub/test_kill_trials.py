"""Some of the trials that kill servers and the hub: `benchmarks.hub.kill_trials` says what has to hold."""

from __future__ import annotations

import sys

import pytest

from palimpsest_hub.local import programs


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform == "win32", reason="servers are forked, and PostgreSQL runs on a socket")
@pytest.mark.skipif(next(programs(), None) is None, reason="there is no PostgreSQL here")
async def test_nothing_shown_is_lost_or_doubled(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.hub import kill_trials

    n_failed = await kill_trials.run(6, seed=3)
    assert n_failed == 0, capsys.readouterr().out
