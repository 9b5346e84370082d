"""How the way to a hub is now, and who writes a shared conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from palimpsest.domain.messages import TurnId
from palimpsest.domain.turns.states import TURN

PURGE: Final = "a purge"
PUSH: Final = "a push to the hub"
_DOING: Final[Mapping[str, str]] = {
    TURN: "writing",
    PURGE: "purging messages",
    PUSH: "sending what the hub does not have yet",
}
"""The holders of the hub's leases. Other versions read and write the keys; people read the values, after `is` or
`are`."""


def doing(holder: str) -> str:
    """What the holder of a lease of the hub does, to be read after `ann is`; a newer version may have others."""
    return _DOING.get(holder, f"writing ({holder})")


class HubState(StrEnum):
    """The state of the way to the hub. The values are part of the protocol."""

    OFF = "off"
    """No hub is set up."""
    CONNECTING = "connecting"
    """The hub was not asked yet."""
    CONNECTED = "connected"
    AWAY = "away"
    """The hub does not answer."""
    REFUSED = "refused"
    """The hub answers and says no, such as to an unknown login."""
    NEWER_NEEDED = "newerNeeded"
    """The hub, or a conversation in it, needs a newer version of Palimpsest."""


@dataclass(frozen=True, slots=True)
class HubStatus:
    """How one folder's way to the hub is."""

    state: HubState
    since: str | None = None
    """For `away`: the time of the first call without an answer. UTC, ISO 8601."""
    problem: str | None = None
    """For `refused` and `newerNeeded`: the hub's sentence."""
    team: str | None = None
    """The name of the team with which conversations are shared; None when it is not known."""
    role: str | None = None
    """The user's role in it."""
    n_unsent: int = 0
    """The entries of shared conversations that the hub does not have yet."""


@dataclass(frozen=True, slots=True)
class Writing:
    """The work of somebody else on a shared conversation."""

    name: str
    """The member's."""
    work: str
    """What they do, to be read after `ann is`: `writing`."""
    is_self: bool = False
    """Whether it is the same member, on another machine."""
    turn_id: TurnId | None = None
    """The turn, once it has shown something."""
