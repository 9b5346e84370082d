"""The queue of one session's updates for the client."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from palimpsest.acp_agent.updates import Update

log = logging.getLogger(__name__)


class Outbox:
    """Use it on one event loop. `put` never waits; a client that has left gets nothing more."""

    def __init__(self, client: Any, session_id: str) -> None:
        self._client = client
        self._session_id = session_id
        self._updates: asyncio.Queue[Update] = asyncio.Queue()
        self._is_lost = False
        self._sending = asyncio.create_task(self._send(), name=f"updates of {session_id}")

    def put(self, update: Update | None) -> None:
        if update is not None and not self._is_lost:
            self._updates.put_nowait(update)

    async def flush(self) -> None:
        """Wait until all earlier updates are sent."""
        await self._updates.join()

    def lose(self) -> None:
        """Stop sending, because the client has left."""
        self._is_lost = True
        self._sending.cancel()
        while not self._updates.empty():
            self._updates.get_nowait()
            self._updates.task_done()

    async def _send(self) -> None:
        while True:
            update = await self._updates.get()
            try:
                await self._client.session_update(session_id=self._session_id, update=update)
            except Exception as error:
                log.warning("the client cannot be reached (%s)", type(error).__name__)
                self.lose()
            finally:
                self._updates.task_done()
