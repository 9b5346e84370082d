"""`palimpsest models`: the models that the user's own settings and keys make available."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from palimpsest.app.model_clients import ClientPool, check_key
from palimpsest.app.places import read_places, user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.app.stored_keys import stored_keys
from palimpsest.data import load_model_table
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.models.limits import LimitsSource, ModelLimits
from palimpsest.domain.models.provider import Provider
from palimpsest.domain.offline.places import Found
from palimpsest.domain.settings.settings import Settings, to_entries
from palimpsest.printing import say, say_json
from palimpsest.services.models.catalog import ModelChoice, Models, by_hint
from palimpsest.services.models.keys import Keys
from palimpsest.services.models.live_limits import FILE_NAME, LiveLimits
from palimpsest_clients.offline import OfflineProvider

log = logging.getLogger(__name__)

_WAIT_S: Final = 5.0
"""The longest wait for the services' lists of models, which are requested once a day."""
_HEADINGS: Final = ("model", "provider", "window", "budget", "output", "limits", "")
_LIMITS: Final = {
    LimitsSource.OVERRIDE: "your settings",
    LimitsSource.PROVIDER: "your settings",
    LimitsSource.LIVE: "told by the service",
    LimitsSource.PREFIX: "built in",
    LimitsSource.LEARNED: "learned",
    LimitsSource.DEFAULT_FALLBACK: "assumed",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the models that you can use, with their limits in tokens, and what is missing for the others. The list "
        "comes from your keys and settings, and from what the services say that they have."
    )
    parser.add_argument("--json", action="store_true", help="print the models as a JSON array")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the models. The limits that one folder has learned from errors of a service are not included."""
    environ = os.environ
    settings = load_settings(user_file(), None, environ, None)
    keys = Keys(environ, stored_keys(), check_key)
    keys.load()
    choices, silent = asyncio.run(_choices(settings, ClientPool(environ, keys)))
    if arguments.json:
        say_json([_to_object(choice) for choice in choices], indent=2)
    else:
        say(*_table([_HEADINGS, *(_to_row(each) for each in choices if each.is_available)]))
        for hint, group in by_hint(choices):
            names = textwrap.fill(
                ", ".join(each.model.name for each in group),
                96,
                initial_indent="  ",
                subsequent_indent="  ",
                break_on_hyphens=False,
            )
            say("", f"To use these, {hint}:", names)
        for sentence in silent:
            say("", sentence)
    return 0


async def _choices(settings: Settings, pool: ClientPool) -> tuple[list[ModelChoice], list[str]]:
    """The models, and a sentence about each service that is set up of which none is known."""
    clients = pool.get(settings)
    live = LiveLimits(read_places(settings).cache / FILE_NAME)
    try:
        entries = pool.entries(settings)
        limits = await _fetch(live, clients, {name: each.address for name, each in entries.items() if each.is_moved})
    finally:
        await live.close()
        await pool.aclose()
    models = Models(
        load_model_table(),
        {**clients, "offline": OfflineProvider(_find_nothing)},
        pool.hints(settings),
        settings,
        model_entries=to_entries(settings.models),
        provider_entries=to_entries(settings.providers),
        live=limits,
        addresses=pool.addresses(settings),
    )
    return models.choices(), models.silent()


async def _find_nothing(_conversation_id: ConversationId, _question: str) -> Found:
    """There is no folder to search, and no model is asked here."""
    return Found((), 0)


async def _fetch(
    live: LiveLimits, clients: Mapping[str, Provider], addresses: Mapping[str, str]
) -> dict[str, ModelLimits]:
    """The limits from the services' lists of models, as far as they come in time. `addresses`: those of the user."""
    limits = await live.of(clients, addresses)
    try:
        async with asyncio.timeout(_WAIT_S):
            await live.settle()
    except TimeoutError:
        log.info("some services did not send their list of models in time")
    return limits


def _to_object(choice: ModelChoice) -> dict[str, Any]:
    return {
        "name": choice.model.name,
        "provider": choice.model.provider,
        "window_tokens": choice.model.limits.window,
        "budget_tokens": choice.budget.budget,
        "max_output_tokens": choice.model.limits.max_output,
        "limits_source": choice.model.source.value,
        "is_available": choice.is_available,
        "is_default": choice.is_default,
        "hint": choice.hint,
    }


def _to_row(choice: ModelChoice) -> tuple[str, ...]:
    model = choice.model
    numbers = (model.limits.window, choice.budget.budget, model.limits.max_output)
    note = "used by new conversations" if choice.is_default else ""
    return (model.name, model.provider, *(f"{number:,}" for number in numbers), _LIMITS[model.source], note)


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines with aligned columns; columns of numbers are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if 2 <= n <= 4 else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
