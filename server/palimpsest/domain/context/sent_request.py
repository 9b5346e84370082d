"""What the store keeps of a request that was sent: not its words, but the places of its words in the store.

Messages, summaries, previews and injections never change while they are stored, so the request can be made again of
them, byte for byte, whatever became of the conversation since.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from palimpsest.domain.context.cut import MessagePiece, Piece, SummaryPiece
from palimpsest.domain.context.prepared import ToolChoice
from palimpsest.domain.context.request_layout import Frame, Front
from palimpsest.domain.messages import Digest, MessageId, SummaryId, canonical_json


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """A summary of the request."""

    id: SummaryId


@dataclass(frozen=True, slots=True)
class MessagesEntry:
    """The messages [start, end), each as it was said."""

    start: MessageId
    end: MessageId


@dataclass(frozen=True, slots=True)
class ChangedEntry:
    """A message that was sent otherwise than it was said."""

    id: MessageId
    is_preview: bool
    """Whether the preview of the request's cut was sent instead of the message."""
    injections: tuple[int, ...]
    """The injections behind its text, in their order."""
    note: int | None
    """The injection that followed it as a message of its own."""


Entry = SummaryEntry | MessagesEntry | ChangedEntry


@dataclass(frozen=True, slots=True)
class Outline:
    """The messages of a request by their places in the store, in the order of the request."""

    has_front: bool
    """Whether the front of the request's cut came first."""
    entries: tuple[Entry, ...]
    behind: tuple[MessageId, ...] = ()
    """The partial answers behind each of which the model was asked to go on."""

    @classmethod
    def of(cls, front: Front, pieces: Sequence[Piece], behind: Collection[MessageId]) -> Outline:
        entries: list[Entry] = []
        for piece in pieces:
            if isinstance(piece, SummaryPiece):
                entries.append(SummaryEntry(piece.summary.id))
            elif piece.preview is not None or piece.injection or piece.note:
                changed = ChangedEntry(piece.start, piece.preview is not None, piece.injection_ids, piece.note_id)
                entries.append(changed)
            elif entries and isinstance(last := entries[-1], MessagesEntry) and last.end == piece.start:
                entries[-1] = MessagesEntry(last.start, piece.end)
            else:
                entries.append(MessagesEntry(piece.start, piece.end))
        live = (piece.start for piece in pieces if isinstance(piece, MessagePiece))
        return cls(bool(front.text), tuple(entries), tuple(each for each in live if each in behind))

    @property
    def message_ids(self) -> set[MessageId]:
        """The messages that it names, also those of which a preview was sent."""
        found: set[MessageId] = set()
        for entry in self.entries:
            if isinstance(entry, MessagesEntry):
                found.update(map(MessageId, range(entry.start, entry.end)))
            elif isinstance(entry, ChangedEntry):
                found.add(entry.id)
        return found

    @property
    def summary_ids(self) -> set[SummaryId]:
        return {entry.id for entry in self.entries if isinstance(entry, SummaryEntry)}

    @property
    def injection_ids(self) -> set[int]:
        """The injections and notes."""
        changed = [entry for entry in self.entries if isinstance(entry, ChangedEntry)]
        notes = {entry.note for entry in changed if entry.note is not None}
        return notes.union(*(entry.injections for entry in changed))

    def to_text(self) -> str:
        """The outline as JSON; `from_text` is the inverse."""
        entries: list[dict[str, Any]] = []
        for entry in self.entries:
            match entry:
                case SummaryEntry():
                    entries.append({"summary": entry.id})
                case MessagesEntry():
                    entries.append({"start": entry.start, "end": entry.end})
                case ChangedEntry():
                    value = {"message": entry.id, "preview": entry.is_preview, "injections": list(entry.injections)}
                    entries.append(value | ({} if entry.note is None else {"note": entry.note}))
        return canonical_json({"front": self.has_front, "entries": entries, "behind": list(self.behind)})

    @classmethod
    def from_text(cls, text: str) -> Outline:
        value = json.loads(text)
        return cls(value["front"], tuple(map(_entry, value["entries"])), tuple(map(MessageId, value["behind"])))


def _entry(value: dict[str, Any]) -> Entry:
    if "summary" in value:
        return SummaryEntry(SummaryId(value["summary"]))
    if "start" in value:
        return MessagesEntry(MessageId(value["start"]), MessageId(value["end"]))
    return ChangedEntry(MessageId(value["message"]), value["preview"], tuple(value["injections"]), value.get("note"))


@dataclass(frozen=True, slots=True)
class SentRequest:
    """The request of a step."""

    frame: Frame = field(repr=False)
    cut_version: int
    """The cut whose front and previews it holds."""
    outline: Outline
    n_known_pieces: int
    """The number of leading pieces that the request before held in the same places."""
    is_redacted: bool
    """Whether secrets of known forms were taken out of it."""
    tool_choice: ToolChoice
    upper_tokens: int
    limit_tokens: int
    max_output_tokens: int
    window_tokens: int
    digest: Digest
    """The digest of what the model's client was handed (`PreparedContext.digest`)."""
