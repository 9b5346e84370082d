"""A folder has settings whatever it holds and whatever an editor sends; notes name what is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from palimpsest.app.folder_settings import FolderSettings, FolderSettingsReader
from palimpsest.app.trusted_folders import TrustedFolders
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.folder.folders import EditorsWord


class Written:
    """A user's file and one folder."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "made up folder"
        self.root.mkdir()
        self.project_file = self.root / ".palimpsest.toml"
        self.user_file = directory / "config.toml"
        self.environ: dict[str, str] = {}
        self.trusted = TrustedFolders(directory / "trusted")
        self.reader = FolderSettingsReader(self.user_file, self.environ, self.trusted)

    def read(self, *, is_trusted: bool | None = True, editor: Mapping[str, Any] | None = None) -> FolderSettings:
        return self.reader.read(self.root, EditorsWord(is_trusted, editor or {}))


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_a_folder_of_which_nothing_is_said_has_the_built_in_settings_and_is_not_trusted(written: Written) -> None:
    assert written.read(is_trusted=None) == FolderSettings(Settings(), False, {}, ())


def test_all_places_are_put_together(written: Written) -> None:
    written.user_file.write_text("context.tool_age = 11\ncontext.threshold = 0.71\ncontext.preserve_recent = 5")
    written.project_file.write_text("context.tool_age = 12\ncontext.threshold = 0.72\ncontext.preserve_recent = 6")
    written.environ["PALIMPSEST_CONTEXT_TOOL_AGE"] = "13"
    found = written.read(editor={"context": {"threshold": 0.74}})
    context = found.settings.context
    assert (context.preserve_recent, context.tool_age, context.threshold) == (6, 13, 0.74)
    assert found.notes == ()


def test_the_users_list_counts_where_no_editor_says(written: Written) -> None:
    written.project_file.write_text("context.tool_age = 12")
    written.trusted.add(written.root)
    assert written.read(is_trusted=None).settings.context.tool_age == 12
    refused = written.read(is_trusted=False)
    assert (refused.is_trusted, refused.settings) == (False, Settings())


@pytest.mark.parametrize(("is_trusted", "how"), [(None, "run `palimpsest trust '"), (False, "in your editor")])
def test_a_file_that_is_ignored_is_told_with_what_would_help(
    written: Written, is_trusted: bool | None, how: str
) -> None:
    written.project_file.write_text("this is [not TOML")
    (note,) = written.read(is_trusted=is_trusted).notes
    assert note.startswith(f"{written.project_file} is ignored")
    assert how in note


def test_a_misspelt_variable_is_among_what_the_user_is_told(written: Written) -> None:
    written.environ["PALIMPSEST_CONTEXT_TRESHOLD"] = "0.7"
    (note,) = written.read().notes
    assert note.startswith("PALIMPSEST_CONTEXT_TRESHOLD in the environment is not a setting")
    assert note.endswith("the nearest one is PALIMPSEST_CONTEXT_THRESHOLD.")


def test_a_broken_project_file_is_left_out_and_the_rest_counts(written: Written) -> None:
    written.project_file.write_text("context.tool_age = 12\nstorage.path = '/elsewhere'")
    found = written.read(editor={"context": {"preserve_recent": 7}})
    assert (found.settings.context.tool_age, found.settings.context.preserve_recent) == (10, 7)
    (note,) = found.notes
    assert "storage.path may not be set by a project" in note


def test_a_project_cannot_undo_the_editors_settings_by_contradicting_them(written: Written) -> None:
    written.project_file.write_text("context.target = 0.7")
    found = written.read(editor={"context": {"threshold": 0.6}, "librarian": {"enabled": False}})
    assert (found.settings.context.threshold, found.settings.librarian.enabled) == (0.6, False)
    assert found.settings.context.target == 0.5
    (note,) = found.notes
    assert f"context.target is set in {written.project_file}" in note


def test_a_project_may_choose_a_model_that_only_the_editor_names(written: Written) -> None:
    written.project_file.write_text('model = "house-model"')
    assert written.read().settings.model is None
    assert written.read(editor={"targets": ["house-model"]}).settings.model == "house-model"


def test_broken_editors_settings_are_left_out_and_the_project_counts(written: Written) -> None:
    written.project_file.write_text("context.tool_age = 12")
    found = written.read(editor={"context": {"tool_ages": 3}})
    assert (found.settings.context.tool_age, found.editor) == (12, {})
    (note,) = found.notes
    assert "context.tool_ages is not a setting" in note


def test_when_both_are_broken_each_is_told_for_itself(written: Written) -> None:
    written.project_file.write_text("nonsense = 1")
    found = written.read(editor={"model": 5})
    assert found.settings == Settings()
    editors, project = found.notes
    assert "nonsense" not in editors
    assert "nonsense" in project
    assert "the editor's settings: model" not in project


def test_what_is_wrong_with_the_users_own_file_is_an_error(written: Written) -> None:
    written.user_file.write_text("nonsense = 1")
    written.project_file.write_text("nonsense = 2")
    with pytest.raises(InvalidRequest) as caught:
        written.read(editor={"nonsense": 3})
    assert str(caught.value).count("nonsense") == 1


def test_what_cannot_be_meant_later_stays_as_it_was(written: Written) -> None:
    before = written.read(editor={"context": {"tool_age": 3}})
    word = EditorsWord(True, {"context": {"tool_age": 0}})
    after = written.reader.read_again(written.root, word, before)
    assert (after.settings, after.editor) == (before.settings, before.editor)
    assert len(after.notes) == 1
    # What stays is the last that counted, however often it fails.
    again = written.reader.read_again(written.root, word, after)
    assert again == after


def test_trust_is_lost_even_while_the_users_file_is_broken(written: Written) -> None:
    before = written.read(editor={"context": {"tool_age": 3}})
    written.user_file.write_text("nonsense = 1")
    after = written.reader.read_again(written.root, EditorsWord(False, before.editor), before)
    assert (after.is_trusted, after.settings) == (False, before.settings)
    assert "nonsense" in after.notes[0]
