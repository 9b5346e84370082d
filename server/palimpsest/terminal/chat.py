"""`palimpsest chat`: starts a server for one folder and runs the conversation, at a terminal or through pipes."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from palimpsest.printing import sanitise
from palimpsest.terminal.connection import Connection
from palimpsest.terminal.errors import TerminalError, describe
from palimpsest.terminal.interrupts import Interrupts
from palimpsest.terminal.plain import INTERRUPTED, PlainConversation
from palimpsest.terminal.session import Session

_FAILED = 1
_BROKEN_PIPE = 141
"""The exit code that a shell reports for a program that SIGPIPE ended."""


def run(folder: Path, server_command: Sequence[str], *, begins_new: bool = False) -> int:
    """Run a chat. Returns the exit status: 0, 1 when something failed, 130 after an interrupt, 141 for a closed stdout.

    `server_command` starts a server that speaks on its stdin and stdout. The chat continues the folder's newest
    conversation, unless `begins_new` is set.
    """
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        return _FAILED
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
    _prepare_streams()
    try:
        folder = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "its links form a circle"
        return _refuse(f"The folder {folder} cannot be opened: {why}. Name another one, or `.` for the current folder.")
    if not folder.is_dir():
        return _refuse(f"{folder} is not a folder.")
    try:
        return asyncio.run(_chat(folder, server_command, begins_new, is_interactive))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except TerminalError as error:
        return _refuse(describe(error))
    except BrokenPipeError:
        # The buffered rest has no reader; at exit the interpreter would complain about it.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE


async def _chat(folder: Path, server_command: Sequence[str], begins_new: bool, is_interactive: bool) -> int:
    whole = asyncio.current_task()
    assert whole is not None

    def stop(_: int) -> None:
        whole.cancel()

    with Interrupts() as interrupts, interrupts.calling(stop):
        connection = await Connection.start(server_command)
        try:
            session = Session(connection, folder.as_uri())
            if is_interactive:
                # Imported while the server starts, and never for pipes: this takes a third of a second.
                from palimpsest.terminal.console import ConsoleView
                from palimpsest.terminal.interactive import Conversation

                conversation: Conversation | PlainConversation = Conversation(session, ConsoleView(), interrupts)
            else:
                conversation = PlainConversation(session, interrupts)
            await connection.initialize(folder)
            return await conversation.hold(begins_new=begins_new)
        finally:
            await connection.close()


def _prepare_streams() -> None:
    """Use UTF-8 for pipes, whatever the locale. A character that a terminal cannot encode must not end the
    conversation."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def _refuse(sentence: str) -> int:
    sys.stderr.write(sanitise(sentence) + "\n")
    return _FAILED
