"""Every declared setting is read by the program: one that nobody reads promises what does not happen."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Final

import palimpsest
from palimpsest.domain.settings.settings import SETTINGS, ContextSettings, HubSettings, LibrarianSettings, WebSettings
from palimpsest.domain.settings.settings import Settings as AllSettings

SOURCES: Final = Path(palimpsest.__file__).parent
RECEIVERS: Final = {
    AllSettings: {"settings"},
    ContextSettings: {"settings", "context"},
    LibrarianSettings: {"librarian"},
    HubSettings: {"settings", "hub"},
    WebSettings: {"settings"},
}
"""The names behind which the program has the values; entries for a model or a provider are read by their keys."""
READS_ENTRIES: Final = ("domain/models", "services/models", "app")


@functools.cache
def read_in(source: str) -> frozenset[tuple[str, str]]:
    """The attributes that the source reads, each with the last name before it, and the texts it holds, behind ""."""
    found = set[tuple[str, str]]()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(ast.Attribute(attr=name) | ast.Name(id=name), attribute, ast.Load()):
                found.add((name.lstrip("_"), attribute))
            case ast.Constant(str(text)):
                found.add(("", text))
    return frozenset(found)


def unread(sources: dict[str, str]) -> list[str]:
    """The keys of the settings that none of the sources reads. `sources`: by their paths below the package."""
    attributes, of_entries = set[tuple[str, str]](), set[tuple[str, str]]()
    for path, text in sources.items():
        if not path.startswith("domain/settings/"):
            attributes |= read_in(text)
        if path.startswith(READS_ENTRIES):
            of_entries |= read_in(text)
    return [
        setting.key
        for setting in SETTINGS
        if not (
            any((receiver, setting.attribute) in attributes for receiver in RECEIVERS[setting.owner])
            if setting.owner in RECEIVERS
            else {("", setting.attribute), ("entry", setting.attribute)} & of_entries
        )
    ]


def test_every_setting_is_read() -> None:
    sources = {path.relative_to(SOURCES).as_posix(): path.read_text("utf-8") for path in SOURCES.rglob("*.py")}
    assert unread(sources) == []
    without = {
        path: text.replace("settings.tool_age", "0").replace('"buffer"', '"other"') for path, text in sources.items()
    }
    assert unread(without) == ["context.tool_age", "models.NAME.buffer", "providers.NAME.buffer"]
