"""The texts of one workspace folder as the user sees them: unsaved text in an editor wins over the disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.deny_list import holds_private_key
from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.workspace.encoding import decode, split_lines
from palimpsest.services.workspace.files import Found, Place, PlaceKind, WorkspaceFiles
from palimpsest.services.workspace.globs import Glob
from palimpsest.services.workspace.pictures import format_of

MAX_SEARCHED_BYTES: Final = 2 * 1024 * 1024
"""The largest file that is searched, in bytes."""

_KEY_PROBE_BYTES: Final = 8 * 1024
_UNSAVED: Final = "This is the text in the editor; it is not saved."
_ONLY_IN_EDITOR: Final = "This is the text in the editor; the file was never saved."


@dataclass(frozen=True, slots=True)
class WorkspaceText:
    path: str
    """The path relative to the workspace folder, with `/`."""
    lines: list[str]
    """The lines, without their ends."""
    remarks: tuple[str, ...]
    """Sentences about the origin of the text; empty when it is UTF-8 from the disk."""


@dataclass(frozen=True, slots=True)
class WorkspacePicture:
    """A file that begins as a picture does."""

    path: str
    data: bytes


class WorkspaceTexts:
    """The folder with the open documents of one moment: `unsaved` has their texts, by path below the folder.

    An open document that tools may not read (`WorkspaceFiles.locate`) is not read here either.
    """

    def __init__(self, files: WorkspaceFiles, unsaved: Mapping[str, str]) -> None:
        self.files = files
        self._unsaved = unsaved
        self.n_skipped = 0
        """The number of files that `searchable` left out: binary, too large, or not readable."""

    def read(self, path: str) -> WorkspaceText:
        """The text at a path that a model wrote. Raises InvalidRequest or NotFound, with the reason."""
        found = self.look(path)
        if isinstance(found, WorkspacePicture):
            raise InvalidRequest(f"{found.path!r} is a picture of {len(found.data)} bytes. Only texts are read.")
        return found

    def look(self, path: str) -> WorkspaceText | WorkspacePicture:
        """As `read`, and the bytes of a picture, by what they are and not by their name."""
        place = self.files.locate(path)
        held = self._unsaved.get(place.path)
        if held is not None and _begins_a_key(held):
            raise _is_key(place)
        if place.kind is PlaceKind.MISSING and held is not None:
            return WorkspaceText(place.path, split_lines(held), (_ONLY_IN_EDITOR,))
        data = self.files.read(place)  # also for an open document: this decides whether it may be read
        if _begins_a_key(data):
            raise _is_key(place)
        if held is None and format_of(data) is not None:
            return WorkspacePicture(place.path, data)
        stored = decode(data)
        lines = None if stored is None else split_lines(stored.text)
        if held is not None and (shown := split_lines(held)) != lines:
            return WorkspaceText(place.path, shown, (_UNSAVED,))
        if stored is None or lines is None:
            raise InvalidRequest(f"{place.path!r} is a binary file of {len(data)} bytes. Only texts are read.")
        remarks = () if stored.encoding == "UTF-8" else (f"The file is not UTF-8; it is read as {stored.encoding}.",)
        return WorkspaceText(place.path, lines, remarks)

    def searchable(self, start: Place, glob: Glob | None) -> Iterator[tuple[str, str]]:
        """The paths and texts at or below a place; files that were never saved come last."""
        if start.kind is not PlaceKind.FOLDER:
            yield start.path, "\n".join(self.read(start.path).lines)
            return
        for found in self.files.walk(start.parts):
            if found.is_folder or (glob is not None and not glob.matches(found.parts)):
                continue
            text = self.text_of(found)
            if text is None:
                self.n_skipped += 1
            else:
                yield found.path, text
        for place in self.only_in_editor(start):
            held = self._unsaved[place.path]
            if (glob is None or glob.matches(place.parts)) and not _begins_a_key(held):
                yield place.path, held

    def only_in_editor(self, start: Place) -> Iterator[Place]:
        """The files below a place that were never saved, by path."""
        for path in sorted(self._unsaved):
            try:
                place = self.files.locate(path)
            except InvalidRequest:
                continue
            if (
                place.kind is PlaceKind.MISSING
                and place.path == path
                and place.parts[: len(start.parts)] == start.parts
            ):
                yield place

    def text_of(self, found: Found) -> str | None:
        """The text of a file of a walk; None when it is binary, too large, or may not be read. Unlike `read` it does
        not list the folders on the way to the file."""
        held = self._unsaved.get(found.path)
        try:
            data = self.files.read_below(found.parts, MAX_SEARCHED_BYTES)
        except OSError:
            return None
        if _begins_a_key(data) or (held is not None and _begins_a_key(held)):
            return None
        if held is not None:
            return held
        stored = decode(data)
        return None if stored is None else stored.text


def _begins_a_key(data: bytes | str) -> bool:
    head = data[:_KEY_PROBE_BYTES]
    return holds_private_key(head if isinstance(head, bytes) else head.encode(errors="replace"))


def _is_key(place: Place) -> InvalidRequest:
    return InvalidRequest(f"{place.path!r} holds a private key. It is never read.")
