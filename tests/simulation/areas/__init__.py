"""The areas of operations: each a module with `KINDS`, and with `look` and `end` where it has something of its own to
hold true. They count once they stand in the lists here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tests.simulation import elsewhere, kept_facts
from tests.simulation.areas import (
    approvals,
    chat,
    documents,
    edge,
    files,
    folders,
    history,
    machines,
    minds,
    sharing,
    transfers,
)
from tests.simulation.operations import Kind, Op, Profiles
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

Look = Callable[[World, "Oracle"], None]

AREAS: Final = (
    chat,
    history,
    machines,
    edge,
    files,
    transfers,
    folders,
    documents,
    approvals,
    minds,
    sharing,
)

KINDS: Final[Mapping[str, Kind]] = {name: kind for area in AREAS for name, kind in area.KINDS.items()}

PROFILES: Final[Profiles] = {
    "services": (
        *chat.KINDS,
        *(each for each in (*history.KINDS, *machines.KINDS) if each not in ("overtake", "unlock")),
    ),
    "answers": (
        *("chat", "again", "cancel", "stop", "continue", "retry", "discard", "rollback", "summarize", "new", "fork"),
    ),
    "cuts": (
        *("chat", "cancel", "summarize", "switch", "rollback", "rewind", "undo", "redo", "expand", "regenerate"),
        *("fork", "pin", "withdraw", "layout"),
    ),
    "purges": ("chat", "cancel", "purge", "rollback", "rewind", "fork", "extract", "stop", "discard", "summarize"),
    "machines": (
        *("chat", "second", "kill", "fault", "clock", "attach", "stop", "cancel", "rollback", "settings", "trust"),
        *("purge", "name", "again"),
    ),
    "deaths": ("chat", "again", "second", "kill", "attach", "stop", "unlock"),
    "servers": (
        *("chat", "new", "second", "kill", "rollback", "retry", "discard", "purge", "extract", "summarize", "overtake"),
    ),
    "documents": (*documents.KINDS, "chat", "take back", "ask", "leave", "crash", "summarize", "cancel"),
    "edge": (*edge.KINDS, "chat", "fault", "summarize", "rollback"),
    "files": (
        *("chat", *files.KINDS, "new", "extract", "rollback", "purge", "undo"),
        *("cancel", "second", "kill", "fault", "settings"),
    ),
    "folders": (
        *("chat", *folders.KINDS, "new", "learn", "pin fact", "change", "summarize", "rollback"),
        *("cancel", "second", "kill", "fault", "stop", "settings", "layout"),
    ),
    "transfers": (
        *("chat", *transfers.KINDS, "new", "fork", "rollback", "purge", "summarize", "name"),
        *("cancel", "second", "kill", "fault"),
    ),
    "approvals": (
        *("chat", *approvals.KINDS, "halt", "take back", "leave", "crash", "terminate", "watch"),
        *("cancel", "continue", "retry", "discard", "rollback", "purge"),
    ),
    "minds": (
        *("chat", *minds.KINDS, "new", "fork", "pin", "withdraw", "forget", "restore", "extract", "name"),
        *("rollback", "rewind", "purge", "retry", "discard", "cancel", "second", "kill"),
    ),
    "sharing": (
        *("chat", *sharing.KINDS, "fork", "rollback", "rewind", "undo", "redo", "summarize", "name", "purge"),
        *("cancel", "stop", "continue", "retry", "discard", "second", "kill", "fault", "clock"),
    ),
}

LOOKS: Final[Sequence[Look]] = (
    edge.look,
    documents.look,
    approvals.look,
    kept_facts.look,
    elsewhere.look,
    minds.look,
    sharing.look,
)
"""What areas hold true of their own, whenever nothing is under way."""

ENDS: Final[Sequence[Look]] = (edge.end, sharing.end, elsewhere.end)
"""… and when a run ends."""

BEGINS: Final[Sequence[Callable[[World, Sequence[Op]], None]]] = (sharing.begin,)
"""What areas do before the first operation of a list."""

CALMS: Final[Sequence[Callable[[World], None]]] = (sharing.calm,)
"""What areas do before the last chats: nothing stays in the way of those."""
