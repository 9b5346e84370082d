"""The settings for people and editors: docs/settings.md, and the configuration in the VS Code extension's manifest.

Both come from the table in `palimpsest.domain.settings.settings`.
"""

from __future__ import annotations

import json
from typing import Any, Final

from dev import GENERATED, ROOT
from dev.metamodel import DeclarationError, Docs
from palimpsest.__about__ import __version__
from palimpsest.app.settings_files import PROJECT_FILE, USER_FILE
from palimpsest.domain.settings import settings as declarations
from palimpsest.domain.settings.schema import NAME, Kind, Setting
from palimpsest.domain.settings.settings import SETTINGS

_MANIFEST: Final = "editors/vscode/package.json"
EXAMPLE: Final = """\
model = "claude-sonnet-4-5"
targets = ["gpt-4o"]              # where to go on when a request does not fit

[context]
max_tokens = 200_000              # no request larger than that, whatever the window
preserve_recent = 6

[models."gpt-5.2"]
window = 400_000
max_input = 272_000

[providers.openai]
base_url = "http://localhost:8000/v1"
"""
"""A user's file. It is shown to people and loaded by a test."""

_INTRODUCTION: Final = f"""\
# Settings

<!-- {GENERATED} -->

Settings come from these places. For each setting, the last place that has it wins:

1. the built-in default,
2. your own `{USER_FILE}` in your configuration folder (on Linux `~/.config/palimpsest/`),
3. `{PROJECT_FILE}` at the root of a workspace folder, if you trust the folder,
4. environment variables; an empty one counts as unset,
5. your editor's settings, under `palimpsest`,
6. the options of a request itself.

An unknown key and an invalid value are refused with a sentence that names the place. So is the key of a service: it
belongs in the environment (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`) or in `palimpsest login`, never in a file. Other
people write a project's file, so it may only set what the last column allows, and only name models that are built in
or named in your own settings. Some editors take settings from a folder too, so no editor may set `web.*`.

An invalid project's file is ignored as a whole, and so are invalid settings of an editor, whose earlier ones stay in
use; you get a message with the reason. An error in your own file or in the environment stops Palimpsest until you
correct it.

## Trust

A folder is trusted when your editor says so (VS Code passes on its workspace trust). When the editor says nothing, your
own list counts: `palimpsest trust FOLDER` trusts a folder, `palimpsest trust --revoke FOLDER` removes it from the list,
and `palimpsest trust --list` shows the list. No other folder is trusted, not even one inside a trusted folder. You get
a message when a folder's `{PROJECT_FILE}` is ignored because you do not trust the folder.

## When a change takes effect

Your editor's settings and its word on trust take effect at once; a running turn keeps the settings it began with.
Files, and the list of trusted folders, are read when a folder is opened, and again when the editor sends settings.
`storage.*` takes effect when a folder is opened: to change it, restart the server. When several editors share a
server, the last one that sends settings for a folder decides for all of them.

## Every setting

In the environment, write a list with commas, and true or false also as yes or no, on or off, 1 or 0. `{NAME}` stands
for the name of a model or provider; put a name with dots in quotes.

```toml
{EXAMPLE}```

"""


def markdown() -> str:
    """docs/settings.md."""
    docs = _read_docs()
    lines = ["| key | allowed | default | meaning | variable | in a project's file |", "|---|---|---|---|---|---|"]
    for setting in SETTINGS:
        cells = (
            f"`{setting.key}`",
            setting.reader.expected.replace('"', "`"),
            _default(setting),
            docs[setting.key].replace("|", "\\|"),
            f"`{setting.variable}`" if setting.variable else "",
            "yes" if setting.may_project_set else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return _INTRODUCTION + "\n".join(lines) + "\n"


def contributed_configuration() -> dict[str, Any]:
    """The server's group in `contributes.configuration` of the extension's manifest.

    Every default is null, which the server reads as unset, and the real one stands in the text: VS Code sends the
    defaults of its schema along with what the user has set, and they would hide the user's file.
    """
    docs = _read_docs()
    properties: dict[str, Any] = {}
    for setting in SETTINGS:
        if not setting.may_editor_set:
            continue
        text = docs[setting.key] + (f" Default: {_default(setting)}." if setting.default not in (None, ()) else "")
        if NAME not in setting.path:
            properties[f"palimpsest.{setting.key}"] = _nullable(setting) | {
                "default": None,
                "scope": _scope(setting),
                "markdownDescription": text,
            }
            continue
        group, _, attribute = setting.path
        named = properties.setdefault(f"palimpsest.{group}", _group(setting, docs[group]))
        named["additionalProperties"]["properties"][attribute] = _value(setting) | {"markdownDescription": text}
    return {"title": "Palimpsest", "properties": properties}


def _group(setting: Setting, text: str) -> dict[str, Any]:
    each: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    return {
        "type": "object",
        "additionalProperties": each,
        "default": {},
        "scope": _scope(setting),
        "markdownDescription": text,
    }


def _scope(setting: Setting) -> str:
    """Who may set it in VS Code. A workspace's settings come with the code, as a project's file does."""
    if setting.may_project_set:
        return "resource"
    if setting.path[0] == "providers":
        # A workspace that moves a provider's address would be sent the user's key.
        return "application"
    return "machine-overridable" if setting.key == "storage.path" else "window"


def _value(setting: Setting) -> dict[str, Any]:
    bounds = setting.bounds
    choices = {"enum": list(setting.choices)} if setting.choices else {}
    if setting.kind is Kind.LIST:
        least = {} if bounds.at_least is None else {"minItems": bounds.at_least}
        return {"type": "array", "items": {"type": "string"} | choices, "uniqueItems": True} | least
    named = {"exclusiveMinimum": bounds.above, "minimum": bounds.at_least, "maximum": bounds.at_most}
    return {"type": setting.kind.value} | choices | {name: value for name, value in named.items() if value is not None}


def _nullable(setting: Setting) -> dict[str, Any]:
    schema = _value(setting)
    if setting.kind is Kind.BOOLEAN:
        schema["enum"] = [True, False]  # VS Code shows a choice of three as a list, but has no checkbox for it
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema | {"type": [schema["type"], "null"]}


def _default(setting: Setting) -> str:
    match setting.default:
        case None | ():
            return "unset"
        case bool() as value:
            return f"`{str(value).lower()}`"
        case tuple() as values:
            return ", ".join(f"`{value}`" for value in values)
    return f"`{setting.default}`"


def _read_docs() -> dict[str, str]:
    """What is written below each field, by key, on one line. DeclarationError names fields that say nothing."""
    docs = Docs([declarations])
    found = {setting.key: docs.of(f"{setting.owner.__name__}.{setting.attribute}") for setting in SETTINGS}
    found |= {"models": docs.of("ModelSettings"), "providers": docs.of("ProviderSettings")}
    if docs.missing:
        raise DeclarationError(" ".join(f"{name} has no docstring." for name in docs.missing))
    return {key: " ".join(doc.split()) for key, doc in found.items()}


def manifest(before: str) -> str:
    """The extension's manifest with the server's settings and version in it; `before` is the text of the manifest now.

    The first group of its configuration is the server's. The others are written by hand and stay, and so does every
    other key. A workspace that nobody trusts may set none of them: `restrictedConfigurations` lists those that a
    workspace could set otherwise.
    """
    read = json.loads(before)
    read["version"] = __version__
    groups = [contributed_configuration(), *read["contributes"]["configuration"][1:]]
    read["contributes"]["configuration"] = groups
    read["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = [
        name for group in groups for name, schema in group["properties"].items() if schema["scope"] != "machine"
    ]
    return json.dumps(read, indent=2, ensure_ascii=False) + "\n"


def outputs() -> dict[str, str]:
    """The text of each file that describes the settings, by its path below the repository's root."""
    return {"docs/settings.md": markdown(), _MANIFEST: manifest((ROOT / _MANIFEST).read_text("utf-8"))}
