"""One connection of a member, made when it is needed and again after it was lost.

Nothing here needs a session, so a pooler in transaction mode may be in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection, AsyncPipeline
from psycopg.generators import send

from palimpsest_hub.addresses import connection_options
from palimpsest_hub.errors import HubRefused, HubUnreachable
from palimpsest_hub.failures import connecting_failure, failure_of

SCHEMAS: Final = range(4, 5)
"""The versions of the hub's schema with which this version works."""
_ATTEMPTS: Final = 3
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 5.0
"""A person may be waiting for a call."""
_AGAIN: Final = ("40001", "40P01")
"""A serialization failure and a deadlock: nothing was done, and every call may be repeated."""
# Names are looked up in PostgreSQL's own schema: a session that a pooler hands on may have been prepared by another.
_WHO: Final = (
    b"SELECT pg_catalog.set_config('hub.token', %s, true), pg_catalog.set_config('search_path', 'pg_catalog', true)"
)
Rows = list[tuple[Any, ...]]


class Pauses:
    """Random pauses between attempts, each bound twice the one before: after a restart the members do not all come at
    once."""

    def __init__(self, longest_s: float, jitter: Callable[[], float] = random.random) -> None:
        self._longest_s, self._jitter = longest_s, jitter
        self._bound_s = _FIRST_PAUSE_S

    def next_s(self) -> float:
        pause_s = self._bound_s * (0.5 + self._jitter() / 2)
        self._bound_s = min(self._bound_s * 2, self._longest_s)
        return pause_s

    def reset(self) -> None:
        self._bound_s = _FIRST_PAUSE_S


class _Together(AsyncPipeline):
    """Sends nothing behind the synchronization. psycopg asks again for what is left, which needs no asking; a pooler
    that has handed the session on meanwhile takes that for a query, and gives it a session that is never free again."""

    def _fetch_gen(self, *, flush: bool) -> Generator[Any, Any, None]:
        yield from send(self.pgconn)  # the rest of what is long
        yield from super()._fetch_gen(flush=False)


async def connect(address: str, password: str | None) -> AsyncConnection[Any]:
    """A new connection. Raises HubRefused and HubUnreachable."""
    options: dict[str, Any] = dict(connection_options(address))
    if password is not None:
        options["password"] = password
    try:
        return await AsyncConnection.connect(autocommit=True, prepare_threshold=None, **options)
    except psycopg.Error as error:
        raise connecting_failure(error) from None  # the driver's message names the login and the place


class Connection:
    """One call at a time. `timeout_s` bounds each, with the making of the connection."""

    def __init__(self, address: str, password: str | None, token: str | None, timeout_s: float) -> None:
        self._address, self._password, self._token, self._timeout_s = address, password, token, timeout_s
        self._connection: AsyncConnection[Any] | None = None
        self._lock = asyncio.Lock()
        self._pauses = Pauses(_LONGEST_PAUSE_S)
        self._not_before = 0.0
        self._is_over = False

    async def call(self, function: str, *arguments: object) -> Rows:
        """The rows that a function of the schema `hub` answers. Raises HubRefused, HubUnreachable."""
        return await self.rows(f"SELECT * FROM hub.{function}({', '.join(['%s'] * len(arguments))})", *arguments)

    async def rows(self, query: str, *arguments: object) -> Rows:
        """The rows of one statement, which is a transaction. Raises HubRefused, HubUnreachable."""
        async with self._lock:
            for attempt in range(_ATTEMPTS):
                was_open = self._connection is not None
                try:
                    async with asyncio.timeout(self._timeout_s):
                        return await self._carry_out(query, arguments)
                except psycopg.Error as error:
                    failure = failure_of(error)
                    is_lost = isinstance(failure, HubUnreachable)
                    if is_lost:
                        await self.close()
                    # A connection that was lost while nobody called is made again at once.
                    may_repeat = error.sqlstate in _AGAIN or (is_lost and was_open)
                    if not may_repeat or attempt + 1 == _ATTEMPTS:
                        raise failure from None  # the driver's message may quote what was sent
                except TimeoutError:
                    await self.close()
                    raise HubUnreachable("The hub did not answer in time.") from None
                except BaseException:  # cancelled in the middle of a call: what is left of it is nobody's answer
                    await self.close()
                    raise
        raise AssertionError("unreachable")

    async def end(self) -> None:
        """Close for good: a call that comes too late opens nothing any more."""
        self._is_over = True
        await self.close()

    async def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with contextlib.suppress(psycopg.Error, OSError):
                await connection.close()

    async def _carry_out(self, query: str, arguments: Sequence[object]) -> Rows:
        if self._connection is None or self._connection.closed:
            await self._open()
        return await self._statement(query, arguments)

    async def _open(self) -> None:
        """Connects and looks at the schema's version. After a failure calls fail at once for a while."""
        if self._is_over:
            raise HubUnreachable("The way to the hub was closed.")
        now = asyncio.get_running_loop().time()
        if now < self._not_before:
            raise HubUnreachable("The hub was not reached just now; it is tried again in a moment.")
        try:
            self._connection = await connect(self._address, self._password)
        except HubUnreachable:
            self._not_before = now + self._pauses.next_s()
            raise
        self._pauses.reset()
        if self._is_over:
            await self.close()
            raise HubUnreachable("The way to the hub was closed.")
        ((version,),) = await self._statement("SELECT max(version) FROM hub.migration", ())
        if version not in SCHEMAS:
            await self.close()
            raise HubRefused("schema", _wrong_schema(version))

    async def _statement(self, query: str, arguments: Sequence[object]) -> Rows:
        assert self._connection is not None
        if self._token is None:
            cursor = await self._connection.execute(query.encode(), arguments)
        else:
            # What is sent without waiting is one transaction up to the synchronization at its end: one round trip all
            # the same. Words for a transaction would be waited for.
            self._connection._pipeline = _Together(self._connection)
            async with self._connection.pipeline():
                await self._connection.execute(_WHO, [self._token])
                cursor = await self._connection.execute(query.encode(), arguments)
        return await cursor.fetchall() if cursor.description else []


def _wrong_schema(version: int) -> str:
    ours = f"{SCHEMAS[0]} to {SCHEMAS[-1]}" if len(SCHEMAS) > 1 else f"{SCHEMAS[0]}"
    advice = (
        "Install the newest Palimpsest"
        if version > SCHEMAS[-1]
        else "Ask the hub's administrator to run `palimpsest hub setup`"
    )
    return f"The hub's schema has version {version}, and this Palimpsest works with {ours}. {advice}."
