"""Turns of shared conversations that another machine runs, for `turn/attach` and `turn/cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import TurnId
from palimpsest.lsp.places import kept_sessions
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.remote_turn import RemoteTurn


async def find_remote(ls: PalimpsestServer, turn_id: str) -> tuple[FolderSession, RemoteTurn] | None:
    """The turn with its folder's session; None when no other machine is known to run it now."""
    for session in await kept_sessions(ls):
        if (turn := session.folder.sharing.turn(TurnId(turn_id))) is not None:
            return session, turn
    return None


async def refuse_to_stop(ls: PalimpsestServer, turn_id: str, missing: NotFound) -> None:
    """Raises `missing`, or InvalidRequest for a turn that another machine runs."""
    if (found := await find_remote(ls, turn_id)) is None:
        raise missing
    raise InvalidRequest(f"{found[1].writer} runs this turn on another machine, so it can only be stopped there.")
