"""The states of a turn and its edges.

admitted -> prepared -> streaming <-> tools -> committed | cancelled | errored | interrupted
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from palimpsest.domain.turns.journal import Ending

TURN: Final = "a turn"
"""The holder's name in the leases of a turn, of the store and of the hub."""


class TurnState(StrEnum):
    ADMITTED = "admitted"
    PREPARED = "prepared"
    STREAMING = "streaming"
    TOOLS = "tools"
    COMMITTED = "committed"
    CANCELLED = "cancelled"
    ERRORED = "errored"
    INTERRUPTED = "interrupted"
    """Its server died or ended without the user asking for it: the user is offered to continue it."""

    @property
    def is_final(self) -> bool:
        return self in FINAL_STATES


FINAL_STATES: Final = frozenset((TurnState.COMMITTED, TurnState.CANCELLED, TurnState.ERRORED, TurnState.INTERRUPTED))
_EDGES: Final = {
    TurnState.ADMITTED: {TurnState.PREPARED},
    TurnState.PREPARED: {TurnState.STREAMING},
    TurnState.STREAMING: {TurnState.TOOLS, TurnState.COMMITTED},
    TurnState.TOOLS: {TurnState.PREPARED, TurnState.COMMITTED},
}


def may_follow(old: TurnState, new: TurnState) -> bool:
    """Whether a turn may go from `old` to `new`. Every running state may be cancelled, fail or be interrupted."""
    if old.is_final:
        return False
    return new in _EDGES[old] or new in FINAL_STATES - {TurnState.COMMITTED}


ENDING_STATES: Final = {
    Ending.COMPLETE: TurnState.COMMITTED,
    Ending.CANCELLED: TurnState.CANCELLED,
    Ending.ERRORED: TurnState.ERRORED,
    Ending.INTERRUPTED: TurnState.INTERRUPTED,
}
"""The state of a turn after the ending of its last step."""
