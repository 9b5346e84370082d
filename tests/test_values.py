"""A value is read as its declared type or refused with its place; the wire's tests hold the rest of the rules."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NewType

import pytest

from palimpsest.values import (
    BOOLEAN,
    INTEGER,
    MAX_PROBLEMS,
    NOTHING,
    NUMBER,
    STRING,
    Mismatch,
    Types,
    checked,
)

Name = NewType("Name", str)


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Node:
    name: Name
    size: tuple[int, float]
    color: Color = Color.RED
    children: tuple[Node, ...] = ()
    weights: dict[str, float] | None = None
    note: str | None = None


TYPES = Types({str: STRING, int: INTEGER, float: NUMBER, bool: BOOLEAN})


def refused(value: Any, hint: Any = Node) -> list[str]:
    with pytest.raises(Mismatch) as caught:
        TYPES.of(hint).read(value)
    return caught.value.sentences("node")


def test_a_class_may_hold_itself_and_what_is_absent_has_its_default() -> None:
    leaf = {"name": "b", "size": [1, 2], "color": "red"}
    found = TYPES.of(Node).read({"name": "a", "size": [1, 0.5], "children": [leaf], "weights": {"x": 1}})
    assert found == Node(Name("a"), (1, 0.5), Color.RED, (Node(Name("b"), (1, 2.0)),), {"x": 1.0})
    assert isinstance(found.children[0].size[1], float)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 5}, "node.name: expected a string, got an integer"),
        ({"note": None}, "node.note: expected a string, got null"),
        ({"size": [1]}, "node.size: expected an array of 2, got another array"),
        ({"size": [1, "x"]}, "node.size[1]: expected a finite number, got a string"),
        ({"size": (1, 2)}, "node.size: expected an array, got tuple"),
        ({"children": [{"name": "b", "size": [1, 2]}, {"size": [1, 2]}]}, "node.children[1].name: is missing"),
        ({"weights": {"secret": True}}, "node.weights.*: expected a finite number, got a boolean"),
        ({"more": 1}, "node.more: expected nothing, got a value"),
        ({"color": "secret"}, 'node.color: expected "red", got another string'),
    ],
)
def test_a_problem_names_its_place_and_no_value(change: dict[str, Any], sentence: str) -> None:
    assert refused({"name": "a", "size": [1, 2]} | change) == [sentence]


def test_missing_and_unknown_fields_come_first_and_problems_are_bounded() -> None:
    with pytest.raises(Mismatch) as caught:
        TYPES.of(Node).read({"size": 1, "more": 2})
    assert [(each.path, NOTHING in (each.expected, each.got)) for each in caught.value.problems] == [
        (("more",), True),
        (("name",), True),
        (("size",), False),
    ]
    assert len(refused([1] * 1000, list[str])) == MAX_PROBLEMS


def test_a_check_says_what_it_expects() -> None:
    positive = checked(INTEGER, lambda number: number > 0, "a positive integer", "another integer")
    assert positive.read(1) == 1
    with pytest.raises(Mismatch, match="value: expected a positive integer, got another integer"):
        positive.read(0)


def test_a_type_without_a_form_in_json_is_refused_when_its_reader_is_asked_for() -> None:
    for hint in (bytes, set[int], list[bytes]):
        with pytest.raises(TypeError, match="no form in JSON"):
            TYPES.of(hint)


def test_the_reader_of_values_loads_nothing_of_ours() -> None:
    code = "import sys, palimpsest.values; print([n for n in sys.modules if n.startswith('palimpsest')])"
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == "['palimpsest', 'palimpsest.values']", ran.stderr
