"""Settings from files, from `PALIMPSEST_*` and from an editor, merged in this order.

The check is strict: unknown keys, invalid values and keys of services are all reported together, each with its place,
in one InvalidRequest. A project's file comes with the code, so it may set only what `Setting.may_project_set` allows,
and callers pass it for trusted folders only.
"""

from __future__ import annotations

import difflib
import json
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from palimpsest.data import load_model_table
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.mcp.config import MAX_SERVERS, ServerConfig, read_user_table
from palimpsest.domain.models.limits import LimitsSource
from palimpsest.domain.settings.schema import NAME, Kind, Setting, settings_of
from palimpsest.domain.settings.settings import (
    SETTINGS,
    ContextSettings,
    HubSettings,
    LibrarianSettings,
    ModelSettings,
    ProviderSettings,
    Settings,
    WebSettings,
    find_setting,
    is_provider_name,
)

USER_FILE: Final = "config.toml"
"""The name of the user's file in the configuration folder."""
PROJECT_FILE: Final = ".palimpsest.toml"
"""The name of a project's file at the root of a workspace folder."""

_PREFIX: Final = "PALIMPSEST_"
TOKEN_VARIABLE: Final = "PALIMPSEST_HUB_TOKEN"
"""The token of a hub's member. It is no setting, because settings are written into files."""
_EDITOR: Final = "the editor's settings"
_ENVIRONMENT: Final = "the environment"
_MAX_FILE_BYTES: Final = 1_000_000
_MAX_PROBLEMS: Final = 20
"""The most problems that are reported for one place."""
_LONGEST_KEY: Final = 100
"""The most characters of an unknown key that are compared."""
_WORDS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
_DEPTH: Final = max(len(setting.path) for setting in SETTINGS)
_SECRET: Final = re.compile(
    r"(api|access|auth|bearer|private|secret)?(key|token)|.*(apikey|secret|password|credentials?)"
)
"""The form of a name that could have a key as its value, in lower case and without `_` and `-`."""

_Path = tuple[str, ...]
_T = TypeVar("_T")


def load_settings(
    user_file: Path, project_file: Path | None, environ: Mapping[str, str], editor: Mapping[str, Any] | None
) -> Settings:
    """Merge the settings: built-in < the user's file < the project's < `PALIMPSEST_*` < the editor's. Files may be
    missing.

    `editor` is the section `palimpsest` of its configuration; null and "" mean unset. Raises InvalidRequest with one
    sentence per line for all problems.
    """
    problems: list[str] = []
    user = _Source(str(user_file), problems, servers={})
    user.take_table(_read_toml(user_file, problems))
    project = _Source(str(project_file), problems, user_file=user_file)
    if project_file is not None:
        project.take_table(_read_toml(project_file, problems))
    environment = _Source(_ENVIRONMENT, problems)
    environment.take_variables(environ)
    editors = _Source(_EDITOR, problems)
    editors.take_table(_without_unset(editor or {}))
    _check_models(project, (user, environment, editors))
    settings = _build((user, project, environment, editors), problems)
    if problems or settings is None:
        raise InvalidRequest("\n".join(problems))
    return settings


def unknown_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each unknown `PALIMPSEST_*` variable, with its name and never its value."""
    known = [setting.variable for setting in SETTINGS if setting.variable]
    return tuple(
        f"{name} in the environment is not a setting and has no effect; the nearest one is {_nearest(name, known)}."
        for name, text in sorted(environ.items())
        if name.startswith(_PREFIX) and text and name not in (*known, TOKEN_VARIABLE)
    )


@dataclass(slots=True)
class _Source:
    """One source of settings, and its problems."""

    name: str
    problems: list[str]
    """The problems of all sources."""
    user_file: Path | None = None
    """For a project's file: the user's file, where its other settings belong. None for any other source."""
    values: dict[_Path, Any] = field(default_factory=dict)
    servers: dict[str, ServerConfig] | None = None
    """The servers of `[mcp.NAME]`. None for a source that may name none: a server is a program that is started."""

    def take_table(self, table: Mapping[str, Any], above: _Path = ()) -> None:
        for key, value in table.items():
            if len(self.problems) >= _MAX_PROBLEMS:
                return
            path = (*above, key)
            if path == ("mcp",):
                self._take_servers(value)
                continue
            setting = find_setting(path)
            if setting is not None:
                self._take(path, setting, value)
            elif _is_table(path) and not isinstance(value, Mapping):
                self._complain(f"{_dotted(path)} must be a table of settings.")
            elif isinstance(value, Mapping) and (_is_table(path) or (value and len(path) < _DEPTH)):
                self.take_table(value, path)
            elif _SECRET.fullmatch(key.lower().replace("_", "").replace("-", "")):
                self._complain(
                    f"{_dotted(path)} looks like a key, and keys are not read from settings. Put it into the "
                    "environment, as ANTHROPIC_API_KEY or OPENAI_API_KEY, and remove it here."
                )
            else:
                nearest = _nearest(_dotted(path), [_dotted(_with_name(setting, path)) for setting in SETTINGS])
                self._complain(f"{_dotted(path)} is not a setting; the nearest one is {nearest}.")

    def _take_servers(self, table: Any) -> None:
        if self.servers is None:
            self._complain(f"mcp may not be set here: servers belong in {self.user_file or 'your own ' + USER_FILE}.")
        elif not isinstance(table, Mapping) or len(table) > MAX_SERVERS:
            self._complain(f"mcp must be a table of at most {MAX_SERVERS} servers, each of them a table [mcp.NAME].")
        else:
            for name, entry in table.items():
                try:
                    self.servers[name] = read_user_table(name, entry)
                except InvalidRequest as error:
                    self.problems += [f"In {self.name}: {sentence}" for sentence in str(error).splitlines()]

    def take_variables(self, environ: Mapping[str, str]) -> None:
        """Read the environment. An empty variable counts as unset."""
        for setting in SETTINGS:
            if setting.variable and (text := environ.get(setting.variable)):
                self._put(setting.path, setting, _parse(setting, text), setting.variable)

    def _take(self, path: _Path, setting: Setting, value: Any) -> None:
        if self.user_file is not None and not setting.may_project_set:
            self._complain(f"{_dotted(path)} may not be set by a project: it belongs in {self.user_file}.")
            return
        if self.name == _EDITOR and not setting.may_editor_set:
            self._complain(f"{_dotted(path)} may not be set by an editor: it belongs in your own {USER_FILE}.")
            return
        self._put(path, setting, value, f"In {self.name}: {_dotted(path)}")

    def _put(self, path: _Path, setting: Setting, value: Any, name: str) -> None:
        if setting.key == "storage.path" and isinstance(value, str) and not _is_absolute(value):
            # A relative path would depend on the current folder of the server: for editors, the workspace.
            self.problems.append(f"{name} must be an absolute path, or begin with ~/.")
            return
        try:
            self.values[path] = setting.read(name, value)
        except InvalidRequest as error:
            self.problems.append(str(error))

    def _complain(self, sentence: str) -> None:
        self.problems.append(f"In {self.name}: {sentence}")


def _check_models(project: _Source, others: tuple[_Source, ...]) -> None:
    """Check that a project only names built-in models or those of the user: it must not decide where texts are sent."""
    chosen = [(path, name) for path, value in project.values.items() for name in _models_in(path, value)]
    if not chosen:
        return
    table = load_model_table()
    named: set[str] = set()
    for source in others:
        named |= {path[1] for path in source.values if path[0] == "models"}
        named |= {value for path, value in source.values.items() if path[-1] == "model"}
        named |= set(source.values.get(("targets",), ()))
    for path, name in chosen:
        model = table.find(name)
        if name not in named and (model is None or model.source is not LimitsSource.PREFIX):
            project.problems.append(
                f"In {project.name}: {_dotted(path)} names the model {name!r}, which is neither built in nor named in "
                f"your own settings. To use it, name it there first, for example in targets of {project.user_file}."
            )


def _models_in(path: _Path, value: Any) -> tuple[str, ...]:
    return (value,) if path == ("model",) else value if path == ("targets",) else ()


def _build(sources: tuple[_Source, ...], problems: list[str]) -> Settings | None:
    """Merge the sources; the later one wins for each setting. None after a problem, which is added."""
    values: dict[_Path, Any] = {}
    origins: dict[_Path, str] = {}
    for source in sources:
        values |= source.values
        origins |= dict.fromkeys(source.values, source.name)

    def part(owner: type[_T], name: str = NAME, **more: Any) -> _T | None:
        named = {_with_name(setting, (setting.path[0], name)): setting for setting in settings_of(owner)}
        given = {path: setting for path, setting in named.items() if path in values}
        try:
            return owner(**{setting.attribute: values[path] for path, setting in given.items()}, **more)
        except InvalidRequest as error:
            # Each value is valid alone, but not together, so say where each one comes from.
            sentence = str(error).replace(f".{NAME}.", f".{_quoted(name)}.")
            places = (f" {_dotted(path)} is set in {origins[path]}." for path in given if _dotted(path) in sentence)
            problems.append(sentence + "".join(places))
            return None

    def parts(owner: type[_T], table: str) -> dict[str, _T]:
        names = dict.fromkeys(path[1] for path in values if path[0] == table)
        for name in [name for name in names if owner is ProviderSettings and not is_provider_name(name)]:
            place = next(origins[path] for path in values if path[:2] == (table, name))
            problems.append(
                f"In {place}: {_dotted((table, name))} cannot be the name of a service. Choose one of at most 40 small "
                "letters, digits, - and _."
            )
        return {name: built for name in names if (built := part(owner, name)) is not None}

    return part(
        Settings,
        context=part(ContextSettings),
        librarian=part(LibrarianSettings),
        hub=part(HubSettings),
        web=part(WebSettings),
        models=parts(ModelSettings, "models"),
        providers=parts(ProviderSettings, "providers"),
        mcp={name: server for source in sources for name, server in (source.servers or {}).items()},
    )


def _read_toml(path: Path, problems: list[str]) -> dict[str, Any]:
    """The table of a file; empty when the file is missing. Only a regular file of limited size is opened."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_FILE_BYTES:
            problems.append(f"{path} must be a file of at most {_MAX_FILE_BYTES} bytes.")
            return {}
        # utf-8-sig: some editors write a byte order mark, which TOML does not allow.
        return tomllib.loads(path.read_text("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        problems.append(f"{path} cannot be read: {error.strerror}.")
    except UnicodeDecodeError:
        problems.append(f"{path} cannot be read: it is not UTF-8.")
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "a value is too large or nested too deep"
        problems.append(f"{path} is not valid TOML: {reason}.")
    return {}


def _without_unset(table: Mapping[str, Any], above: _Path = ()) -> dict[str, Any]:
    """The values without unset ones: null, an empty text, and the empty list that Lua makes of a table."""
    cleaned: dict[str, Any] = {}
    for key, value in table.items():
        path = (*above, key)
        if isinstance(value, Mapping) and len(path) < _DEPTH:
            cleaned[key] = _without_unset(value, path)
        elif value is not None and value != "" and not (value == [] and _is_table(path)):
            cleaned[key] = value
    return cleaned


def _parse(setting: Setting, text: str) -> Any:
    """The text of a variable as the setting's type; an invalid text unchanged, which the setting then refuses."""
    text = text.strip()
    match setting.kind:
        case Kind.BOOLEAN:
            return _WORDS.get(text.lower(), text)
        case Kind.INTEGER | Kind.NUMBER:
            try:
                return int(text) if setting.kind is Kind.INTEGER else float(text)
            except ValueError:
                return text
        case Kind.LIST:
            return tuple(item.strip() for item in text.split(",") if item.strip())
        case Kind.STRING:
            return next((choice for choice in setting.choices if choice.lower() == text.lower()), text)


def _is_absolute(text: str) -> bool:
    return text.startswith("~/") or Path(text).is_absolute()


def _is_table(path: _Path) -> bool:
    """Whether there are settings below the path."""
    return any(_with_name(setting, path)[: len(path)] == path and setting.path != path for setting in SETTINGS)


def _with_name(setting: Setting, path: _Path) -> _Path:
    """The path of the setting, with the name of the model or provider in `path`, when both are about one."""
    is_named = len(path) > 1 and path[0] == setting.path[0]
    return tuple(path[1] if part == NAME and is_named else part for part in setting.path)


def _nearest(written: str, known: Sequence[str]) -> str:
    """The name in `known` nearest to the written one, by the whole name and by its last part together."""
    whole = difflib.SequenceMatcher(b=written[:_LONGEST_KEY])
    last = difflib.SequenceMatcher(b=written.rpartition(".")[2][:_LONGEST_KEY])

    def likeness(candidate: str) -> float:
        whole.set_seq1(candidate)
        last.set_seq1(candidate.rpartition(".")[2])
        return whole.ratio() + last.ratio()

    return max(known, key=likeness)


def _dotted(path: _Path) -> str:
    """The dotted path as people write it; a part that is too long is cut."""
    return ".".join(_quoted(part[:_LONGEST_KEY]) for part in path)


def _quoted(part: str) -> str:
    """A part of a key, in quotes when TOML needs them."""
    return part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part)
