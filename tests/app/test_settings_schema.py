"""The documents and the editors' schema say what the table says, and are not older than it."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest import settings_schema
from palimpsest.app.settings_files import load_settings
from palimpsest.domain.settings.settings import SETTINGS, Settings
from palimpsest.settings_schema import contributed_configuration, main, markdown, outputs
from palimpsest.wire.generate import stale

PROPERTIES = contributed_configuration()["properties"]


def test_the_generated_files_are_fresh() -> None:
    assert stale(outputs()) == []


def test_check_names_a_file_that_is_old_and_writing_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(settings_schema, "REPOSITORY", tmp_path)
    assert main(["--check"]) == 1
    assert "docs/settings.md is not up to date" in capsys.readouterr().out
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert main(["--chekc"]) == 2


def test_every_setting_has_a_row_with_its_meaning() -> None:
    rows = {line.split("`")[1]: line for line in markdown().splitlines() if line.startswith("| `")}
    assert list(rows) == [setting.key for setting in SETTINGS]
    assert [key for key, row in rows.items() if row.count(" | ") != 5] == []
    assert all(setting.variable in rows[setting.key] for setting in SETTINGS if setting.variable)


def test_every_setting_is_in_the_schema() -> None:
    named = {
        f"{group}.NAME.{key}".removeprefix("palimpsest.")
        for group, schema in PROPERTIES.items()
        if schema["type"] == "object"
        for key in schema["additionalProperties"]["properties"]
    }
    plain = {key.removeprefix("palimpsest.") for key, schema in PROPERTIES.items() if schema["type"] != "object"}
    assert named | plain == {setting.key for setting in SETTINGS}


def test_the_defaults_that_vs_code_sends_along_change_nothing() -> None:
    sent: dict[str, object] = {}
    for key, schema in PROPERTIES.items():
        *groups, last = key.removeprefix("palimpsest.").split(".")
        table = sent
        for group in groups:
            table = table.setdefault(group, {})  # type: ignore[assignment]
        table[last] = schema["default"]
    assert load_settings(Path("/nowhere/config.toml"), None, {}, sent) == Settings()


def test_a_workspace_cannot_move_a_provider_and_sets_per_folder_what_a_project_may() -> None:
    assert PROPERTIES["palimpsest.providers"]["scope"] == "application"
    assert PROPERTIES["palimpsest.storage.path"]["scope"] == "machine-overridable"
    resource = {key.removeprefix("palimpsest.") for key, schema in PROPERTIES.items() if schema["scope"] == "resource"}
    assert resource == {setting.key for setting in SETTINGS if setting.may_project_set}


def test_ranges_and_choices_reach_the_schema() -> None:
    threshold = PROPERTIES["palimpsest.context.threshold"]
    assert (threshold["exclusiveMinimum"], threshold["maximum"]) == (0, 1)
    assert PROPERTIES["palimpsest.context.layout"]["enum"] == ["log", "librarian", None]
    assert PROPERTIES["palimpsest.context.strategies"]["minItems"] == 1
    assert "Default: `0.8`." in threshold["markdownDescription"]
