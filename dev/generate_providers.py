"""What is made of the table of providers: docs/providers.md, and a page of the VS Code extension."""

from __future__ import annotations

from dev import GENERATED
from palimpsest.data import load_model_table
from palimpsest.domain.models.providers import (
    PRESETS,
    PROVIDERS,
    WITH_KEY,
    WITHOUT_KEY,
    ProviderEntry,
)

_INTRODUCTION = f"""\
# Providers

<!-- {GENERATED} -->

A provider is configured when its key is known, or where it takes none, its address. The key comes from the variable in
the environment, from your editor, or from `palimpsest login PROVIDER`; it goes nowhere but to its service. The address
can be changed by the variable, or by `providers.NAME.base_url` in [the settings](settings.md). A model of a provider is
named `PROVIDER/MODEL`; the first provider of this list that is configured gives the model of new conversations.

| provider | service | variable of the key | variable of the address | address | model for summaries and facts |
|---|---|---|---|---|---|
"""
_PRESETS = """
## Services that speak Chat Completions

Each is there under its name: `palimpsest login openrouter`, then a model such as
`openrouter/anthropic/claude-sonnet-4.5`. Those on your machine are used once you have set their address. The addresses
are of 2026-11, from the services' own documentation.

| provider | service | variable of the key | address |
|---|---|---|---|
"""
_END = """
At another address `openai` is any service that speaks OpenAI's Chat Completions.

## A service under a name of your own

Name it in your own `config.toml`, never in a project's file; several of one kind work side by side:

```toml
[providers.work]
kind = "openai-compatible"           # or openai, anthropic, gemini, ollama
base_url = "https://models.example.org/v1"
auth = "bearer"                      # or api-key, x-api-key, none
headers = ["X-Team: compilers"]
models = ["large-2", "small-2"]      # shown first; `work/large-2` is used when no other model is named

[providers.box]
base_url = "http://192.168.1.20:8080/v1"   # llama.cpp at home, without a key
```

The key comes from `palimpsest login work`, from your editor, or from the variable `WORK_API_KEY` (or the one that
`key_variable` names). A key that was given for one address is sent to no other host: when `base_url` changes, log in
again. The limits of a model come from the service's own list (`context_length`, `max_model_len`, `context_window`,
`max_context_length`; what llama.cpp, LM Studio and Ollama say of a loaded model); else from its first refusal, which
sets window, reserve and margin together; else 8,192 tokens are assumed. `[models."work/large-2"]` overrides them.
"""


def outputs() -> dict[str, str]:
    """The text of each file, by its path below the repository's root."""
    *first, last = (entry.title for entry in WITH_KEY)
    others = ", ".join(entry.title for entry in WITHOUT_KEY)
    return {
        "docs/providers.md": _INTRODUCTION
        + "".join(map(_row, PROVIDERS))
        + _PRESETS
        + "".join(map(_preset_row, PRESETS))
        + _END,
        "editors/vscode/media/walkthrough-key.md": f"<!-- {GENERATED} -->\n"
        f"Services: {', '.join(first)} and {last} by key. {others} and compatible services are set in the settings, "
        "and need none here.\n",
    }


def _row(entry: ProviderEntry) -> str:
    small = load_model_table().small_model(entry.name)
    cells = (
        f"`{entry.name}`",
        entry.title,
        ", ".join(f"`{name}`" for name in entry.key_variables) or "none",
        f"`{entry.address_variable if entry.key_variables else entry.host_variable}`",
        f"<{entry.address}>",
        "the conversation's" if small is None else f"`{small[0]}`",
    )
    return f"| {' | '.join(cells)} |\n"


def _preset_row(entry: ProviderEntry) -> str:
    address = f"<{entry.address}>" if entry.address else f"yours, in `{entry.address_variable}`"
    if not entry.needs_key:
        address += f", set `{entry.address_variable}`"
    key = ", ".join(f"`{name}`" for name in entry.key_variables) + ("" if entry.needs_key else ", if it wants one")
    return f"| `{entry.name}` | {entry.title} | {key} | {address} |\n"
