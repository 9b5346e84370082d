"""Work that no request waits for, by conversation. Whoever closes the store closes this first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Background:
    """Its tasks end by themselves, or when it is closed. A failure is logged and hurts nobody."""

    _tasks: dict[asyncio.Task[None], ConversationId] = field(default_factory=dict)

    def start(self, conversation_id: ConversationId, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(logged(work), name=f"background {conversation_id}")
        self._tasks[task] = conversation_id
        task.add_done_callback(self._tasks.pop)

    async def settle(self, conversation_id: ConversationId) -> None:
        """Waits until nothing is under way for the conversation."""
        await asyncio.gather(*(task for task, each in self._tasks.items() if each == conversation_id))

    async def close(self) -> None:
        """Stops everything."""
        await asyncio.sleep(0)  # what was started just now begins, because what never began cannot clean up either
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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
