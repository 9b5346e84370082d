"""Writes server/palimpsest/data/prices.json, what services charge for their models, and THIRD-PARTY.txt beside it, the
license of where it comes from. `make prices` runs it, in an environment of its own that has the package genai-prices,
which collects the services' public price lists."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any, Final

PROVIDERS: Final = {
    "anthropic": "anthropic",
    "openai": "openai",
    "gemini": "google",
    "openrouter": "openrouter",
    "groq": "groq",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "xai": "x-ai",
    "together": "together",
    "fireworks": "fireworks",
    "cerebras": "cerebras",
    "azure": "azure",
}
"""Our name of a provider, and the one in the package."""
_FIELDS: Final = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}
_FOLDER: Final = Path(__file__).parents[1] / "server" / "palimpsest" / "data"


def main() -> None:
    known = {each.id: each for each in import_module("genai_prices.data_snapshot").get_snapshot().providers}
    today = datetime.now(UTC)
    table: dict[str, Any] = {
        "about": "US dollars for a million tokens, from the services' public price lists as collected by "
        f"genai-prices {version('genai-prices')} (MIT). A pair in a list is the number of prompt tokens above which "
        "a price holds, and the price. Written by `make prices`.",
        "as_of": today.date().isoformat(),
        "models": {},
    }
    for ours, theirs in PROVIDERS.items():
        models: dict[str, dict[str, Any]] = {}
        for model in known[theirs].models:
            price = _price(model.get_prices(today))
            if price:
                models |= dict.fromkeys(_names(model), price)
        table["models"][ours] = dict(sorted(models.items()))
    lines = json.dumps(table, indent=1, ensure_ascii=True)
    (_FOLDER / "prices.json").write_text(_with_a_line_a_model(lines) + "\n", "utf-8")
    (_FOLDER / "THIRD-PARTY.txt").write_text(license_text(), "utf-8")
    sys.stdout.write(f"{sum(map(len, table['models'].values()))} names of models\n")


def license_text() -> str:
    """Of the package that the prices come from."""
    package = distribution("genai-prices")
    [file] = [each for each in package.files or () if each.name == "LICENSE"]
    return f"prices.json is made from the package genai-prices {package.version}:\n\n{file.read_text()}"


def _price(prices: Any) -> dict[str, Any]:
    """Empty for a model that is not paid by tokens of text."""
    found = {ours: _amount(value) for ours, theirs in _FIELDS.items() if (value := getattr(prices, theirs)) is not None}
    return found if {"input", "output"} <= found.keys() else {}


def _amount(value: Any) -> Any:
    if hasattr(value, "tiers"):
        return [[0, float(value.base)], *([tier.start, float(tier.price)] for tier in value.tiers)]
    return float(value)


def _names(model: Any) -> Iterator[str]:
    """The name of the model, and the others that its service takes for it."""
    yield model.id
    for clause in getattr(model.match, "or_", [model.match]):
        for kind in ("equals", "starts_with"):
            if (name := getattr(clause, kind, None)) is not None:
                yield name


def _with_a_line_a_model(text: str) -> str:
    decoded = json.loads(text)
    providers = ",\n".join(
        f'  "{name}": {{\n'
        + ",\n".join(f"    {json.dumps(model)}: {json.dumps(price)}" for model, price in models.items())
        + "\n  }"
        for name, models in decoded["models"].items()
    )
    about, as_of = json.dumps(decoded["about"]), json.dumps(decoded["as_of"])
    return f'{{\n  "about": {about},\n  "as_of": {as_of},\n  "models": {{\n{providers}\n  }}\n}}'


if __name__ == "__main__":
    main()
