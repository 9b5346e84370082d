"""`run_command`: runs one program, without a shell, after the user has approved it.

It runs in a session of its own, with an empty stdin and an environment without keys, under `workers.warden`. Every
process that it leaves behind ends with it, and everything ends with the server, however that ends. The user
sees what it writes while it runs; only the head and the tail of its output are kept.
"""

from __future__ import annotations

import asyncio
import codecs
import functools
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from palimpsest import workers
from palimpsest.domain.approvals import RUN_COMMAND, command_request
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.arguments import read_object
from palimpsest.services.tools.toolbox import Tool, ToolOutput, TurnScope, unheard
from palimpsest.services.workspace.files import PlaceKind, WorkspaceFiles
from palimpsest.wording import counted

TIMEOUT_S: Final = 60
MAX_TIMEOUT_S: Final = 600
MAX_WORDS: Final = 256
MAX_COMMAND_CHARACTERS: Final = 16 * 1024
KEPT_BYTES: Final = 12 * 1024
"""The bytes of output that are kept at its head, and again at its tail."""
MAX_OUTPUT_BYTES: Final = 64 * 1024 * 1024
"""A program that writes more bytes than this is ended."""

_WARDEN: Final = Path(workers.__file__).with_name("warden.py")
_ASKED_S: Final = 2.0
"""The time between the request to end and the kill."""
_CLOSING_S: Final = 2.0
"""The time for the last output to come out of the pipe."""
HOLDS_ALL: Final = sys.platform.startswith("linux")
"""Whether the processes that a program starts can all be found."""
MAY_ESCAPE: Final = (
    "On this system what run_command starts can go on running in a session of its own after its end, and may read the "
    "environment of this server. Approve only programs you know, or turn tools.run_command off."
)
_PASSED_ON: Final = frozenset(
    (
        *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"),
        *("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"),
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT"),
        *("PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT"),
        *("TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
    )
)
"""Variables that programs need to find their files and their user; the last three lines are for Windows."""
_SET: Final = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}

_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "command": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": MAX_WORDS,
            "description": "The program and its arguments, one a string. No shell reads them: no quotes, pipes, `&&`, "
            "`*` or variables.",
        },
        "cwd": {
            "type": "string",
            "description": "The folder to run in. Path below the workspace folder, with `/`.",
            "default": ".",
        },
        "timeout_s": {
            "type": "integer",
            "description": "Seconds after which it is ended.",
            "default": TIMEOUT_S,
            "minimum": 1,
            "maximum": MAX_TIMEOUT_S,
        },
    },
    "required": ["command"],
    "additionalProperties": False,
}


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of the server's environment for a program that a model chose: without keys, agents and tokens, and
    without an entry of PATH that means the current folder."""
    kept = {name: text for name, text in environ.items() if name.upper() in _PASSED_ON}
    path = [entry for entry in kept.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(entry)]
    return {**kept, "PATH": os.pathsep.join(path), **_SET}


@dataclass(frozen=True, slots=True)
class _Asked:
    command: tuple[str, ...]
    cwd: str
    timeout_s: int


@dataclass(frozen=True, slots=True)
class CommandTool:
    """The tool for one folder."""

    root: Path
    """Resolved."""
    files: WorkspaceFiles
    approvals: Approvals
    environ: Mapping[str, str]
    """The server's environment; programs get a part of it (`scrubbed`)."""

    def __call__(self, scope: TurnScope) -> Sequence[Tool]:
        async def run(text: str) -> ToolOutput:
            return await self._run(scope, text)

        description = (
            "Runs a program in the workspace folder, if the user approves, and returns its exit status and what it "
            "wrote on stdout and stderr. It cannot be given input."
        )
        return [Tool(ToolSchema(RUN_COMMAND, description, _SCHEMA), run, is_read_only=False)]

    async def _run(self, scope: TurnScope, text: str) -> ToolOutput:
        asked = _read(read_object(text))
        cwd = await self._folder(asked.cwd)

        async def look_again() -> None:
            if await self._folder(asked.cwd) != cwd:
                raise InvalidRequest("The folder to run in has changed meanwhile. Look at it again.")

        await self.approvals.require(scope, command_request(asked.command, cwd, asked.timeout_s), look_again)
        return await run_program(asked.command, self.root / cwd, scrubbed(self.environ), asked.timeout_s, scope.say)

    async def _folder(self, path: str) -> str:
        """The path below the workspace folder, with links resolved."""
        place = await asyncio.to_thread(self.files.locate, path)
        if place.kind is not PlaceKind.FOLDER:
            raise InvalidRequest(f"{place.path!r} is no folder. Name the folder to run in.")
        return place.path


def _read(written: Mapping[str, object]) -> _Asked:
    unknown = [name for name in written if name not in _SCHEMA["properties"]]
    if unknown:
        raise InvalidRequest(f"There is no argument {unknown[0][:50]!r}. Known arguments: command, cwd, timeout_s.")
    command = written.get("command")
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        raise InvalidRequest('The argument \'command\' must be a list of strings, such as ["git", "status"].')
    if len(command) > MAX_WORDS or sum(map(len, command)) > MAX_COMMAND_CHARACTERS:
        raise InvalidRequest(f"A command has at most {MAX_WORDS} words and {MAX_COMMAND_CHARACTERS} characters.")
    if not command[0]:
        raise InvalidRequest("The command names no program: its first word is empty.")
    cwd, timeout_s = written.get("cwd"), written.get("timeout_s")
    if cwd is not None and not isinstance(cwd, str):
        raise InvalidRequest("The argument 'cwd' must be a string.")
    if timeout_s is not None and (type(timeout_s) is not int or not 1 <= timeout_s <= MAX_TIMEOUT_S):
        raise InvalidRequest(f"The argument 'timeout_s' must be an integer from 1 to {MAX_TIMEOUT_S}.")
    return _Asked(tuple(command), "." if cwd is None else cwd, TIMEOUT_S if timeout_s is None else int(timeout_s))


# ------------------------------------------------------------------------------------------------------------ running


class BoundedOutput:
    """The output of a program: all of it is counted, its head and tail are kept."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self.n_bytes = 0

    def feed(self, data: bytes) -> None:
        self.n_bytes += len(data)
        room = self._kept_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        del self._tail[: max(0, len(self._tail) - self._kept_bytes)]

    def text(self) -> str:
        """The kept output, decoded as UTF-8. A note stands for the missing middle."""
        n_missing = self.n_bytes - len(self._head) - len(self._tail)
        if not n_missing:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = self._head.decode("utf-8", "replace"), self._tail.decode("utf-8", "replace")
        return f"{head}\n[{counted(n_missing, 'byte')} left out here]\n{tail}"


class _Watch(asyncio.SubprocessProtocol):
    """The life of one program, as its warden reports it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        loop = asyncio.get_running_loop()
        self.output = BoundedOutput()
        self._say = say
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._said = b""
        self.has_ended: asyncio.Future[None] = loop.create_future()
        """Set when the program has ended, or has written too much."""
        self.is_closed: asyncio.Future[None] = loop.create_future()
        """Set when everything that it started has ended too."""

    @property
    def told(self) -> dict[str, Any]:
        """The warden's report about the end; empty before it comes."""
        told: dict[str, Any] = json.loads(self._said) if self._said.endswith(b"\n") else {}
        return told

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._said += data
        else:
            self.output.feed(data)
            self._say(self._decoder.decode(data))
        if self.told or self.output.n_bytes > MAX_OUTPUT_BYTES:
            self.process_exited()

    def process_exited(self) -> None:
        if not self.has_ended.done():
            self.has_ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.process_exited()
        if not self.is_closed.done():
            self.is_closed.set_result(None)


async def run_program(
    command: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    timeout_s: float,
    say: Callable[[str], None] = unheard,
) -> ToolOutput:
    """Run the program to its end, or to the end of its time, and `say` what it writes, as it comes. Cancelling also
    ends it, with everything it started."""
    try:
        transport, watch = await asyncio.get_running_loop().subprocess_exec(
            functools.partial(_Watch, say),
            sys.executable,
            "-I",
            "-S",
            str(_WARDEN),
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=environ,
            start_new_session=True,
        )
    except OSError as error:
        raise _not_started(command, error.strerror or "") from None
    control = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    try:
        has_time = bool((await asyncio.wait({watch.has_ended}, timeout=timeout_s))[0])
        told = watch.told
        if not told:
            control.write(b"t")
            await asyncio.wait({watch.has_ended if not has_time else watch.is_closed}, timeout=_ASKED_S)
    finally:
        control.close()
        try:
            await asyncio.wait({watch.is_closed}, timeout=_CLOSING_S)
        finally:
            transport.close()
    if "error" in told:
        raise _not_started(command, told["error"])
    return _report(watch.output, told.get("status"), timeout_s, has_time=has_time)


def _not_started(command: Sequence[str], why: str) -> InvalidRequest:
    return InvalidRequest(f"The program {command[0][:200]!r} cannot be started: {why}.")


def _report(output: BoundedOutput, status: int | None, timeout_s: float, *, has_time: bool) -> ToolOutput:
    """The answer for the model. `status`: None when the program did not end by itself."""
    if not has_time:
        end = f"It was ended after {timeout_s:g} s, because its time was up. Give a longer timeout_s if it needs one."
    elif status is None and output.n_bytes <= MAX_OUTPUT_BYTES:
        end = "It has ended; its exit status is unknown."
    elif status is None:
        end = f"It was ended, because it wrote more than {MAX_OUTPUT_BYTES} bytes."
    elif status < 0:
        end = f"It was ended by signal {-status}."
    else:
        end = f"Exit status {status}."
    text = output.text().rstrip("\n")
    said = f"{text}\n" if text else ""
    return ToolOutput(f"{said}[{end}{'' if text else ' It wrote nothing.'}]", is_error=status is None)
