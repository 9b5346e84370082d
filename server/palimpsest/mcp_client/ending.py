"""Why a connection ends."""

from __future__ import annotations

import asyncio

from palimpsest.services.mcp.connection import McpFailure


class Ending:
    """The end of one connection. The first reason counts."""

    def __init__(self) -> None:
        self.has_come = asyncio.Event()
        self._sentence, self._detail, self._is_final = "The connection has ended.", "", False

    def end(self, sentence: str, detail: str = "", *, is_final: bool = False) -> None:
        """See `McpFailure`."""
        if not self.has_come.is_set():
            self._sentence, self._detail, self._is_final = sentence, detail, is_final
            self.has_come.set()

    def failure(self) -> McpFailure:
        return McpFailure(self._sentence, detail=self._detail, is_over=True, is_final=self._is_final)
