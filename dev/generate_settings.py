"""The settings for people and editors: docs/settings.md, and the configuration in the VS Code extension's manifest.

Both come from the table in `palimpsest.domain.settings.settings`.
"""

from __future__ import annotations

import json
from typing import Any, Final

from dev import GENERATED, ROOT
from dev.metamodel import DeclarationError, Docs
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

Settings are read from these places; what comes later wins, setting by setting:

1. what is built in,
2. your own `{USER_FILE}` in your configuration folder (on Linux `~/.config/palimpsest/`),
3. `{PROJECT_FILE}` at the root of a workspace folder, if you trust the folder,
4. environment variables; an empty one counts as unset,
5. your editor's settings, under `palimpsest`,
6. what a request itself asks for.

A key nobody knows, and a value that is not allowed, are refused with a sentence that names the place. So is the key of
a service, which belongs in the environment (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`) and never in a file. A project's
file is written by others: it may set what the last column says and nothing else, and of models only those that are
built in or named in your own settings.

A project's file, or an editor's settings, that cannot be meant are left out as a whole, and you are told why: an
editor's stay as they were, and a folder works on without its file. What is wrong with your own file or the
environment has to be mended first.

## Trust

A folder is trusted when your editor says so (it may pass on what you told it, such as VS Code's workspace trust), or,
where the editor says nothing, when you do: `palimpsest trust FOLDER` trusts a folder, `palimpsest trust --revoke
FOLDER` takes that back, and `palimpsest trust --list` shows those you trust. No folder is trusted before that, nor
because it lies in one that is. You are told when a folder's `{PROJECT_FILE}` is ignored for want of trust.

## When a change counts

Your editor's settings and its word on trust count at once; a turn that runs ends with the settings it began with.
Files, and what `palimpsest trust` says, are read when a folder is opened, and again when the editor says something.
`storage.*` counts when a folder is opened: to change it, start the server again. Where several editors share a
server, the last one to send settings for a folder counts for all of them.

## Every setting

In the environment a list is written with commas, and true and false also as yes and no, on and off, 1 and 0. `{NAME}`
stands for the name of a model or provider; a name with dots stands in quotes.

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
    """The extension's manifest with the server's settings in it; `before` is the text of the manifest now.

    The first group of its configuration is the server's. The others are written by hand and stay, and so does every
    other key. A workspace that nobody trusts may set none of them: `restrictedConfigurations` lists those that a
    workspace could set otherwise.
    """
    read = json.loads(before)
    groups = [contributed_configuration(), *read["contributes"]["configuration"][1:]]
    read["contributes"]["configuration"] = groups
    read["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = [
        name for group in groups for name, schema in group["properties"].items() if schema["scope"] != "machine"
    ]
    return json.dumps(read, indent=2, ensure_ascii=False) + "\n"


def outputs() -> dict[str, str]:
    """The text of each file that describes the settings, by its path below the repository's root."""
    return {"docs/settings.md": markdown(), _MANIFEST: manifest((ROOT / _MANIFEST).read_text("utf-8"))}
