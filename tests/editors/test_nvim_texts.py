"""Every text that a user of the Neovim plugin reads stands in `texts.lua`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

PLUGIN: Final = Path(__file__).parents[2] / "editors/nvim"
TEXTS: Final = PLUGIN / "lua/palimpsest/texts.lua"
SOURCES: Final = sorted({*PLUGIN.rglob("*.lua")} - {TEXTS, PLUGIN / "lua/palimpsest/protocol.lua"})
_LITERAL: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_WORDS: Final = re.compile(r"[A-Za-z]{2,} [a-z]{2,}")
_COMMANDS: Final = re.compile(r'(?:vim\.cmd|nvim_create_user_command|error)\(\s*"|:Palimpsest |^\s*desc = |has\("nvim')
"""Lines whose texts are for Neovim, or are said where nothing of the plugin may be loaded."""


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(PLUGIN)))
def test_no_file_but_that_of_the_texts_holds_a_sentence(source: Path) -> None:
    code = [line.split("--", 1)[0] for line in source.read_text(encoding="utf-8").splitlines()]
    if source.parent.name == "plugin":
        code = [line for line in code if "Palimpsest needs Neovim" not in line]
    found = [
        literal
        for line in code
        if not _COMMANDS.search(line)
        for literal in _LITERAL.findall(line)
        if _WORDS.search(literal)
    ]
    assert found == []


def test_every_text_is_used() -> None:
    used = " ".join(each.read_text(encoding="utf-8") for each in SOURCES)
    names = re.findall(r"^\s*(?:M\.)?(\w+) = [{\"]", TEXTS.read_text(encoding="utf-8"), re.MULTILINE)
    by_key = {"cancelled", "errored", "interrupted", "run_command", "propose_edit", "list_files", "search_files"}
    by_key |= {"read_file", "recall", "tool_output", "assistant", "keep", "discard", "retry", "always", "never"}
    by_key |= {"current", "behind", "apart", "detached", "continue", "asBefore"}
    assert [name for name in names if not re.search(rf"\b{name}\b", used) and name not in by_key] == []
