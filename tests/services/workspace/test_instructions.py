"""A folder's instruction files are in one order, bounded, each counted, and nothing from outside the folder among
them; the fingerprint tells whether they changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from palimpsest.domain.context.tokens import count_bytes
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.instructions import (
    INSTRUCTION_FILES,
    MAX_BYTES,
    MAX_TOTAL_BYTES,
    Instructions,
    read_instructions,
)


def write(root: Path, path: str, text: str | bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(text.encode() if isinstance(text, str) else text)


async def read(root: Path) -> Instructions:
    return await read_instructions(WorkspaceFiles(root))


async def test_a_folder_without_instruction_files_has_none(tmp_path: Path) -> None:
    write(tmp_path, "README.md", "Read me.")
    write(tmp_path, "docs/AGENTS.md", "Not at the root.")
    write(tmp_path, "CLAUDE.md", " \n")
    assert await read(tmp_path) == Instructions()
    assert (await read(tmp_path)).text == ""
    assert await read(tmp_path / "gone") == Instructions()


async def test_each_file_is_a_section_in_a_fixed_order(tmp_path: Path) -> None:
    for number, path in enumerate(reversed(INSTRUCTION_FILES)):
        if path != ".cursor/rules":
            write(tmp_path, path, f"rule {number}\r\n\r\n")
    for name in ("b.mdc", "a.md", "notes.txt", "deep/c.md"):
        write(tmp_path, f".cursor/rules/{name}", f"cursor {name}")
    found = await read(tmp_path)
    rules = [".cursor/rules/a.md", ".cursor/rules/b.mdc", ".cursor/rules/deep/c.md"]
    expected = [each for path in INSTRUCTION_FILES for each in (rules if path == ".cursor/rules" else [path])]
    assert [file.path for file in found.files] == expected
    assert found.text.startswith(
        f"The user's instructions for this folder, from AGENTS.md:\n\nrule {len(INSTRUCTION_FILES) - 1}\n\n"
        "The user's instructions for this folder, from AGENT.md:\n\n"
    )
    assert sum(file.tokens(count_bytes) for file in found.files) >= count_bytes(found.text) - len(expected)
    assert not found.notes


async def test_the_fingerprint_changes_with_the_text_and_only_then(tmp_path: Path) -> None:
    prints = [(await read(tmp_path)).fingerprint]
    write(tmp_path, "AGENTS.md", "Use spaces.")
    prints.append((await read(tmp_path)).fingerprint)
    write(tmp_path, "CLAUDE.md", "Use spaces.")  # the same text under another name
    assert (await read(tmp_path)).fingerprint == prints[-1]
    os.utime(tmp_path / "AGENTS.md", (1, 1))
    assert (await read(tmp_path)).fingerprint == prints[-1]
    write(tmp_path, "AGENTS.md", "Use a tab.")
    prints.append((await read(tmp_path)).fingerprint)
    (tmp_path / "AGENTS.md").unlink()
    prints.append((await read(tmp_path)).fingerprint)
    assert len(set(prints)) == 4


async def test_a_file_under_two_names_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "docs/rules.md", "Use spaces.")
    os.symlink("docs/rules.md", tmp_path / "AGENTS.md")
    os.symlink("AGENTS.md", tmp_path / "CLAUDE.md")
    found = await read(tmp_path)
    assert [file.path for file in found.files] == ["AGENTS.md"]
    assert "Use spaces." in found.text


@pytest.mark.parametrize("kind", ["link out", "hard link", "binary", "key", "ignored"])
async def test_what_may_not_be_read_is_left_out_and_said(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    write(root, "GEMINI.md", "Be brief.")
    write(tmp_path, "outside.md", "OUTSIDE")
    match kind:
        case "link out":
            os.symlink("../outside.md", root / "AGENTS.md")
        case "hard link":
            os.link(tmp_path / "outside.md", root / "AGENTS.md")
        case "binary":
            write(root, "AGENTS.md", b"\0OUTSIDE")
        case "key":
            write(root, "AGENTS.md", "-----BEGIN PRIVATE KEY-----\nOUTSIDE")
        case _:
            write(root, "AGENTS.md", "OUTSIDE")
            write(root, ".gitignore", "AGENTS.md\n")
    found = await read(root)
    assert [file.path for file in found.files] == ["GEMINI.md"]
    assert "OUTSIDE" not in found.text + repr(found.notes)
    assert len(found.notes) == 1
    assert found.notes[0].startswith("The instructions in AGENTS.md are not read. ")


async def test_a_long_file_is_cut_with_a_note(tmp_path: Path) -> None:
    write(tmp_path, "AGENTS.md", "é" * MAX_BYTES)
    [file] = (await read(tmp_path)).files
    assert file.is_cut
    assert f"AGENTS.md has {2 * MAX_BYTES:,} bytes" in file.section
    assert MAX_BYTES <= len(file.section.encode()) <= MAX_BYTES + 300


async def test_all_files_together_are_bounded(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        write(tmp_path, f".cursor/rules/{name}.md", name * (MAX_BYTES - 10))
    write(tmp_path, "CONVENTIONS.md", "Use spaces.")
    found = await read(tmp_path)
    assert [(file.path[-4], file.is_cut) for file in found.files] == [("a", False), ("b", False), ("c", True)]
    assert len(found.text.encode()) <= MAX_TOTAL_BYTES + 1_000
    assert len(found.notes) == 2
