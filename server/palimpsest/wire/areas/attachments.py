"""What a user attaches to a message."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


class AttachmentType(enum.StrEnum):
    """What is attached. It says which fields count."""

    FILE = "file"
    """A whole file: `path`."""
    RANGE = "range"
    """Lines of a file: `path`, `startLine`, `endLine`."""
    SELECTION = "selection"
    """What is selected in the editor: `text`, and where it stands."""
    DIAGNOSTICS = "diagnostics"
    """Problems that the editor shows: `diagnostics`."""
    OPEN_EDITORS = "openEditors"
    """What is open in the editor: `paths`, and with `contents` their texts too."""


@attrs.frozen(eq=False, repr=False)
class AttachedDiagnostic(Wire):
    """A problem as the editor shows it."""

    path: str
    """The file: below the workspace folder with `/`, or a `file:` URI."""
    line: int
    """Its line, counted from 1."""
    severity: str
    """How bad it is, such as `error`, `warning`, `information` or `hint`."""
    message: str
    """What it says."""
    source: str | None = None
    """Who says so, such as a linter."""
    code: str | None = None
    """Its code there."""


@attrs.frozen(eq=False, repr=False)
class Attachment(Wire):
    """Something attached to a message. The server takes a snapshot when the message is sent: what an editor holds
    unsaved counts, secrets and what lies outside the workspace folder are refused."""

    type: AttachmentType
    """What it is."""
    path: str | None = None
    """The file: below the workspace folder with `/`, absolute, or a `file:` URI."""
    start_line: int | None = None
    """The first line, counted from 1."""
    end_line: int | None = None
    """The last line."""
    text: str | None = None
    """The selected text."""
    diagnostics: list[AttachedDiagnostic] | None = None
    """The problems."""
    paths: list[str] | None = None
    """The files that are open, each as `path`."""
    contents: bool | None = None
    """Whether the texts of open files are attached, too. Absent: their names only."""


@attrs.frozen(eq=False, repr=False)
class EstimateAttachmentsParams(Wire):
    """Look at attachments before they are sent."""

    attachments: list[Attachment]
    """In their order."""
    conversation_id: str | None = None
    """The conversation, by whose model is counted. Absent: the default model of the folder."""
    folder_uri: str | None = None
    """URI of the workspace folder, where no conversation is given. Absent: the only or first one."""


@attrs.frozen(eq=False, repr=False)
class AttachmentEstimate(Wire):
    """What an attachment would be."""

    label: str
    """How the message would name it, such as `src/app.py:10-40`."""
    tokens: int
    """What it would take; 0 where it cannot be attached."""
    problem: str | None = None
    """Why it cannot be attached, as a sentence: a `chat` with it is refused."""
    left_out: list[str] | None = None
    """Of open editors: what is not attached and why, a sentence each. The rest is."""


@attrs.frozen(eq=False, repr=False)
class EstimateAttachmentsResult(Wire):
    """What the attachments would be."""

    attachments: list[AttachmentEstimate]
    """In the order asked for."""
    tokens: int
    """What they would take together."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/attachments/estimate",
        EstimateAttachmentsParams,
        EstimateAttachmentsResult,
        "How much attachments would take, and which cannot be attached. Sends nothing.",
    ),
)
