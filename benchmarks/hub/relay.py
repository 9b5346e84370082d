"""A way to a PostgreSQL's socket that takes longer, counts round trips and can be cut."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


@dataclass
class Relay:
    """Listens on loopback. A cut relay drops its connections and takes none until it is mended."""

    address: str
    """Of the PostgreSQL, with the folder of its socket."""
    one_way_s: float = 0.0
    """How much longer each direction takes."""
    n_round_trips: int = 0
    """How often a connection asked again after it was answered. Making a connection counts with the rest."""
    is_cut: bool = False
    hear: Callable[[bytes], None] = lambda _: None
    """Called with all that is sent to the hub."""
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=1000)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def way(self, user: str, password: str) -> str:
        """The address of the same database through this relay."""
        port = self._server.sockets[0].getsockname()[1]
        return make_conninfo(self.address, host="127.0.0.1", port=port, user=user, password=password)

    def cut(self) -> None:
        self.is_cut = True
        for each in self._writers:
            each.transport.abort()

    def mend(self) -> None:
        self.is_cut = False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        with contextlib.suppress(OSError):
            if not self.is_cut:
                await self._carry(reader, writer)
        writer.transport.abort()
        self._writers.discard(writer)
        self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = conninfo_to_dict(self.address).get("port") or 5432
        there, back = await asyncio.open_unix_connection(f"{conninfo_to_dict(self.address)['host']}/.s.PGSQL.{port}")
        self._writers.add(back)
        is_answered = True

        def ask(data: bytes) -> None:
            nonlocal is_answered
            self.hear(data)
            self.n_round_trips += is_answered
            is_answered = False

        def answer(_: bytes) -> None:
            nonlocal is_answered
            is_answered = True

        directions = [
            asyncio.create_task(self._one_way(reader, back, ask)),
            asyncio.create_task(self._one_way(there, writer, answer)),
        ]
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        for each in directions:
            each.cancel()
        await asyncio.gather(*directions, return_exceptions=True)
        back.transport.abort()
        self._writers.discard(back)

    async def _one_way(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passing: Callable[[bytes], None]
    ) -> None:
        """Until the sender ends. What is under way arrives in its order."""
        loop = asyncio.get_running_loop()
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                due, data = await under_way.get()
                if (pause_s := due - loop.time()) > 0:
                    await asyncio.sleep(pause_s)
                writer.write(data)
                await writer.drain()
                under_way.task_done()

        delivering = asyncio.create_task(deliver())
        try:
            while data := await reader.read(1 << 18):
                passing(data)
                if self.one_way_s or not under_way.empty():
                    under_way.put_nowait((loop.time() + self.one_way_s, data))
                else:
                    writer.write(data)
                    await writer.drain()
            await under_way.join()
        finally:
            delivering.cancel()
