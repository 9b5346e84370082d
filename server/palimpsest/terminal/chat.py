"""`palimpsest chat`: starts a server for one folder and runs the conversation, at a terminal or through pipes."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from palimpsest.machine.imports import fast_imports
from palimpsest.printing import sanitise
from palimpsest.terminal import texts
from palimpsest.terminal.connection import Connection
from palimpsest.terminal.errors import TerminalError, describe
from palimpsest.terminal.interrupts import Interrupts, ending
from palimpsest.terminal.outcomes import say_failure
from palimpsest.terminal.plain import INTERRUPTED, PlainConversation
from palimpsest.terminal.render import clean
from palimpsest.terminal.session import Session

_FAILED = 1
_BY_SIGNAL = 128
"""What a shell adds to the number of the signal that ended a program."""
_DUMB = ("", "dumb", "unknown")
"""Values of TERM of terminals that can only print."""
_BROKEN_PIPE = 141
"""The exit code that a shell reports for a program that SIGPIPE ended."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user asked of `palimpsest chat`."""

    folder: Path
    begins_new: bool = False
    """Whether a new conversation begins; otherwise the newest one goes on."""
    resumed: str = ""
    """The number, id or title of the conversation that goes on; empty for the newest."""
    question: str = ""
    """The first message; may be empty."""
    is_one_shot: bool = False
    """Whether the chat ends after one answer."""
    as_json: bool = False
    """Whether that answer is printed as a JSON object."""
    accepts_edits: bool = False
    """Whether a model may change files without a question."""


def run(wish: Wish, server_command: Sequence[str], is_trusted: Callable[[Path], bool]) -> int:
    """Run a chat. Returns the exit status: 0, 1 when something failed, 130 after an interrupt, 141 for a closed stdout,
    128 and its number after a signal that ends programs.

    `server_command` starts a server that speaks on its stdin and stdout.
    """
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        return _FAILED
    _prepare_streams()
    try:
        folder = wish.folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "its links form a circle"
        return _refuse(texts.no_folder(str(wish.folder), why), as_json=wish.as_json)
    if not folder.is_dir():
        return _refuse(texts.not_a_folder(str(folder)), as_json=wish.as_json)
    try:
        wish = replace(wish, folder=folder)
        if wish.is_one_shot or wish.as_json or (wish.question and not _has_person()):
            wish = replace(wish, is_one_shot=True, question=_with_input(wish.question))
            if not wish.question.strip():
                return _refuse(texts.NO_QUESTION, as_json=wish.as_json)
        return asyncio.run(_chat(wish, server_command, is_trusted))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except TerminalError as error:
        return _refuse(error, as_json=wish.as_json)
    except BrokenPipeError:
        # The buffered rest has no reader; at exit the interpreter would complain about it.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE


async def _chat(wish: Wish, server_command: Sequence[str], is_trusted: Callable[[Path], bool]) -> int:
    whole = asyncio.current_task()
    assert whole is not None

    def stop(_: int) -> None:
        whole.cancel()

    with Interrupts() as interrupts, interrupts.calling(stop), ending(whole) as signals:
        connection = await Connection.start(server_command, _log())
        connection.accepts_edits = wish.accepts_edits
        try:
            session = Session(connection, wish.folder.as_uri())
            if _has_person() and not wish.is_one_shot and os.environ.get("TERM", "").lower() not in _DUMB:
                # Imported while the server starts, and never for pipes: this takes a third of a second.
                with fast_imports("interactive"):
                    from palimpsest.terminal.interactive import Conversation

                conversation: Conversation | PlainConversation = Conversation(
                    session, wish.folder, is_trusted, interrupts
                )
            else:
                if wish.accepts_edits and not await asyncio.to_thread(is_trusted, wish.folder):
                    sys.stderr.write(f"{texts.NO_EDITS_WITHOUT_TRUST}\n")
                await connection.initialize(wish.folder)
                conversation = PlainConversation(session, interrupts, as_json=wish.as_json)
            return await conversation.hold(begins_new=wish.begins_new, resumed=wish.resumed, question=wish.question)
        except asyncio.CancelledError:
            if not signals:
                raise
            return _BY_SIGNAL + signals[0]
        finally:
            await connection.close()


def _log() -> BinaryIO | None:
    """Where the server's log is wished: in a file or pipe that stderr leads to, and never on a screen."""
    return sys.stderr.buffer if os.environ.get("CONTEXT_DEBUG") and not sys.stderr.isatty() else None


def _has_person() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _with_input(question: str) -> str:
    """The question with what stdin holds behind it, unless that is a terminal."""
    given = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    return "\n\n".join(filter(None, (clean(question), given)))


def _prepare_streams() -> None:
    """Use UTF-8 for pipes, whatever the locale. A character that a terminal cannot encode must not end the
    conversation."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def _refuse(error: TerminalError | str, *, as_json: bool) -> int:
    sentence = error if isinstance(error, str) else describe(error)
    sys.stderr.write(sanitise(sentence) + "\n")
    if as_json:
        say_failure(error)
    return _FAILED
