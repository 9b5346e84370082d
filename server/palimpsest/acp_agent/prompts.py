"""Prompts: the protocol's content blocks as a text and attachments.

A link to a file of the folder becomes an attachment by the rules of the services: no file outside the folder, and no
secret. Text from the client is taken as it is, under the same rule of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from acp import schema

from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.chat.attachments import Attachment, FileAttachment, SelectionAttachment

_LINES: Final = re.compile(r"L?(\d{1,9})(?:[-:]L?(\d{1,9}))?")
"""The forms of lines after the `#` of a file's URI."""


@dataclass(frozen=True, slots=True)
class Prompt:
    text: str
    """The typed text, with `@PATH` for each attachment."""
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    """The path below the folder, with `/`; an absolute path is outside."""
    start_line: int | None
    end_line: int | None
    is_folder: bool


def read_prompt(blocks: Iterable[Any], root: Path) -> Prompt:
    """Read a prompt. Looks at the disk to distinguish folders from files. Raises InvalidRequest for unsupported
    content."""
    text, attachments = "", []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                piece = block.text
            case schema.ResourceContentBlock():
                piece, attached = _linked(block, root)
                attachments += attached
            case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as resource):
                given = _given(resource, root)
                attachments.append(given)
                piece = f"@{given.path}"
            case _:
                raise InvalidRequest(
                    "Only text, links and text files can be sent. Palimpsest supports no pictures, sounds or binary "
                    "files. Nothing was sent."
                )
        needs_blank = text and piece and not text[-1].isspace() and (piece[0].isalnum() or piece[0] in "@[")
        text += f" {piece}" if needs_blank else piece
    return Prompt(text, tuple(attachments))


def _linked(link: Any, root: Path) -> tuple[str, list[Attachment]]:
    place = _place(link.uri, root)
    if place is None:
        return f"[{link.title or link.name}]({link.uri})", []
    if place.is_folder:
        return f"@{place.path}/", []
    return f"@{place.path}", [FileAttachment(place.path, place.start_line, place.end_line)]


def _given(resource: Any, root: Path) -> SelectionAttachment:
    place = _place(resource.uri, root)
    if place is None:
        label = unquote(urlsplit(resource.uri).path.rpartition("/")[2]) or "text"
        return SelectionAttachment(label, None, None, resource.text)
    return SelectionAttachment(place.path, place.start_line, place.end_line, resource.text)


def _place(uri: str, root: Path) -> _Place | None:
    """The path of a file URI; None for any other URI."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or "%00" in parts.path:
        return None
    found = Path(url2pathname(parts.path)).resolve()
    path = found.relative_to(root).as_posix() if found.is_relative_to(root) else str(found)
    lines = _LINES.fullmatch(parts.fragment)
    first = int(lines[1]) if lines else None
    last = int(lines[2]) if lines and lines[2] else first
    return _Place(path, first, last, found.is_dir())
