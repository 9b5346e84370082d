"""A statement rests on the lines that it is about, and on the whole file only when it names nothing with one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.facts.fact import Span
from palimpsest.domain.facts.staleness.file_lines import split_lines
from palimpsest.domain.facts.staleness.statement_place import said_place

AUTH = """\
TIMEOUT = 30


def login(user):
    token = make(user, TIMEOUT)
    return check(user, token)


class Store:
    def save(self, item):
        self.items.append(item)
        return len(self.items)


def other(thing):
    retries = 5
    return send(thing, retries)
"""
CONFIG = "[server]\nport = 9464\nhost = 'localhost'\n\n[retry]\ncount = 5\n"
GUIDE = (
    "# Guide\n\nWelcome.\n\n## Setup\n\nRun the installer.\nThen wait.\n\n## Use\n\nThe pump starts at 18 percent.\n"
)


@pytest.mark.parametrize(
    ("path", "text", "said", "place"),
    [
        ("auth.py", AUTH, "The login timeout in src/auth.py is 30 seconds (TIMEOUT).", (Span(1, 1), "TIMEOUT")),
        ("auth.py", AUTH, "`Store.save` in auth.py returns the number of items.", (Span(10, 12), "Store.save")),
        ("auth.py", AUTH, "auth.py handles the login of users.", (Span(4, 6), "login")),
        ("auth.py", AUTH, "auth.py ends with `return send(thing, retries)`.", (Span(17, 17), "")),
        ("auth.py", AUTH, "In auth.py 5 retries are made.", (Span(16, 16), "retries")),
        ("config.toml", CONFIG, "The server of config.toml listens on port 9464.", (Span(2, 2), "")),
        ("GUIDE.md", GUIDE, "`GUIDE.md`: added `## Setup`.", (Span(5, 8), "Setup")),
        ("GUIDE.md", GUIDE, "GUIDE.md says that the pump starts at 18 percent.", (Span(12, 12), "")),
    ],
)
def test_the_place_is_the_one_that_is_spoken_of(path: str, text: str, said: str, place: tuple[Span, str]) -> None:
    found = said_place(path, text, said)
    assert found is not None
    span, symbol = found
    assert symbol.rpartition(".")[2] == place[1].rpartition(".")[2]
    assert (span.start, span.end) == (place[0].start, place[0].end)


@pytest.mark.parametrize(
    "said",
    [
        "auth.py is the module of the users.",
        "src/auth.py was written by hand.",
        "The file auth.py must never be changed.",
        "`auth.py`: created.",
        "",
    ],
)
def test_what_speaks_of_the_whole_file_has_no_place_in_it(said: str) -> None:
    assert said_place("auth.py", AUTH, said) is None


def test_a_name_that_stands_everywhere_tells_no_place() -> None:
    text = "".join(f"use({number}, LIMIT)\n" for number in range(20))
    assert said_place("a.txt", text, "LIMIT is used in a.txt.") is None


@given(st.text(), st.text())
def test_a_place_lies_in_the_file(text: str, said: str) -> None:
    for path in ("a.py", "a.md", "a.toml", "a"):
        found = said_place(path, text, said)
        assert found is None or 1 <= found[0].start <= found[0].end <= len(split_lines(text))
