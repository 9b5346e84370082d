"""No place of this machine leaves it, however it is written, and everything else stays."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from palimpsest.domain.sharing.cleaning import Cleaner

CLEANER = Cleaner("/home/ann/heron", "/home/ann")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in /home/ann/heron.", "in .."),
        ("of /home/annette and /home/ann-b", "of /home/annette and /home/ann-b"),
        ("/home/ann/x", "~/x"),
        (r'{"path":"\/home\/ann\/heron\/a.py"}', r'{"path":".\/a.py"}'),
    ],
)
def test_only_whole_places_are_taken_out(text: str, expected: str) -> None:
    assert CLEANER.text(text) == expected


def test_places_are_taken_out_as_windows_writes_them() -> None:
    cleaner = Cleaner("C:/Users/ann/heron", "C:/Users/ann")
    arguments = json.dumps({"path": "C:\\Users\\ann\\heron\\a.py"})
    assert "ann" not in cleaner.text(arguments) + cleaner.text("C:\\Users\\ann\\b C:/Users/ann/c")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home//ann/x", "~/x"),
        ("/home/./ann//heron/x", "./x"),
        ("file:///home/ann/x", "file://~/x"),
        (quote("file:///home/ann/x", safe=""), "file%3A%2F%2F~%2Fx"),
        ("\\u002fhome\\u002fann/x", "~/x"),
        ("/Home/Ann/x", "~/x"),
        (json.dumps(json.dumps("/home/ann/x").replace("/", "\\/")), json.dumps(json.dumps("~/x").replace("/", "\\/"))),
        ("/home/\x1b[1;31mann\x1b[m/x", "~/x"),
    ],
)
def test_a_place_that_is_written_otherwise(text: str, expected: str) -> None:
    assert CLEANER.holds_place(text)
    assert CLEANER.text(text) == expected.replace("~/x", "~\x1b[m/x" if "\x1b" in text else "~/x")


@pytest.mark.parametrize(
    "text",
    ["c:\\users\\ann\\x", "C:/Users\\ann/x", "/c/Users/ann/x", "/mnt/c/Users/ann/x", "file:///c%3A/Users/ann/x"],
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_place_of_windows_that_is_written_otherwise(text: str, depth: int) -> None:
    for _ in range(depth):
        text = json.dumps(text)
    assert "ann" not in Cleaner("C:/Users/ann/heron", "C:/Users/ann").text(text).lower()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["/home", "/", "/.", "/home/", "\\", "%2F", "/home/."])
def test_slashes_without_end_are_read_in_linear_time(piece: str) -> None:
    text = "/home" + piece * (250_000 // len(piece))
    assert CLEANER.text(text + "/home/ann") != text
