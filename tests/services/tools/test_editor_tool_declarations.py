"""An editor's tool is in every request of the folder, so a tool that no request can hold is refused."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.tools.from_editor import to_editor_tool


def declared(**parameters: Any) -> Any:
    return to_editor_tool("t", "Does it.", {"type": "object", **parameters}, is_read_only=True).schema.parameters


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"properties": {"a\ud800": {"type": "string"}}}, "half a character"),
        ({"properties": {"a": {"enum": ["\ud800"]}}}, "half a character"),
        ({"properties": {"a": {"maximum": float("inf")}}}, "number"),
        ({"properties": {"a": nested(30)}}, "inside each other"),
        ({"properties": []}, "`properties` is not an object"),
        ({"properties": {"a": 7}}, "neither a schema"),
        ({"properties": {"a b": {}}}, "a property's name"),
        ({"properties": {"a" * 65: {}}}, "a property's name"),
        ({"properties": {"a": {}}, "required": "a"}, "`required` is not a list"),
        ({"properties": {"a": {}}, "required": ["b"]}, "not among its properties"),
    ],
)
def test_parameters_that_would_break_every_request_are_refused(parameters: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        declared(**parameters)


def test_a_description_with_half_a_character_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="half a character"):
        to_editor_tool("t", "\ud800", {}, is_read_only=True)


def test_an_ordinary_schema_is_taken_as_it_is() -> None:
    properties = {"path": {"type": "string"}, "deep": nested(8), "any": True}
    assert declared(properties=properties, required=["path"])["properties"] == properties
