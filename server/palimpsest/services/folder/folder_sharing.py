"""The sharing of one open folder, by the settings of now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing
    from palimpsest.services.sharing.watch import Watch


@dataclass(slots=True)
class FolderSharing:
    """One watch at a time."""

    current: Sharing | None = None
    """None: no hub is set up."""
    _watching: asyncio.Task[None] | None = None

    def take(self, sharing: Sharing | None, watch: Watch | None) -> None:
        """Replaces what was, when the settings change. What ended turns still push is pushed the old way."""
        if sharing is not None and self.current is not None:
            sharing.closing = self.current.closing
        self.current = sharing
        if self._watching is not None:
            self._watching.cancel()
        self._watching = None if watch is None else asyncio.create_task(watch.run(), name="watch the hub")

    async def close(self) -> None:
        """Until what ended turns still push is pushed, or the hub is away."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self.current is not None:
            await asyncio.gather(*list(self.current.closing.values()), return_exceptions=True)
