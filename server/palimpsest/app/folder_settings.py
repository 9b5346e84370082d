"""The settings of one workspace folder, with its trust, from all files, the environment and the editor.

Neither a project's file nor an editor can make a folder unusable: an invalid one is ignored as a whole, with a message
to the user. Only a mistake in the user's own file or environment is an error.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.app.settings_files import PROJECT_FILE, load_settings, unknown_variables
from palimpsest.app.trusted_folders import TrustedFolders
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.folder.folders import EditorsWord


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """The settings of a folder, with messages about ignored ones."""

    settings: Settings
    is_trusted: bool
    editor: Mapping[str, Any]
    """The part of the editor's settings that counts."""
    notes: tuple[str, ...]
    """Sentences for the user."""


@dataclass(frozen=True, slots=True)
class FolderSettingsReader:
    """Reads the settings of folders from the disk, each time again."""

    user_file: Path
    environ: Mapping[str, str]
    trusted: TrustedFolders

    def read(self, root: Path, word: EditorsWord) -> FolderSettings:
        """The settings for opening a folder. Raises InvalidRequest for the user's file and the environment."""
        return self._read(root, word, {})

    def read_again(self, root: Path, word: EditorsWord, before: FolderSettings) -> FolderSettings:
        """The new settings of an open folder. Invalid ones stay as they were; trust changes in any case."""
        try:
            return self._read(root, word, before.editor)
        except InvalidRequest as error:
            note = f"{error}\nUntil you correct this, the settings stay as they were."
            return FolderSettings(before.settings, self._is_trusted(root, word), before.editor, (note,))

    def _read(self, root: Path, word: EditorsWord, editor_before: Mapping[str, Any]) -> FolderSettings:
        is_trusted = self._is_trusted(root, word)
        project_file = root / PROJECT_FILE
        notes = [*unknown_variables(self.environ)]
        if not is_trusted and os.path.lexists(project_file):
            notes.append(_ignored(project_file, word))
        counted, editor = project_file if is_trusted else None, word.settings
        found = self._put_together(counted, editor)
        if found.editor_problem is not None:
            notes.append(f"{found.editor_problem}\nUntil you correct this, the editor's settings stay as they were.")
            editor = editor_before
            found = self._put_together(counted, editor)
        if found.project_problem is not None:
            notes.append(f"{found.project_problem}\nUntil you correct this, {project_file} is ignored.")
        return FolderSettings(found.settings, is_trusted, editor, tuple(notes))

    def _is_trusted(self, root: Path, word: EditorsWord) -> bool:
        return root in self.trusted if word.is_trusted is None else word.is_trusted

    def _put_together(self, project_file: Path | None, editor: Mapping[str, Any]) -> _Together:
        """When both are valid alone but not together, the project's file is ignored, because the editor's settings are
        the user's own."""
        whole = self._attempt(project_file, editor)
        if isinstance(whole, Settings):
            return _Together(whole)
        without_project = self._attempt(None, editor)
        if isinstance(without_project, Settings):
            return _Together(without_project, project_problem=str(whole))
        without_editor = self._attempt(project_file, {})
        if isinstance(without_editor, Settings):
            return _Together(without_editor, editor_problem=str(without_project))
        return _Together(
            load_settings(self.user_file, None, self.environ, {}), str(without_editor), str(without_project)
        )

    def _attempt(self, project_file: Path | None, editor: Mapping[str, Any]) -> Settings | InvalidRequest:
        try:
            return load_settings(self.user_file, project_file, self.environ, editor)
        except InvalidRequest as error:
            return error


@dataclass(frozen=True, slots=True)
class _Together:
    """Settings, and the problems of ignored places, one sentence per line."""

    settings: Settings
    project_problem: str | None = None
    editor_problem: str | None = None


def _ignored(project_file: Path, word: EditorsWord) -> str:
    command = f"run `palimpsest trust {shlex.quote(str(project_file.parent))}` and open the folder again"
    how = command if word.is_trusted is None else "trust the folder in your editor"
    return f"{project_file} is ignored, because you do not trust this folder. If you trust its authors, {how}."
