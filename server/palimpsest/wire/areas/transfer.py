"""Conversations as files."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.conversations import ConversationInfo
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class ExportParams(Wire):
    """Export a conversation: JSON lines that hold all of it."""

    conversation_id: str
    """The conversation."""
    path: str | None = None
    """The file to write: an absolute path or a `file:` URI. Absent: the text comes with the result, up to 16 MiB."""
    overwrite: bool | None = None
    """Whether a file that exists is replaced. Absent: it is not."""


@attrs.frozen(eq=False, repr=False)
class ExportResult(Wire):
    """The exported conversation. Whoever can read it can read everything that was said."""

    message_count: int
    """How many messages it holds."""
    size_bytes: int
    """Its length in UTF-8."""
    path: str | None = None
    """The file that was written; only its owner may read it."""
    jsonl: str | None = None
    """The text, when no file was asked for."""


@attrs.frozen(eq=False, repr=False)
class ImportParams(Wire):
    """Import a conversation: what `conversation/export` gave, or a recorded session of another agent. Exactly one of
    `path` and `jsonl` is there."""

    path: str | None = None
    """The file: an absolute path or a `file:` URI. A name that ends in `.xz` is a compressed one."""
    jsonl: str | None = None
    """The text of an export. Recorded sessions are imported from files only."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first one."""


class ImportOutcome(enum.StrEnum):
    """What became of an import."""

    IMPORTED = "imported"
    """The conversation is as it was exported, with its id and its digests."""
    PRESENT = "present"
    """The same conversation was there already; nothing was stored."""
    COPIED = "copied"
    """Its id is taken by another state of it, or it is a fork of what is not here: it came under another id."""
    RECORDED = "recorded"
    """It was made of a recorded session."""


@attrs.frozen(eq=False, repr=False)
class ImportResult(Wire):
    """The imported conversation."""

    conversation: ConversationInfo
    """As it stands now."""
    outcome: ImportOutcome
    """What was done."""
    note: str
    """The same as a sentence for the user."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/conversation/export", ExportParams, ExportResult, "Export a conversation as JSON lines."),
    Request(
        "palimpsest/conversation/import",
        ImportParams,
        ImportResult,
        "Import a conversation. What is not sound is refused whole, with the line that is wrong.",
    ),
)
