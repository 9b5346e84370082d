"""The conversation at a terminal: a prompt, and the answer to each line that is typed there.

Only the prompt reads keys. While something else runs, the keyboard is in its ordinary mode without echo: typed keys
wait for the next prompt, and Ctrl-C is a signal.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from palimpsest.terminal.commands import Commands, parse
from palimpsest.terminal.console import ConsoleView
from palimpsest.terminal.errors import REQUEST_CANCELLED, RequestFailed, ServerGone, TerminalError, describe
from palimpsest.terminal.history import open_history
from palimpsest.terminal.interrupts import Interrupts
from palimpsest.terminal.render import clean, ending
from palimpsest.terminal.session import Session, Turn, follow
from palimpsest.wire.areas.tools import ApprovalAnswer, ApprovalRequestParams

_ANSWERS = {
    "y": ApprovalAnswer.ONCE,
    "yes": ApprovalAnswer.ONCE,
    "a": ApprovalAnswer.ALWAYS,
    "always": ApprovalAnswer.ALWAYS,
    "n": ApprovalAnswer.DENY,
    "no": ApprovalAnswer.DENY,
    "never": ApprovalAnswer.NEVER,
}

_MENU_ROWS = 12
"""The most lines of the menu of completions, which scrolls."""


class SlashCompleter(Completer):
    """Completes the commands, and the names of models behind `/model`."""

    def __init__(self, session: Session, commands: Commands) -> None:
        self._session = session
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Nothing: the commands come from the server, which is asynchronous."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        command, blank, typed = document.text_before_cursor.partition(" ")
        if command.startswith("/") and not blank:
            for name, (_, help_) in (await self._known()).items():
                if f"/{name}".startswith(command.lower()):
                    yield Completion(f"/{name}", start_position=-len(command), display_meta=help_)
        elif command.lower() == "/model":
            for name in await self._session.model_names():
                if name.startswith(typed):
                    yield Completion(name, start_position=-len(typed))

    async def _known(self) -> dict[str, tuple[str, str]]:
        """The commands; none when the server fails, and then running the command shows the error."""
        try:
            return await self._commands.known()
        except TerminalError:
            return {}


class Conversation:
    """The loop of prompts and answers."""

    def __init__(self, session: Session, view: ConsoleView, interrupts: Interrupts) -> None:
        self._session = session
        self._view = view
        self._interrupts = interrupts
        self._commands = Commands(session, view)
        session.connection.approve = self._approve
        session.connection.note = self._note
        history, sentence = open_history()
        if sentence is not None:
            view.note(sentence)
        self._prompt: PromptSession[str] = PromptSession(
            "> ",
            history=history,
            completer=SlashCompleter(session, self._commands),
            key_bindings=_bindings(),
            prompt_continuation="  ",
            # Only then: otherwise room for the menu is kept free below every prompt.
            complete_while_typing=Condition(lambda: self._prompt.default_buffer.text.startswith("/")),
            reserve_space_for_menu=_MENU_ROWS,
        )

    async def hold(self, *, begins_new: bool) -> int:
        """Run until the user leaves or the server is gone. Returns the exit status."""
        with _silent_keyboard():
            return await self._hold(begins_new)

    async def _hold(self, begins_new: bool) -> int:
        try:
            await self._perform(self._begin(begins_new))
            while not self._commands.wants_to_quit and (line := await self._ask()) is not None:
                if not line.strip():
                    continue
                command = parse(line)
                if command is None:
                    turn = self._session.chat(line)
                    await self._perform(self._take_turn(turn), turn)
                else:
                    await self._perform(self._commands.run(*command))
        except ServerGone as error:
            self._view.fail(describe(error))
            return 1
        return 0

    async def _begin(self, begins_new: bool) -> None:
        newest = [] if begins_new else (await self._session.conversations())[:1]
        if not newest:
            self._view.note("A new conversation.")
        self._view.note("/help lists the commands. Ctrl-D leaves.")
        for conversation in newest:
            await self._commands.resume(conversation)

    async def _take_turn(self, turn: Turn) -> None:
        try:
            result = await follow(self._view, turn)
        except RequestFailed as error:
            if error.code != REQUEST_CANCELLED:
                self._view.fail(describe(error))
                self._view.note("Your message is in the input history. Press the up arrow to get it back.")
                return
            raise
        if (sentence := ending(result)) is not None:
            self._view.note(sentence)
        self._view.note(f"{result.usage.compact} · {result.usage.model}")

    def _note(self, sentence: str) -> None:
        """Show a sentence of the server that comes while no answer is followed, above an open prompt."""
        if self._prompt.app.is_running:
            run_in_terminal(lambda: self._view.note(sentence))
        else:
            self._view.note(sentence)

    async def _approve(self, asked: ApprovalRequestParams) -> ApprovalAnswer:
        """Ask the user about a tool call. Ctrl-C and Ctrl-D mean no."""
        choices = "yes, no, always or never" if asked.may_be_always else "yes, no or never"
        self._view.note(asked.title)
        self._view.say(asked.shown)
        self._view.note(
            f"`always` and `never` apply to {asked.covers}."
            if asked.may_be_always
            else f"`never` applies to {asked.covers}."
        )
        prompt: PromptSession[str] = PromptSession(f"{choices}? ")
        _drop_typed()
        while True:
            try:
                typed = (await prompt.prompt_async(handle_sigint=False)).strip().lower()
            except (EOFError, KeyboardInterrupt):
                return ApprovalAnswer.DENY
            answer = _ANSWERS.get(typed)
            if answer is not None and (asked.may_be_always or answer is not ApprovalAnswer.ALWAYS):
                return answer

    async def _ask(self) -> str | None:
        """The next typed line, or None to leave."""
        is_leaving = False
        while True:
            try:
                with self._interrupts.calling(self._break_prompt):
                    return clean(await self._prompt.prompt_async(handle_sigint=False))
            except EOFError:
                return None
            except KeyboardInterrupt:
                # Ctrl-C clears a line; on an empty one it leaves, the second time in a row.
                is_empty = not self._prompt.default_buffer.text
                if is_empty and is_leaving:
                    return None
                is_leaving = True
                if is_empty:
                    self._view.note("Press Ctrl-C again or Ctrl-D to leave.")

    def _break_prompt(self, count: int) -> None:
        if count == 1 and self._prompt.app.is_running:
            self._prompt.app.exit(exception=KeyboardInterrupt())

    async def _perform(self, work: Coroutine[None, None, None], turn: Turn | None = None) -> None:
        """Do something that Ctrl-C can stop. The first Ctrl-C asks a turn to end; otherwise, this stops waiting."""
        task = asyncio.create_task(work)
        stops: list[asyncio.Task[None]] = []
        is_abandoned = False

        def stop(count: int) -> None:
            nonlocal is_abandoned
            if (running := turn or self._commands.turn) is not None and count == 1:
                self._view.show_stopping()
                stops.append(asyncio.create_task(running.cancel()))
            else:
                is_abandoned = True
                task.cancel()

        try:
            with self._interrupts.calling(stop):
                await task
        except asyncio.CancelledError:
            if not is_abandoned:
                raise
            self._view.note("Stopped." if turn is None else "No longer waiting. /read shows the answer.")
        except ServerGone:
            raise
        except RequestFailed as error:
            self._view.fail("Cancelled." if error.code == REQUEST_CANCELLED else describe(error))
        except TerminalError as error:
            self._view.fail(describe(error))
        finally:
            for other in stops:
                other.cancel()


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        """Alt-Enter starts a new line in the message."""
        event.current_buffer.insert_text("\n")

    return bindings


def _drop_typed() -> None:
    """Drop keys that were typed before the question was shown: they do not answer it."""
    if sys.platform == "win32":
        return
    import termios

    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextlib.contextmanager
def _silent_keyboard() -> Iterator[None]:
    """Switch the echo of the terminal off in this block: the prompt shows keys itself, and answers do not mix with
    them."""
    restore = _echo_off()
    try:
        yield
    finally:
        restore()


def _echo_off() -> Callable[[], None]:
    if sys.platform == "win32":
        return lambda: None
    import termios

    descriptor = sys.stdin.fileno()
    try:
        before = termios.tcgetattr(descriptor)
        silent = termios.tcgetattr(descriptor)
        silent[3] &= ~termios.ECHO
        termios.tcsetattr(descriptor, termios.TCSANOW, silent)
    except termios.error:
        return lambda: None

    def restore() -> None:
        # The terminal may be gone, because its window was closed.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSANOW, before)

    return restore
