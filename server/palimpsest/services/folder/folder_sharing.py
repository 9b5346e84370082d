"""The sharing of one open folder, by the settings of now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.repository_facts import RepositoryFacts
    from palimpsest.services.sharing.sharing import Sharing
    from palimpsest.services.sharing.watch import Watch

_LAST_WAIT_S: Final = 5.0


@dataclass(slots=True)
class FolderSharing:
    """One watch at a time."""

    current: Sharing | None = None
    """None: no hub is set up."""
    facts: RepositoryFacts | None = None
    """None: no hub is set up."""
    _watching: asyncio.Task[None] | None = None

    def take(self, sharing: Sharing | None, watch: Watch | None) -> None:
        """Replaces what was, when the settings change. What ended turns still push is pushed the old way."""
        if sharing is not None and self.current is not None:
            sharing.closing = self.current.closing
        self.current = sharing
        self.facts = None if watch is None else watch.facts
        if self._watching is not None:
            self._watching.cancel()
        self._watching = None if watch is None else asyncio.create_task(watch.run(), name="watch the hub")

    async def close(self) -> None:
        """Until what ended turns still push is pushed, or the hub is away, or slow: then the next opening pushes it."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self.current is not None:
            left = list(self.current.closing.values())
            if left:
                _, late = await asyncio.wait(left, timeout=_LAST_WAIT_S)
                for each in late:
                    each.cancel()
                await asyncio.gather(*left, return_exceptions=True)
