"""What clients and the machine do: a list of operations by a seed, each a few numbers, so that a shorter list is a run
as well."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.simulation.world import Request, Server, World

from palimpsest.domain.messages import ConversationId
from palimpsest.services.folder.session import FolderSession

WAIT: Final = -1
"""Instead of a number of steps: when nothing is under way any more."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation. `a`, `b`: numbers that choose among what there is then."""

    kind: str
    a: int
    b: int
    gap: int
    """Steps after the operation before it, or `WAIT`."""
    number: int
    """Of the operation in the list it was drawn in: its words and its script depend on that only."""

    def chance(self, of: str = "") -> random.Random:
        """Random choices by the numbers of the operation, wherever it is in the list."""
        return random.Random(f"{of} {self.a} {self.b}")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of operation."""

    weight: int
    """How often, beside the others of a profile."""
    begin: Callable[[World, Op], None]
    """Sets it going; what takes time is a request of its own."""
    is_late: bool = False
    """Whether it is only of use while something is under way, so that it never waits until all is quiet."""


Service = Callable[[World, Request, FolderSession, ConversationId, Op], Coroutine[Any, Any, None]]
"""What a request does in a conversation."""


def of_conversation(weight: int, work: Service, *, is_late: bool = False) -> Kind:
    """A kind that calls a service about one of the conversations there are, on one of the servers."""

    def begin(world: World, op: Op) -> None:
        async def carry_out(request: Request) -> None:
            session = await world.open_folder(request.server)
            if (at := await one_of(world, session, op)) is not None:
                await work(world, request, session, at, op)

        world.request(op.kind, server_of(world, op), carry_out)

    return Kind(weight, begin, is_late)


def server_of(world: World, op: Op) -> Server:
    return world.server(op.a)


async def one_of(world: World, session: FolderSession, op: Op) -> ConversationId | None:
    """One of the conversations that the session's folder has; None where there is none."""
    found = list(world.conversations)
    if len(world.homes) > 1:
        found = [each for each in found if await session.conversations.holds(each)]
    return found[(op.a // 7) % len(found)] if found else None


Profiles = Mapping[str, Iterable[str]]
"""Kinds that are drawn together, by name: what needs a few of one sort in a row is rare among all of them."""


def draw(seed: int, kinds: Mapping[str, Kind], profiles: Profiles, profile: str | None, n: int) -> list[Op]:
    """The operations of a seed. The first ones do not depend on `n`. `profile`: None for the seed's own."""
    chance = random.Random(f"operations {seed}")
    names = list(profiles)
    drawn = set(profiles[profile or names[seed % len(names)]])
    # Swarm testing: some kinds are left out, some come three times as often.
    weights = {
        name: kind.weight * (1 if name == "chat" else chance.choice((0, 1, 1, 3)))
        for name, kind in kinds.items()
        if name in drawn
    }
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1)
    ops = [Op("chat", 0, chance.randrange(1 << 16), WAIT, 0)]
    for number in range(1, n):
        (name,) = chance.choices(list(weights), list(weights.values()))
        gap = WAIT if not kinds[name].is_late and chance.random() < 0.55 else 0
        if gap != WAIT:
            gap = chance.randrange(chance.choice((4, 20, 60, 200)))
        ops.append(Op(name, chance.randrange(1 << 16), chance.randrange(1 << 16), gap, number))
    return ops
