"""The conversation through pipes: each line of stdin is a message, and stdout gets the answers as plain text.

An empty line follows each answer. Errors go to stderr; the lines after an error are still answered, and the exit status
is 1 in the end.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TextIO, assert_never

from palimpsest.printing import sanitise
from palimpsest.terminal.calls import Event, ServerNote, WorkDone
from palimpsest.terminal.commands import Commands, parse
from palimpsest.terminal.errors import ServerGone, TerminalError, describe
from palimpsest.terminal.interrupts import Interrupts
from palimpsest.terminal.lines import LineReader
from palimpsest.terminal.render import ending, one_line, unescaped
from palimpsest.terminal.session import Session, Turn, follow
from palimpsest.wire.areas.turns import DeltaType, TurnDelta, TurnStatus
from palimpsest.wire.areas.usage import ContextEvent

INTERRUPTED = 130

_CANCEL_PATIENCE_S = 5.0


class PlainView:
    """Writes answers to stdout and everything else to stderr. Both are cleaned as for a terminal, because a terminal
    often reads the pipe."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self._is_at_left = True
        self._has_said = False

    def say(self, text: str) -> None:
        self._write(text)
        self._to_left()

    def note(self, text: str) -> None:
        self.say(text)

    def answer(self, markdown: str) -> None:
        self.say(unescaped(markdown))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        for row in (columns, *rows):
            self.say("\t".join(one_line(cell) for cell in row))

    def fail(self, sentence: str) -> None:
        self._err.write(sanitise(sentence) + "\n")
        self._err.flush()

    def show(self, event: Event) -> None:
        if isinstance(event, TurnDelta):
            self._show_delta(event)
        elif isinstance(event, ServerNote):
            self.fail(event.text)
        elif not isinstance(event, (ContextEvent, WorkDone)):
            assert_never(event)

    def finish(self) -> None:
        self._to_left()

    def separate(self) -> None:
        """Write the empty line after an answer."""
        self._to_left()
        if self._has_said:
            self._put("\n")
            self._has_said = False

    def _show_delta(self, delta: TurnDelta) -> None:
        if delta.type is DeltaType.TEXT:
            self._write(delta.text or "")
        elif delta.type is DeltaType.TOOL_CALL:
            # The texts before and after a tool call are separate.
            self._to_left()

    def _to_left(self) -> None:
        if not self._is_at_left:
            self._put("\n")
            self._is_at_left = True

    def _write(self, text: str) -> None:
        text = sanitise(text)
        if text:
            self._put(text)
            self._is_at_left = text.endswith("\n")
            self._has_said = True

    def _put(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class PlainConversation:
    """The loop of lines and answers."""

    def __init__(self, session: Session, interrupts: Interrupts) -> None:
        self._session = session
        self._interrupts = interrupts
        self._view = PlainView(sys.stdout, sys.stderr)
        self._commands = Commands(session, self._view)
        session.connection.note = self._view.fail
        self._turn: Turn | None = None
        self._has_failed = False
        self._is_interrupted = False

    async def hold(self, *, begins_new: bool) -> int:
        """Answer all lines. Returns the exit status: 0, 1 when anything failed, 130 after an interrupt."""
        work = asyncio.create_task(self._answer_lines(begins_new))
        stops: list[asyncio.Task[None]] = []

        def stop(count: int) -> None:
            self._is_interrupted = True
            turn = self._turn or self._commands.turn
            if turn is None or count > 1:
                work.cancel()
            else:
                # Wait for the end of the turn, so that the partial answer is printed, but not for ever.
                stops.append(asyncio.create_task(turn.cancel()))
                asyncio.get_running_loop().call_later(_CANCEL_PATIENCE_S, work.cancel)

        try:
            with self._interrupts.calling(stop):
                await work
        except asyncio.CancelledError:
            if not self._is_interrupted:
                raise
        except TerminalError as error:
            self._fail(describe(error))
        finally:
            for task in stops:
                task.cancel()
        return INTERRUPTED if self._is_interrupted else int(self._has_failed)

    async def _answer_lines(self, begins_new: bool) -> None:
        if not begins_new:
            for conversation in (await self._session.conversations())[:1]:
                self._session.conversation_id = conversation.conversation_id
        reader = LineReader(sys.stdin.fileno())
        number = 0
        while not (self._commands.wants_to_quit or self._is_interrupted):
            if (line := await reader.next()) is None:
                break
            number += 1
            await self._answer(self._decode(line, number))

    def _decode(self, line: bytes, number: int) -> str:
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            self._view.fail(f"Line {number} is not valid UTF-8. The invalid bytes were replaced.")
            return line.decode("utf-8", "replace")

    async def _answer(self, line: str) -> None:
        if not line.strip():
            return
        command = parse(line)
        try:
            if command is not None:
                await self._commands.run(*command)
            else:
                await self._take_turn(line)
        except ServerGone:
            raise
        except TerminalError as error:
            self._fail(describe(error))
        finally:
            self._view.separate()

    async def _take_turn(self, text: str) -> None:
        self._turn = self._session.chat(text)
        try:
            result = await follow(self._view, self._turn)
        finally:
            self._turn = None
        if (sentence := ending(result)) is not None:
            self._view.fail(sentence)
            self._has_failed |= result.status is not TurnStatus.COMMITTED

    def _fail(self, sentence: str) -> None:
        self._has_failed = True
        self._view.fail(sentence)
