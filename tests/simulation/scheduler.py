"""An event loop for several simulated processes: one seed is one exact schedule, and time passes only when nothing else
can happen.

What asyncio promises is kept, so that every schedule could happen on a real machine: callbacks of one process run in
the order in which they became ready, calls of one thread in the order in which they were asked for. The seed chooses
what a real machine leaves open: which process goes on, when a thread carries a call out, and when the loop hears of its
result. A callback and a call on a thread are one step each.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import hashlib
import heapq
import os
import random
import types
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

START_S = 1_000.0
"""What the clock of a loop says at first."""


@dataclass(slots=True)
class Schedule:
    """What happens next. By default the first of what can happen; now and then, by the seed, something else."""

    seed: int | None
    """None: never anything else."""
    deviations: Mapping[int, int] | None = None
    """Exactly these choices, by the number of the step; then the seed has no say."""
    taken: dict[int, int] = field(default_factory=dict)
    """The deviations of this run: another one with these is the same run."""
    _n_steps: int = 0
    _chance: random.Random = field(init=False)
    _share: float = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._share = 0.0 if self.seed is None else self._chance.choice((0.02, 0.1, 0.3, 0.6))

    def choose(self, n_possible: int) -> int:
        number = self._n_steps
        self._n_steps += 1
        if self.deviations is not None:
            chosen = self.deviations.get(number, 0) % n_possible
        elif n_possible > 1 and self._share and self._chance.random() < self._share:
            chosen = self._chance.randrange(n_possible)
        else:
            chosen = 0
        if chosen:
            self.taken[number] = chosen
        return chosen


@dataclass(slots=True)
class _Call:
    function: Callable[[], object]
    future: asyncio.Future[Any]
    result: object = None
    error: BaseException | None = None

    def carry_out(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error

    def tell(self) -> None:
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


@dataclass(eq=False, slots=True)
class Lane:
    """A thread of a simulated process: calls, and those of which the loop has not heard yet."""

    name: str
    calls: deque[_Call] = field(default_factory=deque)
    done: deque[_Call] = field(default_factory=deque)
    is_pooled: bool = False


@dataclass(eq=False, slots=True)
class Node:
    """A simulated process."""

    name: str
    ready: deque[asyncio.Handle] = field(default_factory=deque)
    lanes: list[Lane] = field(default_factory=list)
    is_dead: bool = False
    n_steps: int = 0
    """Its own."""
    held: list[Callable[[], object]] = field(default_factory=list)
    """What lets go of what the system takes back from a process that ends: files and locks."""
    context: Context = field(init=False)
    """What its tasks begin with."""

    def __post_init__(self) -> None:
        self.context = copy_context()
        self.context.run(NODE.set, self)

    def kill(self) -> None:
        """From now on nothing of it runs: what threads have not begun is not begun, nobody hears of the rest, and no
        `finally` block comes."""
        self.is_dead = True
        self.ready.clear()
        self.lanes.clear()
        for let_go in reversed(self.held):
            let_go()
        self.held.clear()

    @property
    def is_quiet(self) -> bool:
        return not self.ready and not any(lane.calls or lane.done for lane in self.lanes)


NODE: ContextVar[Node] = ContextVar("node")
"""Whose code runs. Tasks, callbacks and timers inherit it."""


class SimThread:
    """Stands for `palimpsest.machine.call_thread.CallThread`."""

    def __init__(self, name: str) -> None:
        self._lane = Lane(name)
        NODE.get().lanes.append(self._lane)

    def run(self, function: Callable[[], T]) -> asyncio.Future[T]:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._lane.calls.append(_Call(function, future))
        return future

    def end(self, last: Callable[[], object]) -> None:
        """Carries out the calls that are left, and then `last`; a real caller waits for them on another thread."""
        while self._lane.calls:
            call = self._lane.calls.popleft()
            call.carry_out()
            self._lane.done.append(call)
        last()


class SimLoop(asyncio.BaseEventLoop):
    """`step` does one thing. `trace`: the last things done, for people; `digest`: of all of them."""

    def __init__(self, schedule: Schedule, *, keeps_trace: bool = False) -> None:
        super().__init__()
        self.schedule = schedule
        self.nodes: list[Node] = []
        self.n_steps = 0
        self.now_s = START_S
        self.trace: list[str] | None = [] if keeps_trace else None
        self._digest = hashlib.sha256()
        self.start_program: Callable[..., Any] = _no_programs
        """Called with a protocol and a command: the transport of a program that has begun. Raises OSError."""
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._n_timers = 0
        if keeps_trace:  # a task in Python says which coroutine it runs
            self.set_task_factory(lambda loop, coro, context=None: _PyTask(coro, loop=loop, context=context))

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()[:16]

    # ------------------------------------------------------------------------------------- what asyncio asks of a loop

    def time(self) -> float:
        return self.now_s

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        node = handle._context.get(NODE)  # type: ignore[attr-defined]
        if node is not None and not node.is_dead:
            node.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._n_timers += 1
        heapq.heappush(self._timers, (when, self._n_timers, handle))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now_s + delay, callback, *args, context=context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        lane = Lane("pool", is_pooled=True)
        NODE.get().lanes.append(lane)
        future: asyncio.Future[T] = self.create_future()
        lane.calls.append(_Call(functools.partial(func, *args), future))
        return future

    async def _make_subprocess_transport(
        self, protocol: Any, args: Any, shell: object, *_: object, **options: Any
    ) -> Any:
        """The same as asyncio's own: a cancel before the pipes are connected leaves no program behind."""
        transport, connected = self.start_program(protocol, tuple(args), options), self.create_future()
        self.call_soon(_set, connected)
        try:
            await connected
        except BaseException:
            transport.close()
            await transport.wait()
            raise
        return transport

    # --------------------------------------------------------------------------------------------------------- stepping

    def step(self, *, may_wait: bool = True) -> bool:
        """Does one thing. False when there is nothing to do, or only, unless `may_wait`, to wait for a timer."""
        possible: list[tuple[str, Node, Lane | None]] = []
        heard: list[tuple[str, Node, Lane | None]] = []
        called: list[tuple[str, Node, Lane | None]] = []
        for node in self.nodes:
            if node.ready:
                possible.append(("run", node, None))
            for lane in node.lanes:
                if lane.done:
                    heard.append(("hear", node, lane))
                if lane.calls:
                    called.append(("call", node, lane))
        possible += heard
        possible += called
        if not possible:
            return may_wait and self._pass_time()
        what, node, chosen = possible[self.schedule.choose(len(possible))]
        self.n_steps += 1
        asyncio.events._set_running_loop(self)
        try:
            if chosen is None:
                handle = node.ready.popleft()
                if not handle.cancelled():
                    self._note(node, what, "", handle._callback)  # type: ignore[attr-defined]
                    handle._run()
            elif what == "call":
                call = chosen.calls.popleft()
                self._note(node, what, chosen.name, call.function)
                node.context.run(call.carry_out)
                chosen.done.append(call)
            else:
                call = chosen.done.popleft()
                self._note(node, what, chosen.name, call.function)
                self.call_soon(call.tell, context=node.context)
                if chosen.is_pooled:
                    node.lanes.remove(chosen)
        finally:
            asyncio.events._set_running_loop(None)
        return True

    def _pass_time(self) -> bool:
        while self._timers:
            when, _, handle = heapq.heappop(self._timers)
            node = handle._context.get(NODE)  # type: ignore[attr-defined]
            if not handle.cancelled() and node is not None and not node.is_dead:
                self.now_s = max(self.now_s, when)
                node.ready.append(handle)
                return True
        return False

    def _note(self, node: Node, what: str, where: str, callback: object) -> None:
        node.n_steps += 1
        self._digest.update(f"{self.now_s} {node.name} {what} {where}".encode())
        if self.trace is not None:
            at = f"{self.n_steps:6} {self.now_s - START_S:9.3f} {node.name} {what:4}"
            self.trace.append(f"{at} {where and where + ': '}{name_of(callback)}")

    def spawn(self, node: Node, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task of a process."""
        before = asyncio.events._get_running_loop()
        asyncio.events._set_running_loop(self)
        try:
            return node.context.copy().run(self.create_task, work)
        finally:
            asyncio.events._set_running_loop(before)

    def forget(self) -> None:
        """Closes it; what was under way is dropped, and nothing of it runs."""
        self.set_exception_handler(lambda *_: None)
        self.nodes.clear()
        self._timers.clear()
        self.start_program = _no_programs
        self.close()


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _no_programs(*_: object) -> Any:
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


_PyTask: Any = asyncio.tasks._PyTask  # type: ignore[attr-defined]


def name_of(what: Any) -> str:
    """For people."""
    if isinstance(what, functools.partial):
        inner = [
            name_of(each) for each in what.args if hasattr(each, "__qualname__") or isinstance(each, functools.partial)
        ]
        return inner[0] if inner else name_of(what.func)
    if isinstance(owner := getattr(what, "__self__", None), (_PyTask, asyncio.Task)):
        return f"task {getattr(owner.get_coro(), '__qualname__', '')}"
    if isinstance(what, types.FunctionType) and what.__qualname__ == what.__name__:
        return f"{what.__module__.rpartition('.')[2]}.{what.__name__}"
    return str(getattr(what, "__qualname__", type(what).__name__))
