"""Conversations as files."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.conversations import ConversationInfo
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class ExportParams(Wire):
    """A conversation to export: as JSON lines with all of its content."""

    conversation_id: str
    """The conversation."""
    path: str | None = None
    """The file to write: an absolute path or a `file:` URI. Absent: the result contains the text, up to 16 MiB."""
    overwrite: bool | None = None
    """Whether to replace a file that exists. Absent: no."""


@attrs.frozen(eq=False, repr=False)
class ExportResult(Wire):
    """The exported conversation. It contains every message, so the user should take care who can read it."""

    message_count: int
    """How many messages it has."""
    size_bytes: int
    """Its size in bytes of UTF-8."""
    path: str | None = None
    """The file that was written. Only its owner may read it."""
    jsonl: str | None = None
    """The text, when there was no `path`."""


@attrs.frozen(eq=False, repr=False)
class ImportParams(Wire):
    """A conversation to import: an export, or a recorded session of another agent.

    Exactly one of `path` and `jsonl` is present.
    """

    path: str | None = None
    """The file: an absolute path or a `file:` URI. A file whose name ends in `.xz` is decompressed."""
    jsonl: str | None = None
    """The text of an export. Recorded sessions can only be imported from files."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


class ImportOutcome(enum.StrEnum):
    """The kind of an import."""

    IMPORTED = "imported"
    """The conversation is the same as the exported one, with its id and its digests."""
    PRESENT = "present"
    """The folder has the same conversation already. Nothing was stored."""
    COPIED = "copied"
    """The conversation has a new id, because the folder has another version of it, or because it is a fork whose
    original is missing."""
    RECORDED = "recorded"
    """The conversation was made from a recorded session."""


@attrs.frozen(eq=False, repr=False)
class ImportResult(Wire):
    """The imported conversation."""

    conversation: ConversationInfo
    """The conversation as it is now."""
    outcome: ImportOutcome
    """The kind of the import."""
    note: str
    """A sentence for the user that says the same."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/conversation/export", ExportParams, ExportResult, "Export a conversation as JSON lines."),
    Request(
        "palimpsest/conversation/import",
        ImportParams,
        ImportResult,
        "Import a conversation. A file with an error is refused as a whole, and the error names the line.",
    ),
)
