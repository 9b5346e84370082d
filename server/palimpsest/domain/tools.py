"""The declaration of a tool to a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain import foreign_json

MAX_DECLARED_CHARACTERS: Final = 16 * 1024
"""The most characters of one tool's description and parameters together, when somebody else declares it."""
_MAX_DEPTH: Final = 20
_PROPERTY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""Names of arguments that every provider accepts."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as it is declared to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments object."""

    def to_json(self) -> dict[str, Any]:
        """The declaration as a JSON object; its keys are the fields."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}


def declaration_problem(description: str, parameters: Mapping[str, Any]) -> str | None:
    """Why no request can hold a tool that somebody else declares, without a period; None when one can."""
    if parameters.get("type") != "object":
        return 'its parameters must be a JSON Schema whose type is "object"'
    if not foreign_json.is_writable([description, parameters], _MAX_DEPTH):
        return (
            "its declaration has something that no request can hold: half a character, a number too large, or more "
            f"than {_MAX_DEPTH} objects inside each other"
        )
    if (problem := _schema_problem(parameters)) is not None:
        return f"its parameters are no JSON Schema: {problem}"
    if len(description) + len(json.dumps(parameters, ensure_ascii=False)) > MAX_DECLARED_CHARACTERS:
        return f"its declaration is longer than {MAX_DECLARED_CHARACTERS} characters"
    return None


def _schema_problem(schema: Mapping[str, Any]) -> str | None:
    """The error in a schema for which a service would refuse every request; None when there is none."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping):
        return "`properties` is not an object"
    for name, declared in properties.items():
        if not _PROPERTY.fullmatch(name):
            return "a property's name has 1 to 64 letters, digits, `_`, `.` and `-`, and nothing else"
        if not isinstance(declared, Mapping | bool):
            return f"the property {name!r} is neither a schema nor true or false"
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "`required` is not a list of names"
    if missing := [name for name in required if name not in properties]:
        return f"it requires {missing[0]!r}, which is not among its properties"
    return None
