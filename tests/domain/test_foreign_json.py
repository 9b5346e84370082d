"""Whatever JSON comes in, what is let in can be stored, sent and written as JSON again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from palimpsest.domain import foreign_json
from palimpsest.domain.messages import canonical_json

NUMBERS = st.sampled_from(["1e400", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 30, "-" + "9" * 5000, "1.5", "7"])
TEXTS = st.text(st.characters(codec=None), max_size=6).map(json.dumps)
ATOMS = NUMBERS | TEXTS | st.sampled_from(["null", "true", "{}", "[]", '"\\u0000"', '"\\udc00"'])
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda each: f"[{','.join(each)}]")
        | st.lists(st.tuples(TEXTS, inner), max_size=4).map(
            lambda each: "{" + ",".join(f"{name}:{value}" for name, value in each) + "}"
        )
    ),
    max_leaves=12,
)


@seed(1)
@given(VALUES)
def test_what_is_read_can_be_written_and_encoded(text: str) -> None:
    value = foreign_json.read(text)
    assert foreign_json.is_writable(value)
    assert json.loads(canonical_json(value).encode()) == value


@seed(2)
@given(VALUES)
def test_arguments_are_an_object_that_can_be_written_or_none(text: str) -> None:
    value = foreign_json.object_in(text)
    if value is not None:
        assert foreign_json.is_writable(value)
        assert canonical_json(value).encode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1e400}', "a number"),
        ('{"a": NaN}', "not valid JSON"),
        ('{"a": ' + "9" * 30 + "}", "a number"),
        ('{"a": ' + "9" * 5000 + "}", "a number"),
        ("[" * 100_000, "not valid JSON"),
        ('{"a":' * 200 + "1" + "}" * 200, "too deeply"),
        ("[]", "not a JSON object"),
        ("{", "not valid JSON"),
        (" " + "x" * foreign_json.MAX_ARGUMENTS, "more than 1,048,576 characters"),
    ],
)
def test_arguments_that_cannot_be_taken_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        foreign_json.read_object(text)


def test_what_others_hold_is_left_as_it_is() -> None:
    text = '{"a": [1, 2.5, "é\\ud83d\\ude00", null, true], "b": {}}'
    assert foreign_json.read(text) == foreign_json.read_object(text) == json.loads(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 150 + "]" * 150, "{", "nul"])
def test_what_is_no_json_or_too_deep_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        foreign_json.read(text)
