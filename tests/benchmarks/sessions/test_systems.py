from __future__ import annotations

import pytest
from benchmarks.driving.sessions import SessionSystem
from benchmarks.sessions.agreement import made_up_session
from benchmarks.sessions.measures import Cost
from benchmarks.sessions.recording import Session
from benchmarks.sessions.replay import Step, plan, replay
from benchmarks.sessions.scripted_models import SCRIPTED
from benchmarks.sessions.systems import VARIANTS, Row, product_rows, vocabularies

from palimpsest.services.models.tokenizers import load_tokenizer

BUDGET = 4_000
SESSION = Session("made up", tuple(made_up_session()))
ROWS = product_rows(VARIANTS, list(SCRIPTED))


def played(row: Row) -> tuple[list[Step], set[str]]:
    """The steps, and the kinds of the summaries that were written."""
    cost = Cost(load_tokenizer("cl100k_base", vocabularies()).count)
    raw = row.setup.raw_budget(BUDGET)
    planned = plan(SESSION, raw, 0, cost)
    assert planned is not None
    system = row.make(BUDGET)
    assert isinstance(system, SessionSystem)
    try:
        steps = replay(SESSION, planned, system, raw, cost, BUDGET if row.is_switched else None)
        return steps, {summary.kind for summary in system.summaries()}
    finally:
        system.close()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.name.strip()}, as {row.setup.counts_as}" for row in ROWS])
def test_in_every_setup_contexts_fit_the_budget_with_whole_pairs_and_are_compacted(row: Row) -> None:
    steps, written = played(row)

    assert [step.index for step in steps if step.is_over or step.is_orphaned] == []
    assert (steps[-1].n_compactions or 0) > 0
    assert ("hybrid" in written) is (row.setup.summaries_by is not None and "hallucinating" not in row.name)
