"""What others do in the shared conversation that is open: who writes, their answers, and what moved apart."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from palimpsest.terminal import texts
from palimpsest.terminal.connection import News
from palimpsest.terminal.errors import TerminalError
from palimpsest.terminal.render import View, ending, one_line
from palimpsest.terminal.session import Session, follow
from palimpsest.wire.areas.conversations import SharingState, WriterInfo
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
        self._comparing: asyncio.Task[None] | None = None
        self._is_old = False
        """Whether the conversation has changed again while it is compared."""
        self._shared: str | None = None
        """The conversation that was shared at the last look."""
        self.writer = ""
        """Whose answer waits to be shown, or is shown."""

    def hear(self, news: News) -> None:
        if isinstance(news, MovedApartParams):
            self._view.note(texts.moved_apart(one_line(news.title), one_line(news.fork_title)))
        elif news.conversation_id != self._session.conversation_id:
            return
        elif isinstance(news, PresenceChangedParams):
            self._take(news.writer)
        else:
            self._begin_to_compare()

    def _begin_to_compare(self) -> None:
        if self._comparing is None or self._comparing.done():
            self._comparing = asyncio.create_task(self._compare())
        else:
            self._is_old = True

    async def _compare(self) -> None:
        """Tells of what others asked and nothing was shown of, as between two looks at the hub, and of the end of the
        sharing."""
        self._is_old = True
        while self._is_old:
            self._is_old = False
            with contextlib.suppress(TerminalError):
                await self._look_once()

    async def _look_once(self) -> None:
        found = await self._session.conversation()
        if found is None or found.shared is None:
            return
        if found.shared.state is SharingState.DETACHED:
            if self._shared == found.conversation_id:
                self._view.note(texts.SHARED_NO_LONGER)
            self._shared = None
            return
        self._shared = found.conversation_id
        asked = await self._session.newest_question()
        is_new = asked is not None and asked.id > self._session.seen_question
        if asked is None or not is_new or found.shared.writer is not None:
            return  # while they write, their answer is shown
        self._session.seen_question = asked.id
        if asked.author is not None:
            self._view.note(texts.OTHERS_WROTE)

    def _take(self, writer: WriterInfo | None) -> None:
        if writer is None:
            self._told, self._waiting = "", None
            self._begin_to_compare()
            return
        self.writer = one_line(writer.name)
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
            self._session.seen_question = asked.id
            self._view.say(texts.asked_by(one_line(asked.author or texts.SOMEBODY), one_line(asked.text)))
        result = await follow(self._view, self._session.attach(turn_id))
        if result.status is not TurnStatus.COMMITTED:
            self._view.note(texts.BROKE_OFF)
        elif (sentence := ending(result)) is not None:
            self._view.note(sentence)
