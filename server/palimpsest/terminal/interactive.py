"""The conversation at a terminal: lines are answered one after the other, and typing never waits."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from palimpsest.terminal import texts
from palimpsest.terminal.approvals import Approvals
from palimpsest.terminal.commands import Commands, parse
from palimpsest.terminal.completion import ChatCompleter
from palimpsest.terminal.console import ConsoleView
from palimpsest.terminal.errors import REQUEST_CANCELLED, RequestFailed, ServerGone, TerminalError, describe
from palimpsest.terminal.history import open_history
from palimpsest.terminal.interrupts import Interrupts
from palimpsest.terminal.others import Others
from palimpsest.terminal.render import clean, ending, one_line
from palimpsest.terminal.screen import Screen
from palimpsest.terminal.session import Session, Turn, follow
from palimpsest.wire.areas.conversations import ConversationInfo
from palimpsest.wire.areas.usage import ContextUsage

_AT_ONCE = {"context", "facts", "help", "list", "read", "resume", "rules", "search", "shared", "stats", "usage"}
"""Commands that only show something, and so need not wait for the end of an answer when they have no argument."""
_OFFLINE = "offline"
"""The name of the model that only searches."""


class Conversation:
    """The loop of lines and answers."""

    def __init__(
        self, session: Session, folder: Path, is_trusted: Callable[[Path], bool], interrupts: Interrupts
    ) -> None:
        history, sentence = open_history()
        self._session = session
        self._folder = folder
        self._is_trusted = is_trusted
        self._interrupts = interrupts
        # The completer needs the commands, these the view, and the view the screen.
        self._screen = Screen(history, lambda: ChatCompleter(session, self._commands))
        self._view = ConsoleView(self._screen)
        self._commands = Commands(session, self._view)
        self._approvals = Approvals(self._view)
        self._history_problem = sentence
        session.connection.approve = self._approvals.ask
        session.connection.note = self._view.note
        self._others = Others(session, self._view, lambda: self._has_more.set())
        session.connection.hear_others = self._others.hear
        self._waiting: deque[str] = deque()
        """Lines that were entered and are not yet answered."""
        self._has_more = asyncio.Event()
        self._is_busy = True
        """Whether something is done, so that a line that is entered waits."""
        self._stop: Callable[[], None] | None = None
        """Stops what runs; None when nothing does."""
        self._aside: set[asyncio.Task[None]] = set()
        self._hint = texts.KEYS
        self._is_leaving = False
        """Whether the next key that leaves does."""
        self._has_begun = False
        """Whether the folder's conversations could be read: no message is sent before, lest it begin another one."""

    async def hold(self, *, begins_new: bool, resumed: str = "", question: str = "") -> int:
        """Run until the user leaves or the server is gone. Returns the exit status.

        `resumed`: which conversation goes on, as for `/resume`. `question`: the first message. Raises TerminalError
        when the server cannot be used at all.
        """
        screen = self._screen
        screen.state, screen.hint, screen.is_busy = self._state, lambda: self._hint, lambda: self._is_busy
        screen.placeholder = self._placeholder
        screen.on_line, screen.on_break, screen.on_end = self._enter, self._break, self._end
        self._view.wait_for(texts.STARTING)
        async with screen.shown():
            with self._interrupts.calling(lambda count: self._break()):
                await self._session.connection.initialize(self._folder)
                try:
                    return await self._answer_lines(begins_new, resumed, question)
                except ServerGone as error:
                    self._view.fail(describe(error))
                    return 1
                finally:
                    for task in self._aside:
                        task.cancel()

    async def _answer_lines(self, begins_new: bool, resumed: str, question: str) -> int:
        await self._perform(self._begin(begins_new, resumed))
        if question and resumed and self._session.conversation_id is None:
            self._view.draft(question)
        elif question:
            self._waiting.appendleft(question)
        while not self._commands.wants_to_quit:
            if not self._waiting and (turn_id := self._others.take_turn()) is not None:
                model, self._view.model = self._view.model, self._others.writer
                await self._perform(self._others.show(turn_id), stopped=texts.NOT_SHOWN)
                self._view.model = model
                continue
            if not self._waiting:
                self._is_busy = False
                self._screen.redraw()
                self._has_more.clear()
                await self._has_more.wait()
                self._is_busy = True
                continue
            line = self._waiting.popleft()
            self._view.echo(line)
            command = parse(line)
            if command is None and not self._has_begun:
                await self._perform(self._begin(begins_new, resumed))
                if not self._has_begun:
                    self._view.note(texts.IN_HISTORY)
                    continue
            if command is None:
                turn = self._session.chat(line)
                await self._perform(self._take_turn(turn), turn)
            else:
                await self._perform(self._run(*command))
        return 0

    async def _run(self, name: str, argument: str) -> None:
        await self._commands.run(name, argument)
        if self._session.conversation_id is None:
            self._hint = texts.KEYS
        elif not self._commands.wants_to_quit:
            self._show_usage(await self._session.usage(self._session.conversation_id))

    def _show_usage(self, usage: ContextUsage) -> None:
        self._hint = texts.fullness(usage.compact, one_line(usage.model))
        self._view.model = usage.model if usage.model != _OFFLINE else ""

    # --------------------------------------------------------------------------------------------------- what is said

    async def _begin(self, begins_new: bool, resumed: str) -> None:
        """Read the folder's conversations, and open the one that goes on. Done again while it fails, as by an error in
        the user's settings."""
        conversations = [] if begins_new else await self._session.conversations()
        self._has_begun = True
        newest = [] if resumed else conversations[:1]
        await self._introduce(newest[0] if newest else None)
        if resumed:
            await self._commands.run("resume", resumed)
        for conversation in newest:
            await self._commands.resume(conversation)

    async def _introduce(self, conversation: ConversationInfo | None) -> None:
        """The first screen."""
        default = await self._session.default_model()
        model = conversation.model if conversation is not None else default
        self._view.model = model if model != _OFFLINE else ""
        if model not in ("", _OFFLINE):
            about = model
        else:
            none = texts.no_model(await self._session.silent_services())
            about = none if default in ("", _OFFLINE) else texts.only_searches(default)
            about = self._session.models_problem or about
        trusted = texts.ACCEPTING if self._session.connection.accepts_edits else texts.TRUSTED
        trust = trusted if self._is_trusted(self._folder) else texts.NOT_TRUSTED
        facts = Table.grid(padding=(0, 2, 0, 0))
        facts.add_row(Text(f"  {texts.FOLDER}", "note"), Text(one_line(_shortened(self._folder)), "key"))
        facts.add_row(Text(f"  {texts.MODEL}", "note"), Text(one_line(about)))
        facts.add_row(Text(f"  {texts.TRUST}", "note"), Text(trust))
        parts: list[RenderableType] = [Text(texts.NAME, "brand"), facts]
        if conversation is None:
            tried = Table.grid(padding=(0, 2, 0, 0))
            for what, why in texts.TO_TRY:
                tried.add_row(Text(f"  {what}"), Text(why, "note"))
            parts += [Text(""), Text(f"{texts.TRY}:", "note"), tried]
        self._screen.print(Group(*parts))
        if self._history_problem is not None:
            self._view.note(self._history_problem)
        if conversation is None:
            self._screen.print(Text(texts.NEW_CONVERSATION, "note"), is_apart=True)

    async def _take_turn(self, turn: Turn) -> None:
        try:
            result = await follow(self._view, turn)
        except RequestFailed as error:
            if error.code != REQUEST_CANCELLED:
                self._view.fail(describe(error))
                self._view.note(_way_on(error))
                return
            raise
        self._show_usage(result.usage)
        if (sentence := ending(result)) is not None:
            self._view.note(sentence)

    def _placeholder(self) -> str:
        if self._approvals.is_asking:
            return texts.ANSWER_PLACEHOLDER
        return texts.QUEUE_PLACEHOLDER if self._is_busy else texts.PLACEHOLDER

    def _state(self, width: int) -> list[RenderableType]:
        lines: list[RenderableType] = []
        if self._approvals.is_asking:
            lines.append(self._approvals.line(width))
        elif self._view.is_waiting:
            lines.append(self._view.waiting_line(width))
        for line in self._waiting:
            shown = Text.assemble((f"  {texts.NEXT}: ", "note"), one_line(line))
            shown.truncate(width, overflow="ellipsis")
            lines.append(shown)
        return lines

    # ------------------------------------------------------------------------------------------------- what is entered

    def _enter(self, typed: str) -> None:
        """A line was entered."""
        self._is_leaving = False
        line = clean(typed)
        if self._approvals.take(line) or not line.strip():
            return
        command = parse(line)
        is_known = self._stop is not None and self._session.conversation_id is not None
        if is_known and command is not None and command[0] in _AT_ONCE and not command[1]:
            task = asyncio.create_task(self._show_aside(line, *command))
            self._aside.add(task)
            task.add_done_callback(self._aside.discard)
            return
        self._waiting.append(line)
        self._has_more.set()
        self._screen.redraw()

    async def _show_aside(self, line: str, name: str, argument: str) -> None:
        """Run a command that only shows something, beside what runs. It is shown above the block that grows."""
        try:
            await self._commands.run_aside(name, argument, lambda: self._view.echo(line))
        except TerminalError as error:
            self._view.echo(line)
            self._view.fail(describe(error))

    def _break(self) -> None:
        """Ctrl-C, or an interrupt: a question is answered with no, an answer is stopped, a line is cleared, and twice
        on an empty line leaves."""
        if self._approvals.deny():
            return
        if self._stop is not None:
            # What waits is not sent after an answer that was stopped: it is there to be edited.
            put_back = "\n".join(self._waiting)
            self._waiting.clear()
            self._screen.put_back(put_back)
            self._stop()
        elif self._screen.buffer.text:
            self._screen.clear_input()
            self._is_leaving = False
        else:
            self._leave(texts.LEAVE_AGAIN)

    def _end(self) -> None:
        """Ctrl-D on an empty line, or the end of the terminal's input."""
        if self._approvals.deny():
            return
        if self._screen.is_gone or self._stop is None:
            self._is_leaving = True
        self._leave(texts.LEAVE_RUNNING)

    def _leave(self, warning: str) -> None:
        """Leave when it was said that this key does; otherwise say it."""
        if not self._is_leaving:
            self._is_leaving = True
            self._view.note(warning)
            return
        self._commands.wants_to_quit = True
        self._waiting.clear()
        self._has_more.set()
        if self._stop is not None:
            self._stop()
            self._stop()

    async def _perform(
        self, work: Coroutine[None, None, None], turn: Turn | None = None, stopped: str = texts.STOPPED
    ) -> None:
        """Do something that can be stopped. The first stop asks a turn to end; otherwise, it stops waiting, and says
        `stopped`."""
        task = asyncio.create_task(work)
        stops: list[asyncio.Task[None]] = []
        is_abandoned = False

        def stop() -> None:
            nonlocal is_abandoned
            if (running := turn or self._commands.turn) is not None and not stops:
                self._view.wait_for(texts.STOPPING)
                stops.append(asyncio.create_task(running.cancel()))
            else:
                is_abandoned = True
                task.cancel()

        self._stop = stop
        self._is_leaving = False
        if not self._view.is_waiting:
            self._view.wait_for(texts.WORKING)
        try:
            await task
        except asyncio.CancelledError:
            if not is_abandoned:
                raise
            self._view.note(stopped if turn is None else texts.NOT_WAITING)
        except ServerGone:
            raise
        except RequestFailed as error:
            self._view.fail(texts.CANCELLED if error.code == REQUEST_CANCELLED else describe(error))
        except TerminalError as error:
            self._view.fail(describe(error))
        finally:
            self._stop = None
            self._view.finish()
            for other in stops:
                other.cancel()


def _shortened(folder: Path) -> str:
    """The folder, with `~` for the user's own."""
    home = os.path.expanduser("~")
    path = str(folder)
    return f"~{path.removeprefix(home)}" if path == home or path.startswith(home + os.sep) else path


def _way_on(error: RequestFailed) -> str:
    """What a user can do about a message that got no answer."""
    if error.data is not None and error.data.can_fork:
        return texts.FORK_HINT
    return texts.KEPT if error.data is not None and error.data.turn_id else texts.IN_HISTORY
