"""Some of the trials that kill servers and the hub: `benchmarks.hub.kill_trials` says what has to hold."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from tests.simulation.mutants import Mutant
from tests.simulation.mutations import PACKAGE, mutated

from palimpsest_hub.local import programs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="servers are forked, and PostgreSQL runs on a socket"),
    pytest.mark.skipif(next(programs(), None) is None, reason="there is no PostgreSQL here"),
]

FIRST = {"two stores": 0, "two servers on one store": 20}
"""The first trial of each layout."""

DOCTORED = {
    "two stores": Mutant(
        "what moves apart loses its last message",
        "storage/sharing/apart.py",
        "    for row_id, message_id, created_at, turn, own, text, version, author in rows:\n",
        "    for row_id, message_id, created_at, turn, own, text, version, author in rows[:-1]:\n",
    ),
    "two servers on one store": Mutant(
        "what a dead server was saying is gone when its turn is closed",
        "storage/turns/turns.py",
        "        events = [numbered.event for numbered in stream_journal.events_of(step_id)]\n",
        "        events: list[JournalEvent] = []\n",
    ),
}


@pytest.mark.parametrize("layout", FIRST)
async def test_nothing_shown_is_lost_or_doubled(layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.hub import kill_trials

    n_failed = await kill_trials.run(6, seed=3, first=FIRST[layout])
    assert n_failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("layout", DOCTORED)
async def test_a_doctored_product_is_found_out(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.hub import kill_trials

    mutant = DOCTORED[layout]
    shutil.copytree(PACKAGE, tmp_path / "palimpsest")
    file = tmp_path / "palimpsest" / mutant.file
    file.write_text(mutated(mutant, file.read_text("utf-8")), "utf-8")
    monkeypatch.setattr(kill_trials, "SETTLE_S", 20)  # what does not settle is found then
    n_failed = 0
    for first in (FIRST[layout], FIRST[layout] + 40):  # the moments are the machine's: where the first set saw nothing
        n_failed = n_failed or await kill_trials.run(20, seed=3, first=first, product=tmp_path, place=tmp_path)
    assert n_failed == 1
