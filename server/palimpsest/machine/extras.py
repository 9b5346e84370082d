"""Extras of the package: who needs one that is not installed, and how it is installed here."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Final


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


_MADE_BY_PIPX: Final = "pipx_metadata.json"


def how_to_install(extra: str) -> str:
    """The command that installs an extra for the interpreter that runs this, whichever `pip` the user's shell finds."""
    if Path(sys.prefix, _MADE_BY_PIPX).exists():  # the environment may have no pip, and the user no uv
        return f"pipx inject palimpsest-ls 'palimpsest-ls[{extra}]'"
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None:  # uv makes environments without it
        return f"uv pip install --python {python} 'palimpsest-ls[{extra}]'"
    return f"{python} -m pip install 'palimpsest-ls[{extra}]'"


def missing(extra: Extra) -> str:
    """The sentence for a user who needs an extra that is not installed."""
    made_by_vscode = Path(sys.prefix, MADE_BY_VSCODE).exists()
    how = BY_VSCODE if made_by_vscode else f"`{how_to_install(extra)}`. It counts from the next start"
    return f"{_NEEDS[extra]}: {how}."


def missing_in(sentence: str) -> Extra | None:
    """The extra that a sentence for the user says is not installed."""
    return next((extra for extra, need in _NEEDS.items() if need in sentence), None)
