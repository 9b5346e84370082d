"""Work that no request waits for, by conversation. Whoever closes the store closes this first."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections import Counter
from collections.abc import AsyncIterator, Collection, Coroutine
from dataclasses import dataclass, field

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a task reads: messages of the conversation below `end`."""

    conversation_id: ConversationId | None
    end: int


@dataclass(slots=True)
class Background:
    """Its tasks end by themselves, or when it is closed. A failure is logged and hurts nobody."""

    _tasks: dict[asyncio.Task[None], _Reading] = field(default_factory=dict)
    _paused: Counter[ConversationId] = field(default_factory=Counter)
    _waiting: list[tuple[_Reading, Coroutine[None, None, None]]] = field(default_factory=list)
    """What was asked for while its conversation was paused."""
    _is_closed: bool = False

    def start(
        self, conversation_id: ConversationId | None, work: Coroutine[None, None, None], end: int = sys.maxsize
    ) -> None:
        """`conversation_id`: whose messages the work reads; None for work that reads none, which no pause stops. `end`:
        it reads only messages below."""
        self._begin(_Reading(conversation_id, end), work)

    def _begin(self, reading: _Reading, work: Coroutine[None, None, None]) -> None:
        if self._is_closed:  # what the work needs is closed next
            work.close()
            return
        if reading.conversation_id is not None and self._paused[reading.conversation_id]:
            self._waiting.append((reading, work))
            return
        task = asyncio.create_task(logged(work), name=f"background {reading.conversation_id}")
        self._tasks[task] = reading
        task.add_done_callback(self._tasks.pop)

    @contextlib.asynccontextmanager
    async def paused(self, conversation_ids: Collection[ConversationId], start: int = 0) -> AsyncIterator[None]:
        """Stops what reads the messages of these conversations from `start` on, and lets nothing begin while the block
        runs; what is asked for meanwhile begins afterwards. For whoever hides or removes what the work would read."""
        self._paused.update(list(conversation_ids))
        try:
            concerned = {each for each in self._tasks.values() if each.conversation_id in conversation_ids}
            concerned = {each for each in concerned if each.end > start}
            await self._stop([task for task, each in self._tasks.items() if each in concerned])
            yield
        finally:
            self._paused.subtract(list(conversation_ids))
            waiting, self._waiting = self._waiting, []
            for reading, work in waiting:
                self._begin(reading, work)

    @property
    def is_idle(self) -> bool:
        return not self._tasks and not self._waiting

    async def settle(self, conversation_id: ConversationId) -> None:
        """Waits until nothing is under way for the conversation."""
        tasks = [task for task, each in self._tasks.items() if each.conversation_id == conversation_id]
        await asyncio.gather(*tasks)

    async def close(self) -> None:
        """Stops everything; nothing begins any more."""
        self._is_closed = True
        for _, work in self._waiting:
            work.close()
        self._waiting.clear()
        await self._stop(list(self._tasks))

    async def _stop(self, tasks: Collection[asyncio.Task[None]]) -> None:
        await asyncio.sleep(0)  # what was started just now begins, because what never began cannot clean up either
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def logged(work: Coroutine[None, None, None]) -> None:
    """Does the work; a failure is logged, without any text of it."""
    try:
        await work
    except PalimpsestError as error:
        log.info("work in the background was given up: %s", error.kind)
    except TimeoutError:
        log.info("work in the background was given up: it took too long")
    except Exception:
        log.exception("work in the background failed")
