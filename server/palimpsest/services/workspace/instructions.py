"""The instruction files of a workspace folder: what those who wrote it want every assistant to know.

They become part of the system prompt, so they are read in trusted folders only; whoever asks sees to that. They are
read as tools read files: no link that leads out, nothing ignored, no secret. Only what is saved counts.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.services.workspace.files import PlaceKind, WorkspaceFiles
from palimpsest.services.workspace.texts import WorkspaceTexts

INSTRUCTION_FILES: Final = (
    "AGENTS.md",
    "AGENT.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".cursor/rules",
    ".windsurfrules",
    ".clinerules",
    ".rules",
    ".junie/guidelines.md",
    "CONVENTIONS.md",
)
"""In the order they are read. One that is a folder stands for the rule files in it, by name."""
MAX_BYTES: Final = 32 * 1024
"""Of one file; the rest is cut off, and a note says so."""
MAX_TOTAL_BYTES: Final = 64 * 1024
"""Of all of them."""

_RULE_ENDINGS: Final = (".md", ".mdc")
_MAX_RULES: Final = 50
"""Files of one folder of rules."""


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """One file, as it stands in the system prompt."""

    path: str
    section: str
    """With its heading, and the note where it was cut."""
    is_cut: bool

    def tokens(self, count: CountText) -> int:
        """Raw tokens it takes."""
        return count(self.section)


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a folder's instruction files say now."""

    files: tuple[InstructionFile, ...] = ()
    notes: tuple[str, ...] = ()
    """Why a file that is there is not read, in sentences for the user."""

    @property
    def text(self) -> str:
        """What stands behind our own system prompt; empty where there are none."""
        return "\n\n".join(file.section for file in self.files)

    @property
    def fingerprint(self) -> str:
        """The same for the same text, and no other."""
        return hashlib.sha256(self.text.encode()).hexdigest()


async def read_instructions(files: WorkspaceFiles) -> Instructions:
    """The instruction files of a trusted folder. Reads a few small files; a folder that is gone has none."""
    return await asyncio.to_thread(_read_all, files)


def _read_all(files: WorkspaceFiles) -> Instructions:
    texts = WorkspaceTexts(files, {})
    found: list[InstructionFile] = []
    notes: list[str] = []
    seen: set[str] = set()
    room = MAX_TOTAL_BYTES
    for path in _paths(files):
        try:
            place = files.locate(path)
            text = "\n".join(texts.read(path).lines).strip()
        except NotFound:
            continue
        except InvalidRequest as error:
            notes.append(f"The instructions in {path} are not read. {error}")
            continue
        # A file under two names, by a link or as a copy, is one.
        if not text or place.path in seen or text in seen:
            continue
        seen |= {place.path, text}
        if room <= 0:
            notes.append(
                f"The instructions in {path} are not read: all together have over {MAX_TOTAL_BYTES:,} bytes. "
                "Shorten them."
            )
            continue
        file = _section(path, text, min(room, MAX_BYTES))
        room -= len(text.encode())
        found.append(file)
    return Instructions(tuple(found), tuple(notes))


def _paths(files: WorkspaceFiles) -> Iterator[str]:
    for path in INSTRUCTION_FILES:
        try:
            place = files.locate(path)
        except InvalidRequest:
            yield path  # whoever reads it says why not
            continue
        if place.kind is PlaceKind.FOLDER:
            rules = (each.path for each in files.walk(place.parts) if not each.is_folder)
            yield from sorted(each for each in rules if each.endswith(_RULE_ENDINGS))[:_MAX_RULES]
        else:
            yield path


def _section(path: str, text: str, max_bytes: int) -> InstructionFile:
    size = len(text.encode())
    is_cut = size > max_bytes
    if is_cut:
        text = text.encode()[:max_bytes].decode(errors="ignore")
        text += f"\n[Cut here: {path} has {size:,} bytes, and the first {max_bytes:,} stand here.]"
    return InstructionFile(path, f"The user's instructions for this folder, from {path}:\n\n{text}", is_cut)
