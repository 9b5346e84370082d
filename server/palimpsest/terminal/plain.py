"""The conversation as plain text: through pipes, at a terminal that can only print, and for one question.

Each line of stdin is a message, and stdout gets the answers, each with an empty line behind it. Errors and notes about
the context go to stderr; the lines after an error are still answered, and the exit status is 1 in the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
from collections import deque
from collections.abc import Sequence
from typing import TextIO, assert_never

from palimpsest.printing import sanitise
from palimpsest.terminal import texts
from palimpsest.terminal.answers import READING_S, answer_of
from palimpsest.terminal.calls import Event, ServerNote, WorkDone
from palimpsest.terminal.commands import Commands, parse
from palimpsest.terminal.errors import CommandFailed, ServerGone, TerminalError, describe
from palimpsest.terminal.interrupts import Interrupts
from palimpsest.terminal.lines import LineReader
from palimpsest.terminal.outcomes import say_answer, say_failure
from palimpsest.terminal.render import ending, lasting, one_line, unescaped
from palimpsest.terminal.session import Session, Turn, follow
from palimpsest.wire.areas.tools import ApprovalAnswer, ApprovalRequestParams
from palimpsest.wire.areas.turns import ChatResult, DeltaType, TurnDelta, TurnStatus
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

    def draft(self, text: str) -> None:
        self.say(text)

    def note(self, text: str) -> None:
        self.say(text)

    def answer(self, markdown: str) -> None:
        self.say(unescaped(markdown))

    def recall(self, text: str) -> None:
        if self._out.isatty():
            self.say(text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        for row in (columns, *rows):
            self.say("\t".join(one_line(cell) for cell in row))

    def ask(self, prompt: str) -> None:
        """Show a prompt, behind which a person types a line."""
        self._to_left()
        self._put(prompt)

    @property
    def written(self) -> str:
        """What was written to a buffer."""
        return self._out.getvalue() if isinstance(self._out, io.StringIO) else ""

    def fail(self, sentence: str) -> None:
        if self._out.isatty() and self._err.isatty():
            self._to_left()
        self._err.write(sanitise(sentence) + "\n")
        self._err.flush()

    def show(self, event: Event) -> None:
        if isinstance(event, TurnDelta):
            self._show_delta(event)
        elif isinstance(event, ServerNote):
            self.fail(event.text)
        elif isinstance(event, ContextEvent):
            if (sentence := lasting(event)) is not None:
                self.fail(sentence)
        elif not isinstance(event, WorkDone):
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
    """The loop of lines and answers, or one question and its answer."""

    def __init__(self, session: Session, interrupts: Interrupts, *, as_json: bool = False) -> None:
        self._session = session
        self._interrupts = interrupts
        self._as_json = as_json
        self._view = PlainView(io.StringIO() if as_json else sys.stdout, sys.stderr)
        self._commands = Commands(session, self._view)
        self._has_person = sys.stdin.isatty() and sys.stdout.isatty()
        """Whether somebody sits there, who sees a prompt, can be asked, and goes on after Ctrl-C."""
        self._reader: LineReader | None = None
        self._ahead: deque[bytes] = deque()
        """Lines that were entered before a question could be read: they are no answers to it."""
        session.connection.note = self._view.fail
        self._turn: Turn | None = None
        self._has_failed = False
        self._outcome: ChatResult | TerminalError | None = None
        """Of the newest message; None until there is one."""
        self._is_interrupted = False

    async def hold(self, *, begins_new: bool, resumed: str = "", question: str = "") -> int:
        """Answer the question, or else all lines. Returns the exit status: 0, 1 when anything failed, 130 after an
        interrupt."""
        work = asyncio.create_task(self._answer_all(begins_new, resumed, question))
        stops: list[asyncio.Task[None]] = []

        def stop(count: int) -> None:
            turn = self._turn or self._commands.turn
            self._is_interrupted = turn is None or not self._has_person or count > 1
            if turn is None or count > 1:
                work.cancel()
                return
            # Wait for the end of the turn, so that the partial answer is printed, but not for ever.
            stops.append(asyncio.create_task(turn.cancel()))
            if not self._has_person:
                asyncio.get_running_loop().call_later(_CANCEL_PATIENCE_S, work.cancel)

        try:
            with self._interrupts.calling(stop):
                await work
        except asyncio.CancelledError:
            if not self._is_interrupted:
                raise
        except TerminalError as error:
            self._fail(error)
        finally:
            for task in stops:
                task.cancel()
        if self._as_json:
            self._say_outcome()
        return INTERRUPTED if self._is_interrupted else int(self._has_failed)

    async def _answer_all(self, begins_new: bool, resumed: str, question: str) -> None:
        if resumed:
            self._session.conversation_id = (await self._commands.find(resumed)).conversation_id
        elif not begins_new:
            for conversation in (await self._session.conversations())[:1]:
                self._session.conversation_id = conversation.conversation_id
        if question:
            await self._answer(question)
        else:
            await self._answer_lines()

    async def _answer_lines(self) -> None:
        self._reader = LineReader(sys.stdin.fileno())
        if self._has_person:
            self._session.connection.approve = self._approve
            self._view.say(texts.PLAIN_START)
        number = 0
        while not (self._commands.wants_to_quit or self._is_interrupted):
            if self._has_person:
                self._view.ask("> ")
            line = self._ahead.popleft() if self._ahead else await self._reader.next()
            if line is None:
                break
            number += 1
            await self._answer(self._decode(line, number))

    def _decode(self, line: bytes, number: int) -> str:
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            self._view.fail(texts.not_utf8(number))
            return line.decode("utf-8", "replace")

    async def _answer(self, line: str) -> None:
        if not line.strip():
            return
        command = parse(line)
        try:
            if command is None:
                await self._take_turn(line)
            elif self._as_json:
                raise CommandFailed(texts.NO_JSON)
            else:
                await self._commands.run(*command)
        except ServerGone:
            raise
        except TerminalError as error:
            self._fail(error)
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
        self._outcome = result

    def _say_outcome(self) -> None:
        text, conversation_id = self._view.written.rstrip("\n"), self._session.conversation_id
        if isinstance(self._outcome, ChatResult):
            say_answer(text, self._outcome)
        else:
            say_failure(self._outcome, text, conversation_id)

    async def _approve(self, asked: ApprovalRequestParams) -> ApprovalAnswer:
        """Ask the person at the terminal."""
        assert self._reader is not None
        self._view.say(f"{asked.title}\n{asked.shown}\n{texts.applies(asked.may_be_always, asked.covers)}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READING_S):
                while (line := await self._reader.next()) is not None:
                    self._ahead.append(line)
                return ApprovalAnswer.DENY
        choices = ", ".join(f"{key} {meaning}" for key, meaning in texts.CHOICES if key != "a" or asked.may_be_always)
        while True:
            self._view.ask(f"{choices}? ")
            line = await self._reader.next()
            if line is None:
                return ApprovalAnswer.DENY
            if (answer := answer_of(line.decode("utf-8", "replace"), asked)) is not None:
                return answer

    def _fail(self, error: TerminalError) -> None:
        self._has_failed = True
        self._outcome = error
        self._view.fail(describe(error))
