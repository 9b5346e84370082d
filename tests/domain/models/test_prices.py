"""A price is found for the very model, or a snapshot of it, and holds above its number of tokens."""

from __future__ import annotations

import pytest

from palimpsest.data import load_price_table
from palimpsest.domain.models.prices import PriceTable, price
from palimpsest.domain.models.provider import TokenUsage

TABLE = PriceTable(
    {
        "as_of": "2026-11-27",
        "models": {
            "box": {
                "large-5": {"input": 5, "output": 25, "cache_read": 0.5, "cache_write": 6.25},
                "long": {"input": [[0, 1], [200_000, 2]], "output": [[0, 10], [200_000, 15]]},
            }
        },
    }
)


@pytest.mark.parametrize(
    "name", ["large-5", "large-5-20260801", "large-5@20260801", "large-5-2026-08-01", "large-5-latest"]
)
def test_a_snapshot_costs_what_its_model_costs(name: str) -> None:
    found = TABLE.find("box", name)
    assert found is not None
    usage = TokenUsage(1_000_000, 1_000_000, 1_000_000, 1_000_000)
    assert found.of(usage) == round((5 + 0.5 + 6.25 + 25) * 1e9)


@pytest.mark.parametrize(("provider", "name"), [("box", "large-5-5"), ("box", "large"), ("elsewhere", "large-5")])
def test_another_model_has_no_price(provider: str, name: str) -> None:
    assert TABLE.find(provider, name) is None


@pytest.mark.parametrize(("prompt", "dollars"), [(200_000, 0.2 + 1), (200_001, 0.400002 + 1.5)])
def test_a_long_prompt_costs_more_as_a_whole(prompt: int, dollars: float) -> None:
    found = TABLE.find("box", "long")
    assert found is not None
    assert found.of(TokenUsage(prompt, output_tokens=100_000)) == pytest.approx(dollars * 1e9)


def test_what_has_no_price_of_its_own_costs_as_much_as_input() -> None:
    assert price(3, 15).of(TokenUsage(0, 10, 10, 0)) == 60_000


def test_the_built_in_table_knows_the_default_models() -> None:
    known = load_price_table()
    for provider, name in (("anthropic", "claude-haiku-4-5"), ("openai", "gpt-5-nano"), ("gemini", "gemini-3.6-flash")):
        assert known.find(provider, name) is not None, name
