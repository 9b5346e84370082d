"""What others do in the shared conversation that is open: who writes, their answers, and what moved apart."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from palimpsest.terminal import texts
from palimpsest.terminal.errors import TerminalError
from palimpsest.terminal.render import View, ending, one_line
from palimpsest.terminal.session import Session, follow
from palimpsest.wire.areas.conversations import WriterInfo
from palimpsest.wire.areas.sharing import MovedApartParams, PresenceChangedParams
from palimpsest.wire.areas.turns import TurnStatus


class Others:
    """Hears of them, and shows an answer of theirs when nothing else is shown."""

    def __init__(self, session: Session, view: View, wake: Callable[[], None]) -> None:
        """`wake`: called when an answer waits to be shown."""
        self._session, self._view, self._wake = session, view, wake
        self._told = ""
        """Who writes, as it was said last."""
        self._waiting: str | None = None
        """The turn whose answer waits to be shown."""
        self._reading: set[asyncio.Task[None]] = set()

    def hear(self, news: PresenceChangedParams | MovedApartParams) -> None:
        if isinstance(news, MovedApartParams):
            self._view.note(texts.moved_apart(one_line(news.title), one_line(news.fork_title)))
        elif news.conversation_id == self._session.conversation_id:
            self._take(news.writer)

    def _take(self, writer: WriterInfo | None) -> None:
        if writer is None:
            if self._waiting is not None:  # it ended while something else was shown
                self._view.note(texts.OTHERS_WROTE)
            self._told, self._waiting = "", None
            return
        said = texts.others_write(one_line(writer.name), one_line(writer.work), is_self=writer.is_self)
        if said != self._told:
            self._told = said
            self._view.note(said)
        if writer.turn_id is None:
            # The server follows closely what somebody reads.
            task = asyncio.create_task(self._look())
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)
        elif writer.turn_id != self._waiting:
            self._waiting = writer.turn_id
            self._wake()

    async def _look(self) -> None:
        with contextlib.suppress(TerminalError):
            await self._session.newest_question()

    def take_turn(self) -> str | None:
        """The turn whose answer waits to be shown; it is waited for no longer."""
        turn_id, self._waiting = self._waiting, None
        return turn_id

    async def show(self, turn_id: str) -> None:
        """Show the question and the answer, to its end. To stop following does not stop the turn."""
        asked = await self._session.newest_question()
        if asked is not None and asked.turn_id == turn_id:
            self._view.say(texts.asked_by(one_line(asked.author or texts.SOMEBODY), one_line(asked.text)))
        result = await follow(self._view, self._session.attach(turn_id))
        if result.status is not TurnStatus.COMMITTED:
            self._view.note(texts.BROKE_OFF)
        elif (sentence := ending(result)) is not None:
            self._view.note(sentence)
