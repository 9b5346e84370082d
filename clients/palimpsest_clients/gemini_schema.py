"""The part of JSON Schema that Gemini reads in the declaration of a tool (`parametersJsonSchema`). No I/O.

From the reference of the API and the types of google-genai 3.4.0, 2026-11. The other keywords only narrow what a valid
call is. A declaration without them allows more calls, and the tool checks its arguments anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_PLAIN: Final = frozenset(
    {
        *("$id", "$anchor", "type", "format", "title", "description", "required", "propertyOrdering"),
        *("minItems", "maxItems", "minimum", "maximum"),
    }
)
"""Keywords that stay as they are."""
_SCHEMA: Final = frozenset({"items", "additionalProperties"})
_SCHEMAS: Final = frozenset({"prefixItems", "anyOf", "oneOf"})
_NAMED_SCHEMAS: Final = frozenset({"properties", "$defs"})
_FORM: Final = frozenset({"type", "properties", "items", "prefixItems", "anyOf", "oneOf", "enum", "const"})
"""Keywords of a schema that is more than another name for a schema."""


def supported_schema(schema: Any) -> Any:
    """`schema` in the words that Gemini reads."""
    if not isinstance(schema, Mapping):
        return schema if isinstance(schema, bool) else {}
    unfolded, kept = _unfolded(schema), dict[str, Any]()
    if "$ref" in unfolded:
        # Only definitions may be beside it.
        kept["$ref"] = str(unfolded["$ref"]).replace("#/definitions/", "#/$defs/")
        unfolded = {"$defs": unfolded.get("$defs")}
    for keyword, value in unfolded.items():
        if keyword in _PLAIN:
            kept[keyword] = value
        elif keyword in _SCHEMA:
            kept[keyword] = supported_schema(value)
        elif keyword in _SCHEMAS and isinstance(value, list):
            kept[keyword] = [supported_schema(each) for each in value]
        elif keyword in _NAMED_SCHEMAS and isinstance(value, Mapping):
            kept[keyword] = {name: supported_schema(each) for name, each in value.items()}
        elif keyword == "enum" and isinstance(value, list):
            kept |= _enum(value)
    return kept


def _unfolded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with `allOf`, `const` and `definitions` expressed by keywords that Gemini reads."""
    unfolded = {keyword: value for keyword, value in schema.items() if keyword != "allOf"}
    parts = schema.get("allOf")
    parts = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    is_other_name = len(parts) == 1 and not _FORM & unfolded.keys()
    for part in parts:
        for keyword, value in _unfolded(part).items():
            before = unfolded.get(keyword)
            if keyword == "$ref" and not is_other_name:
                continue
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                unfolded[keyword] = {**value, **before}
            elif keyword == "required" and isinstance(before, list) and isinstance(value, list):
                unfolded[keyword] = [*before, *(name for name in value if name not in before)]
            else:
                unfolded.setdefault(keyword, value)
    if "const" in unfolded:
        unfolded["enum"] = [unfolded["const"]]
    if "definitions" in unfolded:
        unfolded.setdefault("$defs", unfolded["definitions"])
    return unfolded


def _enum(values: list[Any]) -> dict[str, Any]:
    """The enumeration, which may contain strings and numbers only; empty when none is left."""
    listed = [value for value in values if isinstance(value, str | int | float) and not isinstance(value, bool)]
    return {"enum": listed} if listed else {}
