"""What code adds to a model's summary: the files, commands and errors of the originals, exact, each with its message.

Models lose most exact names of a long text; these lines are quoted. Lines of a lower hybrid summary are read back as
they are, so merging loses lines but never changes one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.context.cut import Piece, SummaryPiece
from palimpsest.domain.context.summaries.by_model import names_in
from palimpsest.domain.context.summaries.evidence import (
    STORED,
    arguments_of,
    command_in,
    is_trouble,
    outcome_of,
    squeeze,
)
from palimpsest.domain.context.summaries.extractive import KIND as EXTRACTIVE
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.messages import AttachmentPart, Content

FILES: Final = "Files Referenced"
COMMANDS: Final = "Commands Executed"
ERRORS: Final = "Errors Encountered"
CONVERSATION: Final = "Conversation Summary"

LISTS_SHARE: Final = 0.45
"""Of the target: what the three lists may take together; the rest is for the prose."""
_SHARE: Final = LISTS_SHARE / 3
_READ_CHARS: Final = 20_000
"""Of one part: what is searched for names of files."""
_HEADING = re.compile(r"^#{1,2}(?= )", re.M)
_LAST_NAME = re.compile(r"[\w@-]*\.[A-Za-z]\w{0,7}$")


@dataclass(slots=True)
class _Found:
    mentions: Counter[str] = field(default_factory=Counter)
    files: dict[str, int] = field(default_factory=dict)
    """The message that names it last."""
    commands: list[tuple[int, str]] = field(default_factory=list)
    errors: list[tuple[int, str]] = field(default_factory=list)


def hybrid_text(prose: str, pieces: Sequence[Piece], target_tokens: int, count: CountText) -> str:
    """The prose behind the lists of what the pieces hold, each within its share of `target_tokens` (raw).

    Of files the most often named are kept, of commands and errors the newest; what does not fit is left out whole.
    """
    found = _find(pieces)
    ranked = sorted(found.files, key=lambda name: (found.mentions[name], found.files[name]), reverse=True)
    room = int(target_tokens * _SHARE)
    sections = {
        FILES: _fitting(((found.files[name], name) for name in ranked), room, count),
        COMMANDS: _fitting(reversed(found.commands), room, count),
        ERRORS: _fitting(reversed(found.errors), room, count),
    }
    parts = [_section(heading, lines) for heading, lines in sections.items() if lines]
    # Headings in the prose must not pass for ours when the block is read back.
    return "\n\n".join([*parts, f"## {CONVERSATION}\n{_HEADING.sub('###', prose.strip())}"])


def _section(heading: str, lines: Iterable[tuple[int, str]]) -> str:
    return "\n".join([f"## {heading}", *(f"- [{message_id}] {text}" for message_id, text in sorted(lines))])


def _fitting(ranked: Iterable[tuple[int, str]], room: int, count: CountText) -> list[tuple[int, str]]:
    """The first of the ranked lines that fit, each text once."""
    chosen: dict[str, int] = {}
    used = count(f"## {ERRORS}\n\n")
    for message_id, text in ranked:
        size = count(f"- [{message_id}] {text}\n")
        if text not in chosen and used + size <= room:
            chosen[text] = message_id
            used += size
    return [(message_id, text) for text, message_id in chosen.items()]


def _find(pieces: Sequence[Piece]) -> _Found:
    found = _Found()
    command_calls: set[str] = set()
    for piece in pieces:
        if isinstance(piece, SummaryPiece):
            _read_back(piece, found)
        else:
            _read_message(piece.message.id, piece.message.content, command_calls, found)
    return found


def _read_message(message_id: int, content: Content, command_calls: set[str], found: _Found) -> None:
    labels = [part.label for part in content.parts if isinstance(part, AttachmentPart)]
    results = [result.text[:_READ_CHARS] for result in content.results]
    for text in (content.text[:_READ_CHARS], *labels, *results):
        _add_files(names_in(text).paths, message_id, found)
    for call in content.calls:
        arguments = arguments_of(call)
        for key in ("path", "file", "file_path", "filename"):
            if isinstance(path := arguments.get(key), str) and 0 < len(path) <= 200 and path.isprintable():
                found.mentions[path] += 1
                found.files[path] = message_id
        if command := command_in(arguments):
            command_calls.add(call.call_id)
            found.commands.append((message_id, squeeze(command)))
            _add_files(names_in(command[:_READ_CHARS]).paths, message_id, found)
    for result in content.results:
        is_command = result.call_id in command_calls
        said = outcome_of(result.text, is_command=is_command)
        if result.is_error or (is_command and is_trouble(said, is_command=True)):
            found.errors.append((message_id, f"{result.name}: {said}" if said else f"{result.name} failed"))


def _add_files(paths: Iterable[str], message_id: int, found: _Found) -> None:
    for path in paths:
        if _LAST_NAME.search(path) and not path.startswith("//") and len(path) <= 200:
            found.mentions[path] += 1
            found.files[path] = message_id


def _read_back(block: SummaryPiece, found: _Found) -> None:
    """Lines of a lower summary, of whichever kind."""
    heading = ""
    for line in block.summary.text.splitlines():
        stored = STORED.match(line)
        if line.startswith("## "):
            heading = line[3:]
        elif stored is not None and heading == FILES:
            found.mentions[stored[2]] += 1
            found.files[stored[2]] = int(stored[1])
        elif stored is not None and heading == COMMANDS:
            found.commands.append((int(stored[1]), stored[2]))
        elif stored is not None and heading == ERRORS:
            found.errors.append((int(stored[1]), stored[2]))
        else:
            _add_files(names_in(line).paths, int(stored[1]) if stored else block.start, found)


_QUOTABLE: Final = {FILES: "Done", COMMANDS: "Done", ERRORS: "Done"}


def as_quotable(piece: Piece) -> Piece:
    """A block of a model's summary with its lines as the extractive summarizer reads them; other pieces as they are.

    That one knows its own headings only.
    """
    if not isinstance(piece, SummaryPiece) or piece.summary.kind == EXTRACTIVE:
        return piece
    lines: list[str] = []
    heading = "Answered"
    lines.append(f"## {heading}")
    for line in piece.summary.text.splitlines():
        if line.startswith("## "):
            if (wanted := _QUOTABLE.get(line[3:], "Answered")) != heading:
                heading = wanted
                lines.append(f"## {heading}")
        elif STORED.match(line):
            lines.append(line)
        elif line.strip():
            lines.append(f"- [{piece.start}] {squeeze(line)}")
    return replace(piece, summary=replace(piece.summary, text="\n".join(lines)))
