"""Every list of providers and formats is made from the two tables, or names the same."""

from __future__ import annotations

import pytest
from tests.clients import test_odd_answers as odd_answers

from palimpsest.app.model_clients import client_class
from palimpsest.data import load_model_table
from palimpsest.domain.models.limits import LimitsSource
from palimpsest.domain.models.providers import BY_NAME, CHAT, FORMATS, PRESETS, PROVIDERS, ProviderEntry
from palimpsest_clients.fake.server import NAMES


@pytest.mark.parametrize("entry", PROVIDERS, ids=lambda each: each.name)
def test_an_entry_says_what_is_needed_to_ask_its_provider(entry: ProviderEntry) -> None:
    assert {entry.format, entry.compatible_format or CHAT} <= FORMATS.keys()
    assert entry.address.startswith(("https://", "http://localhost"))
    assert entry.title
    model = load_model_table().find(f"{entry.name}/any")
    assert model is not None, f"{entry.name} is missing in the providers of data/models.json"
    assert (model.provider, model.source) == (entry.name, LimitsSource.DEFAULT_FALLBACK)


def test_no_two_providers_share_a_name_or_a_variable() -> None:
    both = (*PROVIDERS, *PRESETS)
    names = [name for each in both for name in (each.name, *each.key_variables, each.address_variable)]
    assert len(set(names)) == len(names)
    assert len(BY_NAME) == len(both)


@pytest.mark.parametrize("wire", FORMATS)
def test_a_format_has_a_client_a_fake_and_the_cases_of_every_test_of_formats(wire: str) -> None:
    assert client_class(wire).__module__ == FORMATS[wire].partition(":")[0]
    places = {
        "a dialect in fake/server.py": NAMES,
        "ANSWERS in tests/clients/test_odd_answers.py": odd_answers.ANSWERS,
        "REQUESTS in tests/clients/test_odd_answers.py": odd_answers.REQUESTS,
    }
    assert [place for place, names in places.items() if wire not in names] == []
