"""A table of weights says of every feature what the weights say, in memory and as bytes."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from palimpsest.domain.context.rules.weight_table import WeightTable

WEIGHTS = st.dictionaries(st.text(max_size=12), st.integers(-30_000, 30_000), max_size=60)


@given(WEIGHTS, st.lists(st.text(max_size=12)))
def test_it_weighs_as_the_features_do(weights: dict[str, int], unknown: list[str]) -> None:
    table = WeightTable.of(weights)
    assert WeightTable.from_bytes(table.to_bytes()) == table
    assert all(table.total([feature]) == weight for feature, weight in weights.items())
    assert all(feature in table for feature in weights)
    assert table.total([*weights, *weights]) == 2 * sum(weights.values())
    left = [each for each in unknown if each not in weights]
    assert table.total(left) == 0
    assert not any(each in table for each in left)
