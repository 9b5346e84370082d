"""What is made of the table of providers: docs/providers.md, and the list and a page of the VS Code extension."""

from __future__ import annotations

import json

from dev import GENERATED
from palimpsest.data import load_model_table
from palimpsest.domain.models.providers import PROVIDERS, WITH_KEY, WITHOUT_KEY, ProviderEntry

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
_END = """
At another address `openai` is any service that speaks OpenAI's Chat Completions, such as vLLM, llama.cpp or LM Studio.
"""


def outputs() -> dict[str, str]:
    """The text of each file, by its path below the repository's root."""
    names = json.dumps([entry.name for entry in WITH_KEY])
    *first, last = (entry.title for entry in WITH_KEY)
    others = ", ".join(entry.title for entry in WITHOUT_KEY)
    return {
        "docs/providers.md": _INTRODUCTION + "".join(map(_row, PROVIDERS)) + _END,
        "editors/vscode/src/providers.gen.ts": f"// {GENERATED}\nexport const PROVIDERS_WITH_KEY = {names} as const;\n",
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
