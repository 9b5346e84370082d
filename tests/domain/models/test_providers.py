"""Every list of providers is made from the one table, or names the same."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from palimpsest.data import load_model_table
from palimpsest.domain.models.providers import PROVIDERS, WITH_KEY, ProviderEntry, one_of_those_with_key
from palimpsest.wire.areas import credentials

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("entry", PROVIDERS, ids=lambda each: each.name)
def test_a_provider_has_a_client_and_models_with_limits(entry: ProviderEntry) -> None:
    for place in filter(None, (entry.client, entry.compatible_client)):
        module, _, name = place.partition(":")
        assert getattr(importlib.import_module(module), name)
    assert load_model_table().find(f"{entry.name}/any") is not None or entry.key_variables


def test_the_protocol_and_the_extension_name_the_providers_that_take_a_key() -> None:
    source = Path(credentials.__file__).read_text("utf-8")
    named = re.findall(r"`(\w+)`", re.search(r'"""The provider: (.*?)\."""', source).group(1))  # type: ignore[union-attr]
    keys = (ROOT / "editors/vscode/src/native/keys.ts").read_text("utf-8")
    listed = re.findall(r'"(\w+)"', re.search(r"const PROVIDERS = \[(.*?)\]", keys).group(1))  # type: ignore[union-attr]
    assert [each.name for each in WITH_KEY] == named == listed
    assert one_of_those_with_key() == "anthropic, openai or gemini"
