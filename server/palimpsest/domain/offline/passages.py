"""Quotes: what may be quoted, and exact pieces of it with the place where people find them.

How they are found: `ranking`, for questions; `files`, for files that a question names.
"""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.messages import MessageId, Role
from palimpsest.domain.offline.layout import is_prose_path


@dataclass(frozen=True, slots=True)
class FileSource:
    path: str
    """Relative to the workspace folder, with `/`."""

    @property
    def is_prose(self) -> bool:
        return is_prose_path(self.path)

    def place(self, first: int, last: int) -> str:
        """Lines count from 1."""
        return f"{self.path}:{first}" if first == last else f"{self.path}:{first}-{last}"


@dataclass(frozen=True, slots=True)
class MessageSource:
    message_id: MessageId
    role: Role

    def place(self, first: int, last: int) -> str:
        """Lines do not matter: a message is short enough to find them."""
        return f"message {self.message_id}"


Source = FileSource | MessageSource


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text that may be quoted."""

    source: Source
    text: str


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A message of the conversation, as far as it may be quoted."""

    message_id: MessageId
    role: Role
    text: str
    model: str | None = None
    """The model that wrote it; None for the user's messages and where it is not known."""


@dataclass(frozen=True, slots=True)
class Passage:
    """An exact piece of a source."""

    source: Source
    line: int
    """Of its first character in the source, from 1."""
    text: str
    """A contiguous piece of the source; may hold line feeds."""
    score: float
    """0 to 1 and a little over; comparable within one answer."""
    n_source_lines: int | None = None
    """How long the whole file is, when this is its beginning and the question asked for the file; else None."""

    @property
    def place(self) -> str:
        """How people find it: `docs/ops.md:12`, `docs/ops.md:12-13`, `message 4`."""
        return self.source.place(self.line, self.line + self.text.count("\n"))
