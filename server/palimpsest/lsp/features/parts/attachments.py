"""The folders that the editor of one connection is attached to, and the tools that it offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.lsp.features.feature import Feature

if TYPE_CHECKING:
    from palimpsest.lsp.features.folder_editor import FolderEditor
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.session import FolderSession
    from palimpsest.services.tools.editors import Editors, EditorTool


@dataclass(frozen=True, slots=True)
class _Attached:
    """The attachment of the editor to one folder."""

    editors: Editors
    editor: FolderEditor
    remove: Callable[[], None]

    def detach(self) -> None:
        self.remove()
        self.editor.leave()


class Attachments(Feature):
    """Attaches the editor to each folder at its first use. The editor's tools are offered in all of them."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._tools: tuple[EditorTool, ...] = ()
        self._attached: dict[Path, _Attached] = {}

    def on_session(self, session: FolderSession) -> None:
        """Attaches the editor, once for each opening of the folder."""
        root, editors = session.folder.root, session.folder.editors
        if (before := self._attached.get(root)) is not None:
            if before.editors is editors:
                return
            before.detach()
        from palimpsest.lsp.features.folder_editor import FolderEditor

        editor = FolderEditor(self._server, root)
        self._attached[root] = _Attached(editors, editor, editors.attach(editor, self._tools))

    def bring(self, tools: list[EditorTool]) -> None:
        self._tools = tuple(tools)
        for attached in self._attached.values():
            attached.editors.bring(attached.editor, self._tools)

    def touch(self) -> None:
        """Reports that documents of the editor were opened, changed or closed."""
        for attached in self._attached.values():
            attached.editor.touch()

    def editor(self, root: Path) -> FolderEditor | None:
        """The editor, for a folder that it uses."""
        attached = self._attached.get(root)
        return None if attached is None else attached.editor

    def on_left(self, root: Path) -> None:
        if (attached := self._attached.pop(root, None)) is not None:
            attached.detach()

    async def on_stop(self) -> None:
        for attached in self._attached.values():
            attached.detach()
