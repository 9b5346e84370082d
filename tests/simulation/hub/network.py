"""The network between simulated machines and the hub: answers come late, get lost, or come to a call that was repeated.

The hub is a process of its own, so the schedule decides when it carries a call out, and when the caller hears of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from tests.simulation.hub.model import ModelHub
from tests.simulation.scheduler import Lane, Node, SimLoop, _Call

from palimpsest_hub.errors import HubRefused, HubUnreachable

T = TypeVar("T")

LOOK_EVERY_S: Final = 15.0
"""As `palimpsest_hub.client`."""
FAULTS: Final = ("lost", "unheard", "twice", "late")
"""What happens to a call: it does not arrive; it is carried out, and its answer is lost; it is carried out twice,
because the first answer was lost; it is carried out after its caller was told that the hub did not answer."""
_WRITING: Final = (
    *("share", "unshare", "lease", "renew", "release", "let_go", "say", "push", "purge", "purge_forks"),
    *("set_membership", "repository", "push_facts"),
)
_LONGEST_LATE_S: Final = 40.0
_GIVES_UP_S: Final = (0.0, 0.0, 2.0, 30.0)
"""How long one waits before one says that the hub did not answer."""


@dataclass(eq=False, slots=True)
class Network:
    """The hub, and what is between."""

    loop: SimLoop
    chance: random.Random
    node: Node = field(default_factory=lambda: Node("hub"))
    clock_s: float = 0.0
    """By how much the hub's clock is off."""
    away: set[str] = field(default_factory=set)
    """The places that do not reach the hub."""
    faults: dict[str, deque[str]] = field(default_factory=dict)
    """By place: what happens to its next calls; an empty word for nothing."""
    n_late: int = 0
    """Calls that are carried out later."""
    hub: ModelHub = field(init=False)
    _waiting: list[tuple[str, str, asyncio.Future[None]]] = field(default_factory=list)
    """Who waits for news: a place, a channel, and what wakes it."""

    def __post_init__(self) -> None:
        ids = random.Random(self.chance.random())
        self.hub = ModelHub(lambda: self.loop.now_s + self.clock_s, lambda: f"{ids.getrandbits(128):032x}")
        self.hub.notify = self._notify
        self.loop.nodes.append(self.node)

    def heal(self) -> None:
        self.away.clear()
        self.faults.clear()

    async def carry(self, place: str, function: Callable[[], T]) -> T:
        """The answer of the hub. Raises HubRefused, HubUnreachable."""
        queue = self.faults.get(place)
        fault = "lost" if place in self.away else queue.popleft() if queue else ""
        if fault == "late":
            self.n_late += 1
            self.loop.spawn(self.node, self._later(function, self.chance.random() * _LONGEST_LATE_S))
        if fault == "unheard":
            with contextlib.suppress(HubRefused):
                await self._ask(function)
        if fault in ("lost", "late", "unheard"):
            await asyncio.sleep(self.chance.choice(_GIVES_UP_S))
            raise HubUnreachable("The hub did not answer in time.")
        if fault == "twice":
            with contextlib.suppress(HubRefused):
                await self._ask(function)
        return await self._ask(function)

    def _ask(self, function: Callable[[], T]) -> asyncio.Future[T]:
        answer: asyncio.Future[T] = self.loop.create_future()
        lane = Lane("call", is_pooled=True)
        lane.calls.append(_Call(function, answer))
        self.node.lanes.append(lane)
        return answer

    async def _later(self, function: Callable[[], object], delay_s: float) -> None:
        try:
            await asyncio.sleep(delay_s)
            with contextlib.suppress(HubRefused):
                function()
        finally:
            self.n_late -= 1

    def wait(self, place: str, channel: str) -> asyncio.Future[None]:
        """Done when the hub tells of news in the channel."""
        future: asyncio.Future[None] = self.loop.create_future()
        self._waiting.append((place, channel, future))
        return future

    def _notify(self, channel: str) -> None:
        for place, of, future in self._waiting:
            if of == channel and place not in self.away and not future.done():
                future.set_result(None)
        self._waiting = [each for each in self._waiting if not each[2].done()]


class Way:
    """Stands for `palimpsest_hub.client.Hub`: the way of one server process. As there, calls that write go one
    after another, and those that read."""

    def __init__(self, network: Network, place: str, member: str) -> None:
        self._network, self._place, self._member = network, place, member
        self._locks = {True: asyncio.Lock(), False: asyncio.Lock()}
        self.n_under_way = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(self._call, self._locks[name in _WRITING], getattr(self._network.hub, name))

    async def _call(self, lock: asyncio.Lock, function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        self.n_under_way += 1
        try:
            async with lock:
                call = functools.partial(function, self._member, *arguments, **more)
                return await self._network.carry(self._place, call)
        finally:
            self.n_under_way -= 1

    async def wakings(self, channel: str, poll_s: float | None = None) -> AsyncGenerator[None]:
        while True:
            news = self._network.wait(self._place, channel)
            yield
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S if poll_s is None else poll_s):
                    await news

    async def aclose(self) -> None:
        """There is nothing to close."""
