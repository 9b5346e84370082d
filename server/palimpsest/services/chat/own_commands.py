"""Commands of the user's own: Markdown files whose text becomes the draft of a message.

They lie in `commands/` beside the user's `config.toml`, and in `.palimpsest/commands/` of trusted folders. A folder's
files came with its code, so none is read over a link, and a name that Palimpsest or the user has already stays theirs.
Files are read at each use: an edited one counts at once.

A file may begin with a head between two lines `---`, of lines `name: text`, as files of other tools do. `description`
and `arguments` (or `argument-hint`) count there.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from palimpsest.domain.command_names import NAME_OF_COMMAND, CommandName
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import clean_text
from palimpsest.services.folder.session import OpenFolder
from palimpsest.services.workspace.encoding import decode
from palimpsest.services.workspace.handles import Kind, entries_below, open_below
from palimpsest.wording import counted

PROJECT_FOLDER: Final = (".palimpsest", "commands")
"""Where those of a workspace folder lie."""
SUFFIX: Final = ".md"
MAX_BYTES: Final = 64 * 1024
MAX_COMMANDS: Final = 200
"""The most files of one folder that are looked at, by name."""
MAX_CHARACTERS: Final = 200_000
"""The longest message that a command makes."""
MAX_PROBLEMS: Final = 20

_SHOWN: Final = 200
"""The most characters of a description, and of a hint."""
_HEAD: Final = re.compile(r"---[ \t]*\n(?:(.*?)\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)
_LINE: Final = re.compile(r"([A-Za-z][A-Za-z_-]*)[ \t]*:[ \t]*(.*)")
_PLACEHOLDER: Final = re.compile(r"\$(?:(ARGUMENTS)\b|([1-9])(?!\d))")


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """One command of the user's own."""

    name: str
    """In lower case, without the slash."""
    description: str
    argument: str
    """How its arguments are written; empty when it says nothing about them."""
    body: str
    origin: str
    """The file, as a user is told of it."""

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()

    @property
    def takes_arguments(self) -> bool:
        return bool(self.argument) or _PLACEHOLDER.search(self.body) is not None


@dataclass(frozen=True, slots=True)
class OwnCommands:
    """The commands of one moment."""

    by_name: dict[str, OwnCommand] = field(default_factory=dict)
    """By name, the user's before those of the folder."""
    problems: tuple[str, ...] = ()
    """A sentence for each file that is left out."""
    untrusted: frozenset[str] = frozenset()
    """The names that a folder without trust would have."""

    def matching(self, prefix: str) -> list[OwnCommand]:
        return [each for name, each in self.by_name.items() if name.startswith(prefix.lower())]

    def refuse_untrusted(self, name: str) -> None:
        """Raises InvalidRequest for a command that only a folder without trust has."""
        if name in self.untrusted:
            raise InvalidRequest(
                f"This folder brings a command /{name}. You do not trust the folder, so its commands are not used. "
                "Look at .palimpsest/commands, then trust the folder in your editor or with `palimpsest trust`."
            )


async def commands_of(folder: OpenFolder) -> OwnCommands:
    """The commands of the user, and of a folder."""
    return await asyncio.to_thread(_read_all, folder.user_commands, folder.root, folder.trust.is_trusted)


def message_of(command: OwnCommand, arguments: str) -> str:
    """The message that the command makes. `$ARGUMENTS` is what was typed behind the name, `$1` to `$9` are its words;
    a body without any of them gets the arguments at its end. Raises InvalidRequest."""
    words: list[str] | None = None
    n_characters = len(command.body)

    def filled(found: re.Match[str]) -> str:
        nonlocal words, n_characters
        text = arguments
        if found[2]:
            if words is None:
                words = _words(command, arguments)
            n = int(found[2])
            text = words[n - 1] if n <= len(words) else ""
        n_characters += len(text)
        if (
            n_characters > MAX_CHARACTERS
        ):  # before it takes the memory: a file may name the arguments thousands of times
            raise _too_long(command)
        return text

    message, n_filled = _PLACEHOLDER.subn(filled, command.body)
    if arguments and not n_filled:
        message = f"{message}\n\n{arguments}"
    if len(message) > MAX_CHARACTERS:
        raise _too_long(command)
    return clean_text(message)[0]


def _too_long(command: OwnCommand) -> InvalidRequest:
    return InvalidRequest(f"/{command.name} makes a message of more than {MAX_CHARACTERS:,} characters.")


def _words(command: OwnCommand, arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        raise InvalidRequest(f"A quotation mark is missing in the arguments of {command.usage}.") from None


@dataclass(slots=True)
class _Reading:
    by_name: dict[str, OwnCommand] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def leave_out(self, origin: str, why: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"{origin} is no command: {why}.")

    def take(self, shown: str, names: list[str], read: Callable[[str], bytes]) -> None:
        """The files of one folder; `shown` names the folder, `read` gives a file's bytes or raises OSError."""
        for file in names[:MAX_COMMANDS]:
            origin = f"{shown}/{ascii(file)[1:-1]}"
            stem = file.removesuffix(SUFFIX)
            name = stem.lower()
            if NAME_OF_COMMAND.fullmatch(stem) is None:
                self.leave_out(origin, "a name is a letter, then at most 39 letters, digits, `-` or `_`")
            elif name in list(CommandName):
                self.leave_out(origin, f"/{name} is a command of Palimpsest. Give the file another name")
            elif (other := self.by_name.get(name)) is not None:
                self.leave_out(origin, f"/{name} is that of {other.origin}. Give the file another name")
            else:
                try:
                    text = _text(read(file))
                except OSError as error:
                    self.leave_out(origin, f"{error.strerror or error}")
                else:
                    self.by_name[name] = _parsed(name, text, origin)
        if len(names) > MAX_COMMANDS:
            self.problems.append(f"{shown} has {counted(len(names), 'file')}; only {MAX_COMMANDS} of them are used.")


def _read_all(user_folder: Path | None, root: Path, is_trusted: bool) -> OwnCommands:
    reading = _Reading()
    if user_folder is not None:
        reading.take(str(user_folder), sorted(_names_in(user_folder)), lambda file: _read_own(user_folder / file))
    try:
        entries = entries_below(str(root), PROJECT_FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        entries = []
    except OSError as error:
        reading.leave_out("/".join(PROJECT_FOLDER), f"{error.strerror or error}")
        entries = []
    names = [entry.name for entry in entries if entry.name.endswith(SUFFIX)]
    if is_trusted:
        reading.take("/".join(PROJECT_FOLDER), names, lambda file: _read_below(root, file))
        untrusted = frozenset[str]()
    else:
        untrusted = frozenset(name.removesuffix(SUFFIX).lower() for name in names) - reading.by_name.keys()
    return OwnCommands(reading.by_name, tuple(reading.problems), untrusted)


def _names_in(folder: Path) -> Iterator[str]:
    """The user's own folder may be a link, and hold links, as people who keep their settings elsewhere have it."""
    try:
        for each in os.scandir(folder):
            if each.name.endswith(SUFFIX):
                yield each.name
    except OSError:
        return


def _read_own(path: Path) -> bytes:
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError("it is no regular file")
    with open(path, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _read_below(root: Path, file: str) -> bytes:
    """Over no link, and no file that has a second name, which may lie outside the folder."""
    handle = open_below(str(root), (*PROJECT_FOLDER, file), Kind.FILE)
    with open(handle, "rb") as opened:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no regular file")
        if status.st_nlink > 1:
            raise OSError("it has several hard links, and another of them may lie outside the folder")
        return opened.read(MAX_BYTES + 1)


def _text(data: bytes) -> str:
    """Raises OSError, with the reason, for what is no text of a command."""
    if len(data) > MAX_BYTES:
        raise OSError(f"it has more than {MAX_BYTES // 1024} KiB")
    found = decode(data)
    if found is None:
        raise OSError("it is no text")
    text = clean_text(found.text.replace("\r\n", "\n").replace("\r", "\n"))[0]
    if not text.strip():
        raise OSError("it is empty")
    return text


def _parsed(name: str, text: str, origin: str) -> OwnCommand:
    head = _HEAD.match(text)
    body = text if head is None else text[head.end() :]
    given = dict[str, str]()
    for line in (head[1] or "").split("\n") if head is not None else ():
        if found := _LINE.fullmatch(line.strip()):
            given[found[1].lower()] = _unquoted(found[2].strip())
    hint = given.get("arguments") or given.get("argument-hint") or ""
    description = given.get("description") or _first_line(body)
    return OwnCommand(name, _one_line(description), _one_line(hint), body.strip(), origin)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _first_line(body: str) -> str:
    return next((line.lstrip("# ") for line in body.split("\n") if line.strip()), "")


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
