"""The programs that compare two commits count each file in its rooms and find the tests that are gone."""

from __future__ import annotations

import pytest
from dev.lines import places_of
from dev.tests_gone import FoundTest, find_tests, gone, likest

FILE = '''
import pytest

def test_one() -> None:
    """It holds."""
    assert 1 + 1 == 2

class TestMore:
    @pytest.mark.slow
    async def test_two(self) -> None:
        assert "two".upper() == "TWO"

def helper() -> None: ...
'''


@pytest.mark.parametrize(
    ("path", "places"),
    [
        (
            "server/palimpsest/services/context/summaries/writer.py",
            ["palimpsest", "palimpsest/services", "palimpsest/services/context"],
        ),
        ("server/palimpsest/services/clock.py", ["palimpsest", "palimpsest/services"]),
        ("clients/palimpsest_clients/http.py", ["palimpsest_clients"]),
    ],
)
def test_a_file_counts_in_its_room_and_in_all_around_it(path: str, places: list[str]) -> None:
    assert places_of(path) == places


def test_the_tests_of_a_file_are_its_functions_and_methods() -> None:
    found = list(find_tests("tests/wire/test_x.py", FILE))
    assert sorted((test.name, test.layer) for test in found) == [("test_one", "wire"), ("test_two", "wire")]
    assert list(find_tests("tests/wire/helpers.py", FILE)) == []


def test_a_test_that_moved_is_there_and_one_of_two_that_share_a_name_can_go() -> None:
    one, two = find_tests("tests/unit/test_x.py", FILE)
    assert gone([one, two], parsed("tests/domain/test_y.py")) == []
    twin = FoundTest("tests/unit/test_z.py", one.name, "assert 3 == 3")
    assert gone([twin, one, two], [one, two]) == [twin]


def test_the_likest_test_is_the_one_with_the_same_statements() -> None:
    one, two = parsed("tests/unit/test_x.py")
    renamed = FoundTest("tests/domain/test_y.py", "test_a_sum", one.text)
    assert likest(one, [two, renamed]) == (renamed, 1.0)
    assert likest(one, []) == (None, 0.0)


def parsed(path: str) -> list[FoundTest]:
    return list(find_tests(path, FILE))
