"""Simulated programs: what `run_command` starts, each a process of its own under a warden that does as
`palimpsest.workers.warden` does. What it writes and when it ends is scripted by its words.
"""

from __future__ import annotations

import asyncio
import json
import random
import shlex
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.simulation.scheduler import NODE, Node
from tests.simulation.world import World

_WARDEN_WORDS: Final = 4
"""The interpreter, two options and the warden's file stand before the program's own words."""
_HUGE: Final = bytes(13 << 20)
"""Five of these are more than a program may write."""
_TERM, _KILL = 15, 9


@dataclass(frozen=True, slots=True)
class Script:
    """The actions of a program."""

    acts: tuple[tuple[float, str, Any], ...]
    """Each with the seconds before it: `write` bytes, `fork` something that stays, `exit` with a status, `vanish` with
    its warden. Behind the last it hangs."""
    obeys: bool
    """Whether it ends when it is asked to."""
    problem: str | None = None
    """Why it cannot be started."""


def script_of(command: Sequence[str], number: int) -> Script:
    v = random.Random(zlib.crc32(f"{shlex.join(command)} {number}".encode()))
    obeys = v.random() < 0.6
    if v.random() < 0.08:
        return Script((), obeys, "No such file or directory")
    acts: list[tuple[float, str, Any]] = []
    if v.random() < 0.3:
        acts.append((v.choice((0.01, 0.5)), "fork", None))
    for _ in range(v.choice((0, 1, 1, 4))):
        acts.append(
            (v.choice((0.0, 0.0, 0.1, 2.0)), "write", b"bars: %d\n" % v.randrange(99) * v.choice((1, 1, 3_000)))
        )
    end = v.choices(("exit", "signal", "hang", "vanish", "huge"), (12, 2, 5, 1, 1))[0]
    if end == "huge":
        acts += [(0.0, "write", _HUGE)] * 6
    elif end == "exit":
        acts.append((v.choice((0.0, 0.0, 1.0, 9.0)), "exit", v.choice((0, 0, 1, 127))))
    elif end == "signal":
        acts.append((v.choice((0.0, 1.0)), "exit", -11))
    elif end == "vanish":
        acts.append((1.0, "vanish", None))
    else:
        acts.append((0.01, "fork", None))
    return Script(tuple(acts), obeys)


@dataclass(eq=False, slots=True)
class _Pipe:
    """From the warden to the server: what comes is heard in the order it was written, at the schedule's times."""

    program: Program
    fd: int
    came: deque[bytes | None] = field(default_factory=deque)
    is_over: bool = False
    """The server hears no more of it."""

    def send(self, data: bytes | None) -> None:
        """None: it ends."""
        self.came.append(data)
        self.program.tell_server(self._hear)

    def _hear(self) -> None:
        data = self.came.popleft()
        if self.is_over:
            return
        if data is None:
            self.lose()
        else:
            self.program.protocol.pipe_data_received(self.fd, data)

    def lose(self) -> None:
        if not self.is_over:
            self.is_over = True
            self.program.protocol.pipe_connection_lost(self.fd, None)
            self.program.finish()


@dataclass(eq=False, slots=True)
class Program:
    """One program with its warden; for the server it is the transport to them."""

    world: World
    command: tuple[str, ...]
    script: Script
    protocol: asyncio.SubprocessProtocol
    node: Node
    """Of the warden."""
    server_node: Node
    is_running: bool = False
    """The program itself."""
    has_left: bool = False
    """Whether something runs that it has left behind."""
    status: int | None = None
    """How it ended by itself."""
    written: int = 0
    pipes: dict[int, _Pipe] = field(default_factory=dict)
    is_warden_over: bool = False
    _is_exit_heard: bool = False
    _is_lost: bool = False
    _is_hung_up: bool = False
    _n_acted: int = 0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def begin(self) -> None:
        self.pipes = {fd: _Pipe(self, fd) for fd in (0, 1, 2)}
        self.world.loop.nodes.append(self.node)
        self.server_node.held.append(self._hang_up)
        self._later(0.0, self._start)

    @property
    def is_alive(self) -> bool:
        return self.is_running or self.has_left

    # ---------------------------------------------------------------------------------------- what the warden does

    def _later(self, delay_s: float, function: Callable[[], None]) -> None:
        if delay_s:
            self.world.loop.call_later(delay_s, function, context=self.node.context)
        else:
            self.world.loop.call_soon(function, context=self.node.context)

    def _start(self) -> None:
        if self.script.problem is not None:
            self._say({"error": self.script.problem})
            self._exit()
            return
        self.is_running = True
        self._go_on()

    def _go_on(self) -> None:
        if self._n_acted < len(self.script.acts):
            self._later(self.script.acts[self._n_acted][0], self._act)

    def _act(self) -> None:
        if not self.is_running:
            return
        _, what, with_ = self.script.acts[self._n_acted]
        self._n_acted += 1
        match what:
            case "write":
                self.written += len(with_)
                self.pipes[2].send(with_)
            case "fork":
                self.has_left = True
            case "exit":
                self._end(with_)
                return
            case _:  # somebody else kills the warden; what it leaves then nobody can know
                self.has_left = False
                self._die()
                return
        self._go_on()

    def _end(self, status: int) -> None:
        """The program has ended, and the warden ends what it left."""
        self.is_running, self.status = False, status
        self._say({"status": status})
        self._later(0.0, self._end_rest)

    def _end_rest(self) -> None:
        self.is_running = self.has_left = False
        self._exit()

    def _say(self, said: dict[str, object]) -> None:
        line = json.dumps(said).encode() + b"\n"
        for piece in (line[:5], line[5:]) if len(self.command) % 2 else (line,):
            self.pipes[1].send(piece)

    def _exit(self) -> None:
        if self.is_warden_over:
            return
        self.is_warden_over = True
        for fd in (1, 2):
            self.pipes[fd].send(None)
        self.tell_server(self.pipes[0].lose)
        self.tell_server(self._hear_exit)
        self.node.kill()
        if self.node in self.world.loop.nodes:
            self.world.loop.nodes.remove(self.node)

    def _die(self) -> None:
        """The warden is killed: the program goes with it, and nobody ends what that left behind."""
        self.is_running = False
        self._exit()

    def _ask_to_end(self) -> None:
        if self.is_running and self.script.obeys:
            self.has_left = False
            self._end(-_TERM)

    def _hang_up(self) -> None:
        """The server's end of the input is closed."""
        if not self.is_warden_over and not self._is_hung_up:
            self._is_hung_up = True
            self._later(0.0, self._end_rest)

    # ----------------------------------------------------------------------------------------- what the server hears

    def tell_server(self, function: Callable[[], None]) -> None:
        self.world.loop.call_soon(function, context=self.server_node.context)

    def _hear_exit(self) -> None:
        self._is_exit_heard = True
        self.protocol.process_exited()
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self.finish()

    def finish(self) -> None:
        if self._is_exit_heard and not self._is_lost and all(pipe.is_over for pipe in self.pipes.values()):
            self._is_lost = True
            self.tell_server(lambda: self.protocol.connection_lost(None))

    # ------------------------------------------------------------------------------------------- what the server does

    def get_pipe_transport(self, fd: int) -> _Input:
        return _Input(self)

    def write(self, data: bytes) -> None:
        if data == b"t" and not self.is_warden_over:
            self._later(0.0, self._ask_to_end)

    def close_input(self) -> None:
        self.tell_server(self._close_input)

    def _close_input(self) -> None:
        self._hang_up()
        self.pipes[0].lose()

    def close(self) -> None:
        """Closes the pipes of the transport and kills a living warden."""
        for pipe in self.pipes.values():
            self.tell_server(pipe.lose)
        if not self.is_warden_over:
            self._die()

    async def wait(self) -> None:
        if not self._is_exit_heard:
            self._waiting.append(waiting := asyncio.get_running_loop().create_future())
            await waiting


@dataclass(frozen=True, slots=True)
class _Input:
    """The stream that a server writes to a warden."""

    program: Program

    def write(self, data: bytes) -> None:
        self.program.write(data)

    def close(self) -> None:
        self.program.close_input()


class Programs:
    """All of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.all: list[Program] = []
        self.on_start: Callable[[Program], None] = lambda _: None
        world.loop.start_program = self._start

    def _start(self, protocol: asyncio.SubprocessProtocol, args: Sequence[str], options: dict[str, Any]) -> Program:
        if not Path(options["cwd"]).is_dir():
            raise FileNotFoundError(2, "No such file or directory")
        command, number = tuple(map(str, args[_WARDEN_WORDS:])), len(self.all)
        program = Program(self.world, command, script_of(command, number), protocol, Node(f"p{number}"), NODE.get())
        self.all.append(program)
        self.on_start(program)
        program.begin()
        return program

    def look(self) -> None:
        """When nothing is under way, nothing that was started runs any more."""
        while any(program.node.ready for program in self.all):  # what a server that died leaves to its wardens
            self.world.loop.step(may_wait=False)
        for program in self.all:
            if program.is_alive:
                what = "the program" if program.is_running else "what it left"
                self.world.problem("program left running", f"{what}: {shlex.join(program.command)}")
            elif not program.is_warden_over:
                self.world.problem("warden left running", shlex.join(program.command))
