"""Edits of files that the user accepted in a turn, and taking them back."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Request, Wire


class FileChangeKind(enum.StrEnum):
    """What an edit did to its file."""

    CREATED = "created"
    """It made the file."""
    CHANGED = "changed"
    """It changed the file."""


class FileChangeState(enum.StrEnum):
    """What has become of an edit, as its file shows it now."""

    APPLIED = "applied"
    """It stands, or the file was changed there again."""
    TAKEN_BACK = "takenBack"
    """It was taken back, or undone in the editor."""
    UNKNOWN = "unknown"
    """An editor or a server ended in the middle, and the file does not tell whether it was applied."""


@attrs.frozen(eq=False, repr=False)
class FileChange(Wire):
    """An edit of one file that the user accepted."""

    id: str
    """Its id."""
    turn_id: str
    """The turn."""
    path: str
    """The path below the workspace folder, with `/`."""
    uri: str
    """The URI of the file."""
    kind: FileChangeKind
    """What it did."""
    added: int
    """How many lines it added; a changed line is removed and added."""
    removed: int
    """How many lines it removed."""
    state: FileChangeState
    """What has become of it."""
    can_take_back: bool
    """Whether it stands and can be taken back now, by itself."""
    at: str
    """When it was applied."""
    reason: str | None = None
    """A sentence that says why it cannot be taken back."""


@attrs.frozen(eq=False, repr=False)
class FileChangesParams(Wire):
    """Whose edits to list."""

    conversation_id: str
    """The conversation."""
    turn_id: str | None = None
    """A turn of it. Absent: all turns, hidden ones as well."""


@attrs.frozen(eq=False, repr=False)
class FileChangesResult(Wire):
    """The edits that are kept: those of 30 days, and no more than 128 MiB of texts in a folder."""

    changes: list[FileChange]
    """Oldest first."""


@attrs.frozen(eq=False, repr=False)
class FileChangeTextsParams(Wire):
    """Edits of one file whose texts to read."""

    conversation_id: str
    """The conversation."""
    changes: list[str]
    """The ids of edits of one file."""


@attrs.frozen(eq=False, repr=False)
class FileChangeTexts(Wire):
    """One file at three moments. An absent text: there was, or is, no such file."""

    path: str
    """The path below the workspace folder, with `/`."""
    after: str
    """The text after the last of the edits."""
    before: str | None = None
    """The text before the first of the edits."""
    now: str | None = None
    """The text as the user sees it now, saved or not."""


@attrs.frozen(eq=False, repr=False)
class UndoChangesParams(Wire):
    """Edits to take back. Without `changes` and `paths`: all of the turn, or of the conversation."""

    conversation_id: str
    """The conversation."""
    turn_id: str | None = None
    """Only edits of this turn."""
    changes: list[str] | None = None
    """Only the edits with these ids."""
    paths: list[str] | None = None
    """Only edits of these files, by their paths below the workspace folder."""


class UndoOutcome(enum.StrEnum):
    """What became of the edits of one file."""

    TAKEN_BACK = "takenBack"
    """They are taken back in the editor, which has not saved the file."""
    AS_BEFORE = "asBefore"
    """There was nothing to take back."""
    REFUSED = "refused"
    """Nothing of the file was changed."""
    UNKNOWN = "unknown"
    """The editor went away before it answered."""


@attrs.frozen(eq=False, repr=False)
class UndoneFile(Wire):
    """What became of the edits of one file: all of them, or none."""

    path: str
    """The path below the workspace folder, with `/`."""
    changes: list[str]
    """The ids of the edits, oldest first."""
    outcome: UndoOutcome
    """What became of them."""
    reason: str | None = None
    """For `refused` and `unknown`: a sentence that says why."""


@attrs.frozen(eq=False, repr=False)
class UndoChangesResult(Wire):
    """What became of each file."""

    files: list[UndoneFile]
    """In the order of their first edits; may be empty."""


MESSAGES: tuple[Request, ...] = (
    Request(
        "palimpsest/turn/changes",
        FileChangesParams,
        FileChangesResult,
        "List the edits of files that the user accepted in a turn, or in a conversation.",
    ),
    Request(
        "palimpsest/turn/changeTexts",
        FileChangeTextsParams,
        FileChangeTexts,
        "Read a file as it was before and after edits of it, and as it is now, to compare them.",
    ),
    Request(
        "palimpsest/turn/undoChanges",
        UndoChangesParams,
        UndoChangesResult,
        "Take accepted edits back by `workspace/applyEdit`, newest first, so that the editor's undo brings them again. "
        "What was typed since elsewhere in a file stays; a file that was changed where an edit changed it is refused.",
    ),
)
