from __future__ import annotations

from benchmarks.sessions.held_out import SIZES, held_out, value_of, varied

from palimpsest.domain.context.compaction_sizes import compaction_sizes


def test_a_session_that_is_held_out_has_no_part_in_the_choice() -> None:
    """The value that is best for all owes it to session `a` alone: without `a` another is chosen, which is bad for
    `a`."""
    scores = {0.1: {"a": 90.0, "b": 50.0, "c": 50.0}, 0.2: {"a": 30.0, "b": 60.0, "c": 60.0}}
    chosen, on_all, left_out = held_out(scores)
    assert (chosen, round(3 * on_all), round(3 * left_out)) == (0.1, 90 + 50 + 50, 30 + 50 + 50)


def test_a_constant_is_varied_in_the_block_alone() -> None:
    name = f"{SIZES}:_MERGED_SHARE"
    before, size = value_of(name), compaction_sizes(10_000, 0, 0.97).merged
    with varied(name, before + 0.1):
        assert compaction_sizes(10_000, 0, 0.97).merged == size + 1_000
    assert (value_of(name), compaction_sizes(10_000, 0, 0.97).merged) == (before, size)
    with varied("target_ratio", 0.2) as setup:
        assert setup.context == {"target_ratio": 0.2}
