"""The declaration of a tool to a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
