"""The mutants that measure the simulation still are what they say; whether they are found takes an hour:
`python -m tests.simulation.mutations`."""

from __future__ import annotations

import pytest
from tests.simulation.areas import PROFILES
from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.mutations import PACKAGE, mutated


@pytest.mark.parametrize("mutant", [pytest.param(each, id=each.name) for each in MUTANTS])
def test_a_mutant_applies_to_the_sources_of_today(mutant: Mutant) -> None:
    source = (PACKAGE / mutant.file).read_text("utf-8")
    wrong = mutated(mutant, source)
    assert wrong != source
    compile(wrong, mutant.file, "exec")
    assert mutant.profile is None or mutant.profile in PROFILES


def test_there_are_enough_and_no_two_are_the_same() -> None:
    assert len({each.name for each in MUTANTS}) == len({(each.file, each.before) for each in MUTANTS}) == len(MUTANTS)
    assert len(MUTANTS) >= 30
