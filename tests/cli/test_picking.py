"""What a list shows of a conversation names it: its number, its id or title, or how these begin."""

from __future__ import annotations

import pytest

from palimpsest.picking import picked

CHOICES = [
    ("4f3a9c21d0", "Pumps and valves"),
    ("4f3ab00012", "Pumps"),
    ("0000000012", "2 things to mend"),
    ("beef000001", ""),
]


@pytest.mark.parametrize(
    ("written", "places"),
    [
        ("1", [0]),
        ("4", [3]),
        ("4f3a9c21d0", [0]),
        ("4F3A9c", [0]),
        ("4f3a", [0, 1]),
        ("4f3", []),
        ("pumps", [1]),
        ("Pumps  and", [0]),
        ("pump", [0, 1]),
        ("2", [1]),
        ("2 things", [2]),
        ("0000000012", [2]),
        ("00000000", [2]),
        ("5", []),
        ("0", []),
        ("valves", []),
        (" ", []),
        ("²", []),
    ],
)
def test_a_conversation_is_named_by_what_a_list_shows(written: str, places: list[int]) -> None:
    assert picked(written, CHOICES) == places
