"""The documents and the editors' schema say what the table says, and are not older than it."""

from __future__ import annotations

import json
from pathlib import Path

from dev.generate_settings import contributed_configuration, manifest, markdown

from palimpsest.app.settings_files import load_settings
from palimpsest.domain.settings.settings import SETTINGS, Settings

PROPERTIES = contributed_configuration()["properties"]


def test_the_manifest_keeps_the_groups_that_are_written_by_hand() -> None:
    own = {
        "title": "Ours",
        "properties": {"palimpsest.path": {"scope": "machine"}, "palimpsest.shown": {"scope": "window"}},
    }
    before = {
        "name": "palimpsest",
        "contributes": {"configuration": [{"title": "Old", "properties": {}}, own]},
        "capabilities": {"untrustedWorkspaces": {"restrictedConfigurations": ["palimpsest.gone"]}},
    }
    written = json.loads(manifest(json.dumps(before)))
    assert written["contributes"]["configuration"] == [contributed_configuration(), own]
    restricted = written["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert restricted == [*PROPERTIES, "palimpsest.shown"]


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
    assert named | plain == {setting.key for setting in SETTINGS if setting.may_editor_set}


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
    assert "Default: `0.97`." in threshold["markdownDescription"]
