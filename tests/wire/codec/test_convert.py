"""Wire values: what is written can be read back, reading takes nothing that was not declared, and says where."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
from cattrs import Converter
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.lsp.runtime.methods import Methods
from palimpsest.values import MAX_PROBLEMS, MAX_SAFE_INTEGER, Mismatch
from palimpsest.wire.codec.convert import from_json, teach, to_json
from palimpsest.wire.declare import Wire, camel, wire_fields

SERVER = Path(__file__).resolve().parents[3] / "server"


class Colour(StrEnum):
    """A colour."""

    RED = "red"
    DARK_BLUE = "dark-blue"


@attrs.frozen
class Text(Wire):
    type: Literal["text"]
    text: str


@attrs.frozen
class Call(Wire):
    type: Literal["call"]
    call_id: str
    from_: int | None = None


@attrs.frozen
class Everything(Wire):
    name: str
    count: int
    ratio: float
    is_stale: bool
    colour: Colour
    mode: Literal["a", "b"]
    parts: list[Text | Call]
    ids: tuple[int, ...]
    sizes: dict[str, int]
    nullable: str | None
    plain: Any
    free: dict[str, Any]
    token: int | str | None = None
    deeper: Text | None = None
    loose: list[Any] | None = None


EVERYTHING = Everything(
    name="",
    count=0,
    ratio=0.5,
    is_stale=False,
    colour=Colour.DARK_BLUE,
    mode="a",
    parts=[Text("text", ""), Call("call", "c", from_=3)],
    ids=(0, 1),
    sizes={"a b": 0},
    nullable=None,
    plain=[None, {"jsonrpc": "2.0"}],
    free={},
)
WIRE: Mapping[str, Any] = {
    "name": "",
    "count": 0,
    "ratio": 0.5,
    "isStale": False,
    "colour": "dark-blue",
    "mode": "a",
    "parts": [{"type": "text", "text": ""}, {"type": "call", "callId": "c", "from": 3}],
    "ids": [0, 1],
    "sizes": {"a b": 0},
    "nullable": None,
    "plain": [None, {"jsonrpc": "2.0"}],
    "free": {},
}


def problems(value: Any, hint: Any) -> list[str]:
    with pytest.raises(Mismatch) as caught:
        from_json(value, hint)
    return caught.value.sentences("params")


def test_falsy_values_stay_and_only_an_optional_none_is_left_out() -> None:
    assert to_json(EVERYTHING) == WIRE
    assert json.loads(json.dumps(to_json(EVERYTHING))) == WIRE


def test_what_is_written_can_be_read_back() -> None:
    assert from_json(dict(WIRE), Everything) == EVERYTHING


def test_null_for_an_optional_field_is_the_same_as_leaving_it_out() -> None:
    assert from_json({**WIRE, "token": None, "deeper": None, "loose": None}, Everything) == EVERYTHING


def test_unknown_fields_are_let_through() -> None:
    assert from_json({**WIRE, "fieldOfTomorrow": {"a": 1}}, Everything) == EVERYTHING


def test_an_empty_array_is_an_empty_object() -> None:
    @attrs.frozen
    class Nothing(Wire):
        pass

    assert from_json([], Nothing) == Nothing()
    assert from_json([], dict[str, int]) == {}
    assert from_json([], dict[str, int] | None) == {}
    assert from_json([], list[int] | dict[str, int]) == []
    assert problems([0], Nothing) == ["params: expected an object, got an array"]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("name", None, ".name: expected a string, got null"),
        ("name", 5, ".name: expected a string, got an integer"),
        ("name", ["x"], ".name: expected a string, got an array"),
        ("count", True, ".count: expected an integer, got a boolean"),
        ("count", 1.0, ".count: expected an integer, got a number"),
        ("count", "1", ".count: expected an integer, got a string"),
        ("count", MAX_SAFE_INTEGER + 1, ".count: expected an integer between -(2^53 - 1) and 2^53 - 1"),
        ("ratio", "0.5", ".ratio: expected a finite number, got a string"),
        ("ratio", True, ".ratio: expected a finite number, got a boolean"),
        ("ratio", float("inf"), ".ratio: expected a finite number, got a number"),
        ("ratio", 10**400, ".ratio: expected a finite number, got an integer"),
        ("isStale", "false", ".isStale: expected a boolean, got a string"),
        ("isStale", 0, ".isStale: expected a boolean, got an integer"),
        ("colour", "green", '.colour: expected one of "red", "dark-blue", got another string'),
        ("colour", None, '.colour: expected one of "red", "dark-blue", got null'),
        ("mode", "c", '.mode: expected one of "a", "b", got another string'),
        ("mode", 1, '.mode: expected one of "a", "b", got an integer'),
        ("parts", {"type": "text"}, ".parts: expected an array, got an object"),
        ("parts", [{"type": "text", "text": "x"}, {"type": "call"}], ".parts[1].callId: is missing"),
        ("parts", [{"type": "text", "text": 5}], ".parts[0].text: expected a string, got an integer"),
        ("parts", [{"type": "image"}], ".parts[0]: expected an object or an object, got an object"),
        ("parts", [3], ".parts[0]: expected an object or an object, got an integer"),
        ("ids", [0, None], ".ids[1]: expected an integer, got null"),
        ("sizes", {"secret": "x"}, ".sizes.*: expected an integer, got a string"),
        ("free", [1], ".free: expected an object, got an array"),
        ("token", 1.5, ".token: expected an integer or a string, got a number"),
        ("token", False, ".token: expected an integer or a string, got a boolean"),
        ("deeper", {"type": "txt", "text": "x"}, '.deeper.type: expected "text", got another string'),
        ("deeper", "x", ".deeper: expected an object, got a string"),
    ],
)
def test_a_wrong_value_is_named_with_its_place_and_type(field: str, value: Any, says: str) -> None:
    assert problems({**WIRE, field: value}, Everything) == [f"params{says}"]


def test_a_nullable_field_without_a_default_is_required() -> None:
    assert problems({k: v for k, v in WIRE.items() if k != "nullable"}, Everything) == ["params.nullable: is missing"]


def test_every_place_is_named_and_not_only_the_first() -> None:
    assert problems({"type": 1}, Call) == [
        "params.callId: is missing",
        'params.type: expected "call", got an integer',
    ]
    assert len(problems(["x"] * 1000, list[int])) == MAX_PROBLEMS


def test_an_error_never_holds_a_value() -> None:
    found = problems({**WIRE, "name": {"my secret": 1}, "mode": "my secret", "sizes": {"my secret": "s"}}, Everything)
    assert len(found) == 3
    assert "secret" not in " ".join(found)


def test_a_whole_number_may_stand_for_a_fraction() -> None:
    assert from_json(2, float) == 2.0
    assert from_json(2, int | float) == 2


def test_what_has_no_form_on_the_wire_is_refused_on_both_ways() -> None:
    with pytest.raises(TypeError, match="bytes cannot be sent"):
        to_json({"a": b"x"})
    with pytest.raises(TypeError, match="set cannot be sent"):
        to_json(Text("text", {1}))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="key"):
        to_json({1: "a"})
    with pytest.raises(TypeError, match="no form"):
        from_json("x", bytes)


def test_only_none_may_be_a_default() -> None:
    @attrs.frozen
    class Wrong(Wire):
        limit: int = 5

    @attrs.frozen
    class NotNullable(Wire):
        limit: int = None  # type: ignore[assignment]

    for cls in (Wrong, NotNullable):
        with pytest.raises(TypeError, match=f"{cls.__name__}.limit"):
            wire_fields(cls)


@pytest.mark.parametrize(
    ("name", "key"), [("a", "a"), ("max_tokens", "maxTokens"), ("from_", "from"), ("is_in_prefix", "isInPrefix")]
)
def test_names_are_camel_case_on_the_wire(name: str, key: str) -> None:
    assert camel(name) == key


def test_a_converter_that_was_taught_reads_and_writes_wire_classes_strictly() -> None:
    @attrs.define
    class Envelope:
        value: Any
        typed: Text

    converter = Converter()
    teach(converter)
    text = Text("text", "x")
    assert converter.structure({"value": 1, "typed": {"type": "text", "text": "x"}}, Envelope) == Envelope(1, text)
    assert converter.unstructure(Envelope(Call("call", "c"), text)) == {
        "value": {"type": "call", "callId": "c"},
        "typed": {"type": "text", "text": "x"},
    }
    with pytest.raises(Mismatch, match="expected a string"):
        converter.structure({"type": "text", "text": 5}, Text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*WIRE, "x"]), inner, max_size=6),
    max_leaves=20,
)


@given(_JSON)
def test_any_json_is_read_or_refused_and_nothing_else(value: Any) -> None:
    for hint in (Everything, Text | Call, list[Text], dict[str, Colour], int | str | None):
        try:
            found = from_json(value, hint)
        except Mismatch:
            continue
        assert from_json(to_json(found), hint) == found


def test_the_wire_package_needs_neither_pygls_nor_lsprotocol() -> None:
    code = (
        "import sys; from palimpsest.wire import declare, messages;"
        "from palimpsest.wire.codec import convert, framing, jsonrpc;"
        "sys.exit(any(n.split('.')[0] in ('pygls', 'lsprotocol', 'cattrs', 'asyncio') for n in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(SERVER)}, timeout=60).returncode == 0


HALF = "a\ud800b"
GOOD = {
    **{"name": "n", "count": 1, "ratio": 1.0, "isStale": False, "colour": "red", "mode": "a"},
    **{"parts": [{"type": "call", "callId": "c"}], "ids": [], "sizes": {}, "nullable": None, "plain": 1, "free": {}},
}


@pytest.mark.parametrize(
    "change",
    [
        {"name": HALF},
        {"nullable": HALF},
        {"token": HALF},
        {"sizes": {HALF: 1}},
        {"plain": [{"a": HALF}]},
        {"free": {HALF: 1}},
        {"free": {"a": [HALF]}},
        {"parts": [{"type": "call", "callId": HALF}]},
    ],
)
def test_half_a_character_is_refused_in_ids_names_and_paths(change: dict[str, Any]) -> None:
    assert from_json(GOOD, Everything).name == "n"
    with pytest.raises(Mismatch, match="whole characters") as raised:
        from_json(GOOD | change, Everything)
    assert HALF not in str(raised.value)


def test_what_somebody_wrote_is_let_in_with_half_a_character() -> None:
    assert from_json({"type": "text", "text": HALF}, Text).text == HALF


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**30, json.loads("[" * 100 + "]" * 100)])
def test_a_value_of_no_declared_shape_is_one_that_every_peer_can_hold(value: Any) -> None:
    for change in ({"plain": value}, {"free": {"a": value}}):
        with pytest.raises(Mismatch):
            from_json(GOOD | change, Everything)


def test_standard_messages_are_cleaned_and_positions_stay() -> None:
    text = "a\ud83d\ude00\ud800b"  # as an editor escapes it: a pair, and a half
    item = {"uri": "file:///a", "languageId": "x", "version": 1, "text": text}
    method = Methods(tuple).find("textDocument/didOpen")
    assert method is not None
    read = Methods(tuple).read_params(method, {"textDocument": item})
    assert read.text_document.text == "a\U0001f600\ufffdb"
