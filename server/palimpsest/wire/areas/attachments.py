"""Attachments of a message."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


class AttachmentType(enum.StrEnum):
    """The kind of an attachment. It decides which fields count."""

    FILE = "file"
    """A whole file: `path`."""
    RANGE = "range"
    """Lines of a file: `path`, `startLine`, `endLine`."""
    SELECTION = "selection"
    """The selection in the editor: `text`, and the place it comes from."""
    DIAGNOSTICS = "diagnostics"
    """Problems that the editor shows: `diagnostics`."""
    IMAGE = "image"
    """A picture that was pasted or dropped: `name`, `data`. A picture in the workspace folder is a `file`."""
    OPEN_EDITORS = "openEditors"
    """The files that are open in the editor: `paths`, and with `contents` their texts too."""


@attrs.frozen(eq=False, repr=False)
class AttachedDiagnostic(Wire):
    """A problem that the editor shows."""

    path: str
    """The file: a path below the workspace folder with `/`, or a `file:` URI."""
    line: int
    """Its line, counted from 1."""
    severity: str
    """Its severity, such as `error`, `warning`, `information` or `hint`."""
    message: str
    """Its message."""
    source: str | None = None
    """The program that reports it, such as a linter."""
    code: str | None = None
    """Its code in that program."""


@attrs.frozen(eq=False, repr=False)
class Attachment(Wire):
    """An attachment of a message.

    The server takes a snapshot when the message is sent. The unsaved text of an editor counts. Secrets and files
    outside the workspace folder are refused. A picture is kept as a PNG or JPEG of at most 2,000 pixels on the longer
    edge, without what its file says beside it; of one that moves, the first frame.
    """

    type: AttachmentType
    """The kind of the attachment."""
    path: str | None = None
    """The file: a path below the workspace folder with `/`, an absolute path, or a `file:` URI."""
    start_line: int | None = None
    """The first line, counted from 1."""
    end_line: int | None = None
    """The last line, counted from 1."""
    text: str | None = None
    """The selected text."""
    diagnostics: list[AttachedDiagnostic] | None = None
    """The problems."""
    paths: list[str] | None = None
    """The open files; each in a form that `path` allows."""
    contents: bool | None = None
    """Whether to attach the texts of the open files. Absent: only their names."""
    name: str | None = None
    """The name of the picture for people, such as `screenshot.png`."""
    data: str | None = None
    """The bytes of a PNG, JPEG, WebP or GIF picture in base64; at most 20 MiB of bytes."""


@attrs.frozen(eq=False, repr=False)
class EstimateAttachmentsParams(Wire):
    """Attachments to look at before they are sent."""

    attachments: list[Attachment]
    """The attachments."""
    conversation_id: str | None = None
    """The conversation whose model counts the tokens. Absent: the default model of the folder counts them."""
    folder_uri: str | None = None
    """URI of the workspace folder, used when there is no `conversationId`. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class AttachmentEstimate(Wire):
    """The estimate for one attachment."""

    label: str
    """The name of the attachment in the message, such as `src/app.py:10-40`."""
    tokens: int
    """The tokens it would take; 0 when it cannot be attached."""
    problem: str | None = None
    """A sentence that says why it cannot be attached. A `chat` with it would be refused."""
    left_out: list[str] | None = None
    """For open editors: a sentence for each file that is not attached. The other files are."""


@attrs.frozen(eq=False, repr=False)
class EstimateAttachmentsResult(Wire):
    """The estimates."""

    attachments: list[AttachmentEstimate]
    """In the order of the request."""
    tokens: int
    """The tokens of all attachments together."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/attachments/estimate",
        EstimateAttachmentsParams,
        EstimateAttachmentsResult,
        "Tell how many tokens attachments would take, and which cannot be attached. Sends nothing to a model.",
    ),
)
