"""The settings of one workspace folder: what is written and said about it now, trust included.

Neither a project's file nor an editor can make a folder unusable: what cannot be meant is left out as a whole, and the
user is told. Only what is wrong with the user's own file or environment is an error.
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
    """The settings of a folder, and why they are what they are."""

    settings: Settings
    is_trusted: bool
    editor: Mapping[str, Any]
    """What counts of what the editor said."""
    notes: tuple[str, ...]
    """What the user should know, in sentences."""


@dataclass(frozen=True, slots=True)
class FolderSettingsReader:
    """Reads them anew each time it is asked; it waits for the disk."""

    user_file: Path
    environ: Mapping[str, str]
    trusted: TrustedFolders

    def read(self, root: Path, word: EditorsWord) -> FolderSettings:
        """Of a folder that is being opened. Raises InvalidRequest for the user's file and the environment."""
        return self._read(root, word, {})

    def read_again(self, root: Path, word: EditorsWord, before: FolderSettings) -> FolderSettings:
        """Of an open folder: what cannot be meant now stays as it was. Trust follows in any case."""
        try:
            return self._read(root, word, before.editor)
        except InvalidRequest as error:
            note = f"{error}\nUntil this is mended the settings stay as they were."
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
            notes.append(f"{found.editor_problem}\nUntil this is mended the editor's settings stay as they were.")
            editor = editor_before
            found = self._put_together(counted, editor)
        if found.project_problem is not None:
            notes.append(f"{found.project_problem}\nUntil this is mended {project_file} does not count.")
        return FolderSettings(found.settings, is_trusted, editor, tuple(notes))

    def _is_trusted(self, root: Path, word: EditorsWord) -> bool:
        return root in self.trusted if word.is_trusted is None else word.is_trusted

    def _put_together(self, project_file: Path | None, editor: Mapping[str, Any]) -> _Together:
        """Where the two can be meant each for itself and not together, the project's is left out: the editor's
        settings are the user's own."""
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
    """Settings, and what is wrong with the places that were left out, a sentence a line."""

    settings: Settings
    project_problem: str | None = None
    editor_problem: str | None = None


def _ignored(project_file: Path, word: EditorsWord) -> str:
    command = f"run `palimpsest trust {shlex.quote(str(project_file.parent))}` and open the folder again"
    how = command if word.is_trusted is None else "trust the folder in your editor"
    return f"{project_file} is ignored, because this folder is not trusted. If you trust those who wrote it, {how}."
