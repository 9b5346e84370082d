"""Written settings are loaded, the nearer place winning, or refused with sentences that name every mistake."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from dev.generate_settings import EXAMPLE
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from palimpsest.app.settings_files import load_settings, unknown_variables
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.settings.schema import Kind, Setting
from palimpsest.domain.settings.settings import SETTINGS, ModelSettings, ProviderSettings, Settings


class Written:
    """A user's and a project's file in a folder, and how they load."""

    def __init__(self, folder: Path) -> None:
        self.user_file = folder / "config.toml"
        self.project_file = folder / ".palimpsest.toml"

    def load(
        self,
        user: str = "",
        project: str = "",
        environ: Mapping[str, str] | None = None,
        editor: Mapping[str, Any] | None = None,
    ) -> Settings:
        self.user_file.write_text(user, "utf-8")
        self.project_file.write_text(project, "utf-8")
        return load_settings(self.user_file, self.project_file, environ or {}, editor)

    def problems(self, **sources: Any) -> list[str]:
        with pytest.raises(InvalidRequest) as caught:
            self.load(**sources)
        return str(caught.value).split("\n")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


# -------------------------------------------------------------------------------------------------------- precedence


def test_without_any_source_everything_is_the_default(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "none" / "config.toml", None, {}, None) == Settings()
    assert load_settings(tmp_path / "none.toml", tmp_path / ".palimpsest.toml", {}, {}) == Settings()


def test_the_nearer_place_wins_setting_by_setting(written: Written) -> None:
    places = {
        "user": "context.preserve_recent = 5\ncontext.tool_age = 15\ncontext.threshold = 0.75\ncontext.max_tokens = 9",
        "project": "context.preserve_recent = 6\ncontext.tool_age = 16\ncontext.threshold = 0.76",
        "environ": {"PALIMPSEST_CONTEXT_PRESERVE_RECENT": "7", "PALIMPSEST_CONTEXT_TOOL_AGE": "17"},
        "editor": {"context": {"preserve_recent": 8}},
    }
    context = written.load(**places).context  # type: ignore[arg-type]
    assert (context.preserve_recent, context.tool_age, context.threshold) == (8, 17, 0.76)
    assert (context.max_tokens, context.target) == (9, 0.50)


def test_lists_replace_each_other_whole(written: Written) -> None:
    assert written.load('targets = ["a", "b"]', editor={"targets": ["c"]}).targets == ("c",)


def test_entries_of_models_and_providers_are_merged_by_name(written: Written) -> None:
    settings = written.load(
        '[models."gpt-5.2"]\nwindow = 400\nbuffer = 1\n[providers.openai]\nbase_url = "http://localhost/v1"',
        editor={"models": {"gpt-5.2": {"buffer": 2}, "other": {"tokenizer": "o200k_base"}}},
    )
    assert settings.models == {
        "gpt-5.2": ModelSettings(window=400, buffer=2),
        "other": ModelSettings(tokenizer="o200k_base"),
    }
    assert settings.providers == {"openai": ProviderSettings(base_url="http://localhost/v1")}


def test_the_example_that_people_are_shown_loads(written: Written) -> None:
    settings = written.load(EXAMPLE)
    assert (settings.model, settings.context.max_tokens) == ("claude-sonnet-4-5", 200_000)
    assert settings.models["gpt-5.2"].max_input == 272_000


def test_what_an_editor_sends_for_unset_leaves_the_users_file_alone(written: Written) -> None:
    unset = {"model": "", "context": {"threshold": None, "tool_age": None}, "models": {}, "providers": [], "tools": []}
    settings = written.load('model = "gpt-4o"\ncontext.tool_age = 3', editor=unset)
    assert (settings.model, settings.context.tool_age, settings.context.threshold) == ("gpt-4o", 3, 0.97)


def test_a_byte_order_mark_is_no_part_of_a_file(written: Written) -> None:
    assert written.load('\ufeffmodel = "gpt-4o"').model == "gpt-4o"


# ------------------------------------------------------------------------------------------------------- environment

VARIABLES: dict[str, tuple[str, Callable[[Settings], object], object]] = {
    "PALIMPSEST_MODEL": ("gpt-4o", lambda s: s.model, "gpt-4o"),
    "PALIMPSEST_TARGETS": (" a, b,", lambda s: s.targets, ("a", "b")),
    "PALIMPSEST_STORAGE_PATH": ("/some where", lambda s: s.storage_path, "/some where"),
    "PALIMPSEST_STORAGE_SYNCHRONOUS": ("full", lambda s: s.synchronous, "FULL"),
    "PALIMPSEST_CONTEXT_INFINITY": ("no", lambda s: s.context.infinity, False),
    "PALIMPSEST_CONTEXT_THRESHOLD": ("0.9", lambda s: s.context.threshold, 0.9),
    "PALIMPSEST_CONTEXT_TARGET": (".4", lambda s: s.context.target, 0.4),
    "PALIMPSEST_CONTEXT_SWITCH_TARGET": ("0.7", lambda s: s.context.switch_target, 0.7),
    "PALIMPSEST_CONTEXT_PRESERVE_RECENT": ("2", lambda s: s.context.preserve_recent, 2),
    "PALIMPSEST_CONTEXT_TOOL_AGE": ("20", lambda s: s.context.tool_age, 20),
    "PALIMPSEST_CONTEXT_MAX_TOKENS": (" 3000 ", lambda s: s.context.max_tokens, 3000),
    "PALIMPSEST_CONTEXT_OUTPUT_LIMIT": ("16000", lambda s: s.context.output_limit, 16_000),
    "PALIMPSEST_CONTEXT_STRATEGIES": ("goal_batch,threshold", lambda s: s.context.strategies[0], "goal_batch"),
    "PALIMPSEST_CONTEXT_LAYOUT": ("librarian", lambda s: s.context.layout, "librarian"),
    "PALIMPSEST_SUMMARIZATION_TARGET_RATIO": ("0.2", lambda s: s.context.target_ratio, 0.2),
    "PALIMPSEST_SUMMARIZATION_MODEL": ("small", lambda s: s.context.summary_model, "small"),
    "PALIMPSEST_SUMMARIZATION_KIND": ("extractive", lambda s: s.context.summary_kind, "extractive"),
    "PALIMPSEST_TOOLS_RUN_COMMAND": ("yes", lambda s: s.run_command, True),
    "PALIMPSEST_TOOLS_RESPONSE_MAX_BYTES": ("100", lambda s: s.context.response_max_bytes, 100),
    "PALIMPSEST_REDACTION_ENABLED": ("0", lambda s: s.redaction, False),
    "PALIMPSEST_LIBRARIAN_ENABLED": ("0", lambda s: s.librarian.enabled, False),
    "PALIMPSEST_LIBRARIAN_MODEL": ("small", lambda s: s.librarian.model, "small"),
    "PALIMPSEST_LIBRARIAN_DAILY_TOKENS": ("0", lambda s: s.librarian.daily_tokens, 0),
    "PALIMPSEST_LIBRARIAN_RERANK": ("1", lambda s: s.librarian.rerank, True),
    "PALIMPSEST_HUB_URL": ("postgresql://x/hub", lambda s: s.hub.url, "postgresql://x/hub"),
    "PALIMPSEST_HUB_LISTEN_URL": ("postgresql://y/hub", lambda s: s.hub.listen_url, "postgresql://y/hub"),
    "PALIMPSEST_HUB_TEAM": ("herons", lambda s: s.hub.team, "herons"),
    "PALIMPSEST_HUB_SHARE_TOOL_RESULTS": ("no", lambda s: s.hub.share_tool_results, False),
    "PALIMPSEST_HUB_POLL_S": ("9", lambda s: s.hub.poll_s, 9),
}


def another_value(setting: Setting) -> tuple[str, object]:
    """A text for the variable of a setting, and the value it means, which is not the default."""
    match setting.kind:
        case Kind.BOOLEAN:
            return str(not setting.default).lower(), not setting.default
        case Kind.LIST:
            items = setting.choices[::-1] or ("one", "two")
            return ",".join(items), items
        case Kind.STRING:
            text = next((each for each in setting.choices if each != setting.default), "/some text")
            return text, text
        case Kind.INTEGER:
            return next((str(n), n) for n in (7, 8) if n != setting.default and setting.bounds.hold(n))
        case Kind.NUMBER:
            return next((str(n), n) for n in (0.9, 0.8) if n != setting.default and setting.bounds.hold(n))


@pytest.mark.parametrize("setting", [each for each in SETTINGS if each.variable], ids=lambda each: each.key)
def test_every_setting_that_is_not_of_a_named_model_can_be_set_by_its_variable(
    written: Written, setting: Setting
) -> None:
    text, value = another_value(setting)
    assert setting.variable is not None
    settings = written.load(environ={setting.variable: text})
    holders = [settings, *(getattr(settings, each.name) for each in dataclasses.fields(settings))]
    (holder,) = (each for each in holders if type(each) is setting.owner)
    assert getattr(holder, setting.attribute) == value != setting.default


def test_variables_are_read_in_every_form_that_people_write(written: Written) -> None:
    settings = written.load(environ={name: text for name, (text, _, _) in VARIABLES.items()})
    read = {name: get(settings) for name, (_, get, _) in VARIABLES.items()}
    assert read == {name: value for name, (_, _, value) in VARIABLES.items()}


def test_an_empty_variable_counts_as_unset(written: Written) -> None:
    assert written.load('model = "gpt-4o"', environ=dict.fromkeys(VARIABLES, "")).model == "gpt-4o"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PALIMPSEST_CONTEXT_MAX_TOKENS", "many"),
        ("PALIMPSEST_CONTEXT_MAX_TOKENS", "1.5"),
        ("PALIMPSEST_CONTEXT_MAX_TOKENS", "9" * 5_000),
        ("PALIMPSEST_CONTEXT_THRESHOLD", "nan"),
        ("PALIMPSEST_CONTEXT_INFINITY", "maybe"),
        ("PALIMPSEST_STORAGE_SYNCHRONOUS", "OFF"),
        ("PALIMPSEST_STORAGE_PATH", "data"),
        ("PALIMPSEST_CONTEXT_STRATEGIES", ","),
    ],
)
def test_a_variable_that_cannot_be_meant_is_named(written: Written, name: str, text: str) -> None:
    (problem,) = written.problems(environ={name: text})
    assert problem.startswith(f"{name} must be ")
    assert len(problem) < 300


def test_unknown_variables_are_told_of_without_their_values_and_stop_nothing(written: Written) -> None:
    environ = {"PALIMPSEST_CONTEXT_TRESHOLD": "secret", "PALIMPSEST_API_KEY": "secret", "CONTEXT_DEBUG": "true"}
    assert written.load(environ=environ) == Settings()
    warnings = unknown_variables(
        environ | {"PALIMPSEST_MODEL": "gpt-4o", "PALIMPSEST_NOTHING": "", "PALIMPSEST_HUB_TOKEN": "t"}
    )
    assert [warning.split(" ")[0] for warning in warnings] == ["PALIMPSEST_API_KEY", "PALIMPSEST_CONTEXT_TRESHOLD"]
    assert "the nearest one is PALIMPSEST_CONTEXT_THRESHOLD." in warnings[1]
    assert "secret" not in "".join(warnings)


# ------------------------------------------------------------------------------------------------------------ strict


@pytest.mark.parametrize(
    ("text", "unknown", "nearest"),
    [
        ("context.treshold = 0.5", "context.treshold", "context.threshold"),
        ("threshold = 0.5", "threshold", "context.threshold"),
        ("[libarian]\nenabled = true", "libarian.enabled", "librarian.enabled"),
        ("[summarisation]\nkind = 'llm'", "summarisation.kind", "summarization.kind"),
        ('[models."gpt-5.2"]\nwndow = 5', 'models."gpt-5.2".wndow', 'models."gpt-5.2".window'),
        ("context.threshold.high = 1", None, None),
        ("[providers.openai]\nurl = 'http://localhost'", "providers.openai.url", "providers.openai.base_url"),
    ],
)
def test_an_unknown_key_is_named_with_its_place_and_the_nearest_known_one(
    written: Written, text: str, unknown: str | None, nearest: str | None
) -> None:
    (problem,) = written.problems(user=text)
    assert problem.startswith(f"In {written.user_file}: ")
    if unknown:
        assert problem.endswith(f"{unknown} is not a setting; the nearest one is {nearest}.")
    else:
        assert problem.endswith("context.threshold must be a number above 0 and at most 1, but is a table.")


def test_an_unknown_key_of_an_editor_is_named_too(written: Written) -> None:
    (problem,) = written.problems(editor={"context": {"preserveRecent": 3}})
    assert problem == (
        "In the editor's settings: context.preserveRecent is not a setting; the nearest one is context.preserve_recent."
    )


@pytest.mark.parametrize(
    "text",
    [
        "model = 5",
        "targets = 'gpt-4o'",
        "targets = [5]",
        "context.max_tokens = true",
        "context.max_tokens = '5'",
        "context.max_tokens = 5.0",
        f"context.max_tokens = 0x{'f' * 9_000}",
        f"context.threshold = 0x{'f' * 9_000}",
        "context.threshold = inf",
        "context.infinity = 1",
        "context.strategies = ['threshold', ['goal_batch']]",
        "context = 5",
        "models = 5",
        "models.mine = 5",
        "context.threshold = 1979-05-27",
        "storage.path = 'data'",
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(written: Written, text: str) -> None:
    (problem,) = written.problems(user=text)
    assert problem.startswith(f"In {written.user_file}: {text.split(' =')[0]} must be ")


def test_everything_wrong_is_reported_at_once(written: Written) -> None:
    problems = written.problems(
        user="treshold = 1\ncontext.tool_age = 0",
        project="storage.synchronous = 'FULL'",
        environ={"PALIMPSEST_CONTEXT_INFINITY": "maybe"},
        editor={"librarian": {"enabled": "yes"}},
    )
    assert [problem.count("FULL") for problem in problems] == [0] * 5
    places = [str(written.user_file), str(written.user_file), str(written.project_file), "INFINITY", "editor's"]
    assert [place in problem for place, problem in zip(places, problems, strict=True)] == [True] * 5


@pytest.mark.parametrize("source", ["project", "editor"])
def test_hosts_of_the_web_are_the_users_own_affair(written: Written, source: str) -> None:
    """A workspace may come with a project's file, and with settings of an editor."""
    values = {"project": "web.allow_private = ['localhost']", "editor": {"web": {"hosts": ["example.org"]}}}
    (problem,) = written.problems(**{source: values[source]})
    assert "config.toml" in problem
    assert "may not be set by" in problem
    settings = written.load("web.allow_private = ['localhost:8000']", environ={"PALIMPSEST_WEB_HOSTS": "a.org, b.org"})
    assert (settings.web.allow_private, settings.web.hosts) == (("localhost:8000",), ("a.org", "b.org"))


def test_values_that_do_not_go_together_are_named_with_their_places(written: Written) -> None:
    (problem,) = written.problems(project="context.target = 0.7", environ={"PALIMPSEST_CONTEXT_THRESHOLD": "0.6"})
    assert "context.target (0.7) must be below context.threshold (0.6)." in problem
    assert f"context.target is set in {written.project_file}." in problem
    assert "context.threshold is set in the environment." in problem
    (problem,) = written.problems(user="[models.'a.b']\nwindow = 5\nmax_output = 6")
    assert 'models."a.b".max_output (6) must be at most models."a.b".window (5).' in problem


# -------------------------------------------------------------------------------------------------- keys and projects


@pytest.mark.parametrize(
    "text",
    ["api_key = 'w0rd'", "[providers.openai]\nAPI-Key = 'w0rd'", "[x]\ntoken = 'w0rd'", "openai_api_key = 'w0rd'"],
)
def test_a_key_is_refused_in_a_file_and_sent_to_the_environment(written: Written, text: str) -> None:
    (problem,) = written.problems(user=text)
    assert "keys are not read from settings. Put it into the environment" in problem
    assert "w0rd" not in problem


def test_a_misspelt_number_of_tokens_is_no_key(written: Written) -> None:
    (problem,) = written.problems(user="context.max_token = 5")
    assert problem.endswith("the nearest one is context.max_tokens.")


def test_a_project_may_set_only_what_is_its_own(written: Written) -> None:
    refused = {
        "context.max_tokens": "5",
        "providers.openai.base_url": "'http://evil'",
        "models.mine.window": "5",
        "storage.path": "'/elsewhere'",
        "summarization.model": "'gpt-4o'",
    }
    problems = written.problems(project="\n".join(f"{key} = {value}" for key, value in refused.items()))
    assert problems == [
        f"In {written.project_file}: {key} may not be set by a project: it belongs in {written.user_file}."
        for key in refused
    ]


def test_a_project_chooses_among_models_that_are_built_in_or_named_by_the_user(written: Written) -> None:
    project = "model = 'claude-opus-4-5'\ntargets = ['gpt-4o-mini', 'openai/mine', 'fast', 'last']"
    user = "summarization.model = 'fast'\n[models.'openai/mine']\nwindow = 5"
    assert written.load(user, project, editor={"targets": ["last"]}).model == "claude-opus-4-5"
    problems = written.problems(project=project)
    assert ["openai/mine" in p or "fast" in p or "last" in p for p in problems] == [True] * 3
    assert all("neither built in nor named in your own settings" in p for p in problems)


# ------------------------------------------------------------------------------------------------------- broken files


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"model = ", "is not valid TOML: Invalid value"),
        (b"model = 'a'\nmodel = 'b'", "is not valid TOML: "),
        (b"\xff\xfe", "is not UTF-8"),
        (b"a = " + b"9" * 5_000, "is not valid TOML: a value is too large"),
        (b"a = " + b"[" * 5_000, "is not valid TOML: "),
        (b"#" * 1_000_001, "must be a file of at most"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(written: Written, content: bytes, reason: str) -> None:
    written.user_file.write_bytes(content)
    with pytest.raises(InvalidRequest) as caught:
        load_settings(written.user_file, None, {}, None)
    assert str(caught.value).startswith(str(written.user_file))
    assert reason in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_file_is_not_waited_for(written: Written) -> None:
    os.mkfifo(written.project_file)
    with pytest.raises(InvalidRequest, match="must be a file"):
        load_settings(written.user_file, written.project_file, {}, None)


_KEYS = st.sampled_from(sorted({part for setting in SETTINGS for part in setting.path})) | st.text(max_size=5)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)


@examples(50)
@given(st.dictionaries(_KEYS, _JSON, max_size=4))
def test_whatever_an_editor_sends_loads_or_is_refused_in_sentences(sent: dict[str, Any]) -> None:
    try:
        settings: Settings | None = load_settings(Path("/nowhere/config.toml"), None, {}, sent)
        sentences = []
    except InvalidRequest as error:
        settings, sentences = None, str(error).split("\n")
    assert (settings is None) == bool(sentences)
    assert [sentence for sentence in sentences if not sentence.endswith(".")] == []


def test_a_file_full_of_nonsense_is_not_read_to_its_end(written: Written) -> None:
    assert len(written.problems(user="\n".join(f"nonsense_{n} = 1" for n in range(20_000)))) == 20


# -------------------------------------------------------------------------------------------------------- MCP servers

SERVER = '[mcp.one]\ncommand = "run"\nargs = ["-v", "-v"]\nenv = { TOKEN = "${TOKEN}" }\n'


def test_only_the_users_own_file_may_name_servers_because_each_is_a_program_that_is_started(written: Written) -> None:
    assert written.load(user=SERVER).mcp["one"].command == ("run", "-v", "-v")
    (project,) = written.problems(project=SERVER)
    assert "mcp may not be set here" in project
    assert str(written.user_file) in project
    (editor,) = written.problems(editor={"mcp": {"one": {"command": "run"}}})
    assert "config.toml" in editor


def test_every_mistake_in_a_server_is_named_with_its_place(written: Written) -> None:
    user = '[mcp.a__b]\ncommand = "run"\n[mcp.two]\n[mcp.three]\ncommand = "run"\nkey = 1\n'
    problems = written.problems(user=user)
    assert len(problems) == 3
    assert all(each.startswith(f"In {written.user_file}: ") for each in problems)
