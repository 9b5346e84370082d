"""The text of a file of the folder as its user sees it, and the editor through which it is changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.deny_list import holds_private_key
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.services.tools.editors import AttachedEditor, Editors
from palimpsest.services.workspace.encoding import decode
from palimpsest.services.workspace.files import PlaceKind, WorkspaceFiles

MAX_TEXT_BYTES: Final = 2 * 1024 * 1024
"""The largest file that is edited, in bytes. A larger one is not a source that people read."""


@dataclass(frozen=True, slots=True)
class CurrentFiles:
    """The files of one folder. What an editor holds unsaved counts before the disk."""

    files: WorkspaceFiles
    editors: Editors

    async def text(self, path: str) -> tuple[str, str | None]:
        """The path below the folder, with links resolved, and the current text; None when there is no such file. Raises
        InvalidRequest for a file that must not be changed, NotFound for a path below a file."""
        place = await asyncio.to_thread(self.files.locate, path)
        held = self.editors.texts().get(place.path)
        if place.kind is PlaceKind.MISSING:
            return place.path, held
        data = await asyncio.to_thread(
            self.files.read, place
        )  # also when an editor holds the file: tools may not be allowed to read it
        held = self.editors.texts().get(place.path)
        if holds_private_key(data) or (held is not None and holds_private_key(held.encode(errors="replace"))):
            raise InvalidRequest(f"{place.path!r} holds a private key. It is never changed.")
        if len(data) > MAX_TEXT_BYTES or (held is not None and len(held) > MAX_TEXT_BYTES):
            raise InvalidRequest(f"{place.path!r} is too large to be edited. Show the user the change instead.")
        if held is not None:
            return place.path, held
        stored = decode(data)
        if stored is None or stored.encoding != "UTF-8":
            raise InvalidRequest(
                f"{place.path!r} is not UTF-8 text. It can be changed only while an editor has it open; in a terminal, "
                "show the user the change instead."
            )
        return place.path, stored.text

    async def is_saved(self, path: str, text: str | None) -> bool:
        """Whether the disk holds this text. None: whether there is no such file."""

        def on_disk() -> str | None:
            place = self.files.locate(path)
            if place.kind is PlaceKind.MISSING:
                return None
            stored = decode(self.files.read(place))
            return "" if stored is None else stored.text

        try:
            return await asyncio.to_thread(on_disk) == text
        except (InvalidRequest, NotFound):
            return False

    def holder(self, path: str) -> AttachedEditor | None:
        """The editor that has the file open; None when no editor has."""
        return next((editor for editor in self.editors.attached() if path in editor.texts()), None)

    def editor(self, path: str, first: AttachedEditor | None = None) -> AttachedEditor | None:
        """The editor that applies an edit: the one that holds the file, or else `first`, or else the first one that
        can. None when there is none that can."""
        attached = self.editors.attached()
        holding = self.holder(path)
        if holding is not None:
            return holding if holding.can_apply else None
        wanted = attached if first is None or first not in attached else (first, *attached)
        return next((editor for editor in wanted if editor.can_apply), None)
