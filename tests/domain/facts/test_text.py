"""The texts of facts: a warning sign is on stale facts alone."""

from __future__ import annotations

import pytest

from palimpsest.domain.facts.fact import Fact, FactId, FactState, FactType, Place, SourceState, StoredFact
from palimpsest.domain.facts.text import sign_of


def _stored(fact_type: FactType, state: FactState) -> StoredFact:
    source = SourceState(Place("src/gate.py"), state)
    return StoredFact(FactId(1), Fact(fact_type, "The gate is shut."), 1, "2026-01-01", None, (source,))


@pytest.mark.parametrize("fact_type", FactType)
@pytest.mark.parametrize("state", FactState)
def test_a_warning_sign_is_on_stale_facts_alone(fact_type: FactType, state: FactState) -> None:
    assert (sign_of(_stored(fact_type, state)) == "⚠️") == state.is_stale
