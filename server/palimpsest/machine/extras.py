"""Extras of the package: who needs one that is not installed, and how it is installed here."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Final

from palimpsest.wording import how_to_install


class Extra(StrEnum):
    """An extra of the package that something of the user's may need. The names are part of the protocol."""

    HUB = "hub"
    MCP = "mcp"
    WEB = "web"


_NEEDS: Final = {
    Extra.HUB: "Nothing is shared, because the setting `hub.url` needs a part that is not installed",
    Extra.MCP: "MCP servers need a part that is not installed",
    Extra.WEB: "To read web pages, and not only texts, Markdown and JSON, a part is needed that is not installed",
}
BY_VSCODE: Final = (
    "the command *Palimpsest: Install Support for MCP Servers, Web Pages and Sharing* of VS Code installs it"
)
MADE_BY_VSCODE: Final = "made-by-vscode"
"""The file that the extension for VS Code puts into the environment that it makes."""


def missing(extra: Extra) -> str:
    """The sentence for a user who needs an extra that is not installed."""
    made_by_vscode = Path(sys.prefix, MADE_BY_VSCODE).exists()
    how = BY_VSCODE if made_by_vscode else f"`{how_to_install(extra)}`. It counts from the next start"
    return f"{_NEEDS[extra]}: {how}."


def missing_in(sentence: str) -> Extra | None:
    """The extra that a sentence for the user says is not installed."""
    return next((extra for extra, need in _NEEDS.items() if need in sentence), None)
