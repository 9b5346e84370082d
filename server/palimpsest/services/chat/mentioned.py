"""What a message mentions behind `@`: each becomes an attachment of the message, in every editor.

A file or a folder that cannot be attached stays plain text, because people write an `@` for much else; where it reads
like the name of a file, the user is told. Whatever names its kind is meant, and so are lines of a file that can be
attached (`@src/app.py:10-20`): there a failure is a problem of the message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.web import is_web
from palimpsest.services.chat.attachments import FileAttachment, Snapshot, take_snapshots
from palimpsest.services.chat.mentioned_places import (
    folder_snapshot,
    git_snapshot,
    problems_snapshot,
    symbol_snapshot,
    terminal_snapshot,
)
from palimpsest.services.chat.pages import Pages
from palimpsest.services.chat.resources import mentioned_resources
from palimpsest.services.chat.unattached import remarks_on
from palimpsest.services.folder.session import OpenFolder
from palimpsest.services.tools.editors import AttachedEditor
from palimpsest.services.workspace.texts import WorkspaceTexts

FOLDER_PART: Final = 16
"""A mentioned folder takes at most this part of the window, and its listing."""
MAX_MENTIONS: Final = 20
"""The most mentions of one message that are attached. Further ones stay plain text."""

_MENTION: Final = re.compile(r"(?:^|[\s(\[{,;])@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_CODE: Final = re.compile(
    r"^ {0,3}(```+(?=[^`\n]*$)|~~~+).*?(?:^ {0,3}\1|\Z)|(?<!`)(`{1,8})(?!`)[^\n]{1,1000}?(?<!`)\2(?!`)",
    re.MULTILINE | re.DOTALL,
)
"""Code in Markdown: fenced, or between backticks on one line."""
_ENDS: Final = ".,;:!?)]}"
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
_UNSEEN: Final = (
    "This message was made by a command, and a page of the web is fetched only for a message that you typed. Send it "
    "yourself."
)
_LINES: Final = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Mentioning:
    """A message that is about to be sent from a folder."""

    folder: OpenFolder
    texts: WorkspaceTexts
    """The folder's files, with what the editor holds unsaved."""
    message: str
    attached: Sequence[Snapshot] = ()
    """What is attached already."""
    window: int = 128_000
    """The window of the model in tokens, of which a folder takes a part."""
    pages: Pages | None = None
    """The way to the web. None for a message that its user has not seen: nothing is fetched."""
    editor: AttachedEditor | None = None
    """The one that sends the message. None where that is not known: then the first that can tells of its terminal."""


def mention_of(path: str, first: int | None = None, last: int | None = None) -> str:
    """The text that mentions a file, or its lines `first` to `last`, counted from 1."""
    lines = "" if first is None else f":{first}" if last in (None, first) else f":{first}-{last}"
    return f'@"{path}{lines}"' if re.search(r"\s", path) else f"@{path}{lines}"


@dataclass(frozen=True, slots=True)
class Mentioned:
    """What a message mentions."""

    snapshots: tuple[Snapshot, ...]
    """All of it, once each, without what is attached already."""
    remarks: tuple[str, ...] = ()
    """A sentence for the user about each mention that stays plain text and reads like the name of a file."""


async def mentioned(of: Mentioning) -> Mentioned:
    found: dict[str, Snapshot] = {}
    unattached: list[str] = []
    prose = without_code(of.message)
    names = names_in(prose)[:MAX_MENTIONS]
    for name in names:
        if is_web(name):
            continue
        if (taken := await _take(of, name)) is not None:
            found.setdefault(taken.label, taken)
        else:
            unattached.append(name)
    known = {part.label for each in of.attached for part in each.shown}
    kept = [each for label, each in found.items() if not _is_among(label, known)]
    kept += await mentioned_resources(of.folder.mcp, prose)
    web = [name for name in names if is_web(name)]
    if web and all(each.problem is None for each in kept):  # else nothing is sent, so nothing is fetched
        kept += [Snapshot(web[0], problem=_UNSEEN)] if of.pages is None else await of.pages.take(web)
    return Mentioned(tuple(kept), tuple(await remarks_on(of.texts, unattached) if unattached else ()))


def without_code(message: str) -> str:
    """The message without what is marked as code: there an `@` is a decorator, or somebody else's."""
    return _CODE.sub("`", message) if "`" in message or "~~~" in message else message


def names_in(message: str) -> list[str]:
    named = (quoted or _without_end(plain) for quoted, plain in _MENTION.findall(message))
    return [name for name in dict.fromkeys(named) if name]


def _without_end(name: str) -> str:
    """The mention without what ends the sentence around it. A bracket that an address opens, it closes as well."""
    end, counts = len(name), Counter(name) if is_web(name) else None
    while end and (mark := name[end - 1]) in _ENDS:
        if counts is not None:
            if mark in _BRACKETS and counts[_BRACKETS[mark]] >= counts[mark]:
                break
            counts[mark] -= 1
        end -= 1
    return name[:end]


def _is_among(label: str, known: set[str]) -> bool:
    """Whether this, or lines of it, is attached."""
    return label in known or any(each.startswith(f"{label}:") for each in known)


async def _take(of: Mentioning, name: str) -> Snapshot | None:
    """The snapshot of one mention; None for text that mentions nothing."""
    try:
        return await _take_kind(of, name) or await _take_file(of, name)
    except InvalidRequest as error:
        return Snapshot(name, problem=str(error))


async def _take_kind(of: Mentioning, name: str) -> Snapshot | None:
    """What a mention that names its kind means; None for another one. Raises InvalidRequest."""
    kind, colon, rest = name.partition(":")
    if kind == "symbol" and rest:
        return await symbol_snapshot(of.folder, of.texts, rest)
    if kind == "git" and rest and ":" not in rest:
        return await git_snapshot(of.folder, rest)
    if kind == "problems" and not colon:
        return await problems_snapshot(of.folder)
    if kind == "terminal" and not colon:
        return await terminal_snapshot(of.folder, of.editor)
    return None


async def _take_file(of: Mentioning, name: str) -> Snapshot | None:
    if name.endswith("/"):
        return await folder_snapshot(of.texts, name, of.window // FOLDER_PART)
    (whole,) = await take_snapshots(of.texts, [FileAttachment(name)])
    if whole.problem is None:
        return whole
    if (lines := _LINES.fullmatch(name)) is None:
        return None
    first = int(lines[2])
    (part,) = await take_snapshots(of.texts, [FileAttachment(lines[1], first, int(lines[3] or first))])
    if part.problem is None:
        return part
    (file,) = await take_snapshots(of.texts, [FileAttachment(lines[1])])
    return part if file.problem is None else None  # lines of a file that can be attached are meant
