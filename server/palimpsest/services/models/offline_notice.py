"""The notice that Palimpsest only searches, shown once a conversation. It is part of no message."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.errors import NotFound
from palimpsest.domain.messages import TurnId
from palimpsest.domain.models.providers import WITH_KEY
from palimpsest.services.models.catalog import OFFLINE, Models
from palimpsest.storage.store import Store
from palimpsest.storage.turns import turn_records

_FIRST, *_OTHERS = WITH_KEY
_LOGIN: Final = f"`palimpsest login {_FIRST.name}` (or {', '.join(each.name for each in _OTHERS)})"
_VARIABLES: Final = f"{_FIRST.key_variables[0]} (or {', '.join(each.key_variables[0] for each in _OTHERS)})"
IN_VS_CODE: Final = 'To set one up, run the command "Palimpsest: Add or Change a Key".'
IN_TERMINAL: Final = f"To set one up, run {_LOGIN}."
ELSEWHERE: Final = (
    f"To set one up, set {_VARIABLES} in the environment of your editor and start it again, or run {_LOGIN} in a "
    "terminal."
)
_VS_CODE: Final = ("visual studio code", "vscodium", "code - oss", "cursor", "windsurf")
_TERMINAL: Final = "palimpsest chat"
_SEARCHES: Final = "Palimpsest only searches this folder and this conversation"


def next_step(editor_name: str) -> str:
    """How to set up a model in this editor. `editor_name` is the name that the editor gave, empty for none."""
    name = editor_name.casefold()
    if name.startswith(_VS_CODE):
        return IN_VS_CODE
    return IN_TERMINAL if name == _TERMINAL else ELSEWHERE


async def notice_of(store: Store, turn_id: TurnId, models: Models, step: str) -> str | None:
    """The line to show with a turn, which ends in the next step: what to do about a service that is set up and does not
    answer, or else `step`. None when a model answers, or when an earlier turn of the conversation was answered by the
    search too; that holds for every editor, and after a restart."""
    if not await store.read(turn_records.is_first_with, turn_id, OFFLINE):
        return None
    if silent := models.silent():
        return f"No model answers, so {_SEARCHES}. {' '.join(silent)} Then `/model PROVIDER/NAME` goes on with it."
    return f"No model is set up, so {_SEARCHES}. {step}"


async def offer_of(store: Store, turn_id: TurnId, models: Models) -> str | None:
    """The line to show when a model has been set up since the conversation began without one. None when a model
    answered the turn, or when no model can be used."""
    if (await store.read(turn_records.find, turn_id)).model != OFFLINE:
        return None
    return offer_for(models)


def offer_for(models: Models) -> str | None:
    """How a conversation that only searches goes on with the model that new ones have; None when they only search."""
    try:
        name = models.default().name
    except NotFound:
        return None
    if name == OFFLINE:
        return None
    return f"This conversation only searches. A model is set up now: `/model {name}` goes on with it."
