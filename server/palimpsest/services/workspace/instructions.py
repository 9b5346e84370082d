"""The instruction files of a workspace folder, such as `AGENTS.md`.

They become part of the system prompt, so callers read them in trusted folders only. The rules for tools apply: no link
out of the folder, no ignored file, no secret. Only saved text counts.
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
"""The paths, in the order in which they are read. A folder means the rule files in it, by name."""
MAX_BYTES: Final = 32 * 1024
"""The most bytes of one file. The rest is cut off, and a note says so."""
MAX_TOTAL_BYTES: Final = 64 * 1024
"""The most bytes of all files."""

_RULE_ENDINGS: Final = (".md", ".mdc")
_MAX_RULES: Final = 50
"""The most files of one folder of rules."""


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """One file in the system prompt."""

    path: str
    section: str
    """The text with its heading, and a note when it was cut."""
    is_cut: bool

    def tokens(self, count: CountText) -> int:
        """Its raw tokens."""
        return count(self.section)


@dataclass(frozen=True, slots=True)
class Instructions:
    """The current instruction files of a folder."""

    files: tuple[InstructionFile, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences for the user about existing files that were not read."""

    @property
    def text(self) -> str:
        """The text after our own system prompt; empty when there are no files."""
        return "\n\n".join(file.section for file in self.files)

    @property
    def fingerprint(self) -> str:
        """A digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


async def read_instructions(files: WorkspaceFiles) -> Instructions:
    """The instruction files of a trusted folder; none when the folder is gone."""
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
        # A file with two names, by a link or as a copy, is read once.
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
            yield path  # reading it says why
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
        text += f"\n[Cut here: {path} has {size:,} bytes, and only the first {max_bytes:,} are here.]"
    return InstructionFile(path, f"The user's instructions for this folder, from {path}:\n\n{text}", is_cut)
