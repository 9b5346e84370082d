"""`palimpsest chat`: starts a server for one folder and holds the conversation, at a terminal or through pipes."""

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
"""What a shell calls a program that SIGPIPE ended."""


def run(folder: Path, server_command: Sequence[str], *, begins_new: bool = False) -> int:
    """The exit status: 0, 1 when something failed, 130 after an interrupt, 141 when stdout is read no longer.

    `server_command` starts a server that speaks on its stdin and stdout. The folder's newest conversation goes on,
    unless a new one is asked for.
    """
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        return _FAILED
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
    _prepare_streams()
    try:
        folder = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it leads round in a circle"
        return _refuse(f"The folder {folder} cannot be opened: {why}. Name one that exists, or `.` for this one.")
    if not folder.is_dir():
        return _refuse(f"{folder} is not a folder.")
    try:
        return asyncio.run(_chat(folder, server_command, begins_new, is_interactive))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except TerminalError as error:
        return _refuse(describe(error))
    except BrokenPipeError:
        # What is still buffered has nowhere to go; at exit the interpreter would complain about that.
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
                # Loaded while the server starts, and never for pipes: they take a third of a second.
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
    """Pipes carry UTF-8, whatever the locale; a character a terminal has no code for must not end the conversation."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def _refuse(sentence: str) -> int:
    sys.stderr.write(sanitise(sentence) + "\n")
    return _FAILED
