"""`workspace/applyEdit`: the edits of a model that the user approved, and edits that are taken back, in files.

The server says which text it computed an edit from, by its digest. A file that holds another one is left as it is.
"""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from palimpsest import values
from palimpsest.terminal import texts
from palimpsest.terminal.files import FileChange, NotWritten, read, resolve, write_all
from palimpsest.wire.declare import camel

CAPABILITIES: Final[Mapping[str, Any]] = {
    "applyEdit": True,
    "workspaceEdit": {
        "documentChanges": True,
        "resourceOperations": ["create", "delete"],
        "failureHandling": "transactional",
    },
}
"""What the client declares of `workspace`. Positions count in UTF-16, as where nothing is declared."""
_LINES: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class _Position:
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class _Range:
    start: _Position
    end: _Position


@dataclass(frozen=True, slots=True)
class _TextEdit:
    range: _Range
    new_text: str


@dataclass(frozen=True, slots=True)
class _Document:
    uri: str


@dataclass(frozen=True, slots=True)
class _Options:
    ignore_if_not_exists: bool | None = None


@dataclass(frozen=True, slots=True)
class _Change:
    """A `TextDocumentEdit`, or, when it has a kind, an operation on a file."""

    kind: str | None = None
    uri: str | None = None
    options: _Options | None = None
    text_document: _Document | None = None
    edits: list[_TextEdit] | None = None


@dataclass(frozen=True, slots=True)
class _Edit:
    document_changes: list[_Change]


@dataclass(frozen=True, slots=True)
class _ComputedFrom:
    digests: dict[str, str]
    """By URI."""


@dataclass(frozen=True, slots=True)
class _Params:
    edit: _Edit
    palimpsest: _ComputedFrom | None = None


def _is_whole(text: str) -> bool:
    """Whether a file can hold the text: it has no half of a character."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _fields(readers: values.Types, kind: type) -> list[values.Field]:
    declared = values.fields_of(readers, kind)
    return [
        each._replace(key=camel(each.name), reader=each.reader if each.is_required else values.or_null(each.reader))
        for each in declared
    ]


_PARAMS: Final = values.Types(
    {
        str: values.checked(values.STRING, _is_whole, "whole characters"),
        int: values.checked(values.INTEGER, (0).__le__, "at least 0"),
        bool: values.BOOLEAN,
    },
    _fields,
    is_open=True,
).of(_Params)


@dataclass(slots=True)
class _File:
    """A file while the changes are worked out."""

    shown: str
    is_link: bool
    """Whether the path that the server named is a link to it."""
    before: bytes | None
    now: bytes | None


class Edits:
    """Changes the files of one folder, one edit after the other."""

    def __init__(self, root: Path) -> None:
        """`root`: without links."""
        self._root = root
        self._one_by_one = ThreadPoolExecutor(1, "edits")

    async def apply(self, params: Any) -> dict[str, Any]:
        """The answer to `workspace/applyEdit`. When this is cancelled, an edit that has begun is made to its end, and
        one that has not is not made."""
        return await asyncio.get_running_loop().run_in_executor(self._one_by_one, self._apply, params)

    def _apply(self, params: Any) -> dict[str, Any]:
        try:
            asked = _PARAMS.read(params)
            files = self._work_out(asked.edit.document_changes, asked.palimpsest.digests if asked.palimpsest else {})
            write_all(
                [
                    FileChange(path, file.shown, file.before, file.now)
                    for path, file in files.items()
                    if file.before != file.now
                ]
            )
        except values.Mismatch:
            return {"applied": False, "failureReason": texts.UNREADABLE_EDIT}
        except NotWritten as error:
            return {"applied": False, "failureReason": str(error)}
        return {"applied": True}

    def _work_out(self, changes: list[_Change], digests: Mapping[str, str]) -> dict[Path, _File]:
        """The files before and after all changes. Raises NotWritten."""
        files: dict[Path, _File] = {}
        for change in changes:
            uri = change.uri if change.kind is not None else change.text_document and change.text_document.uri
            file = self._file(files, uri or "", digests)
            if change.kind == "create":
                if file.now is not None:
                    raise NotWritten(texts.changed_meanwhile(file.shown))
                file.now = b""
            elif change.kind == "delete":
                if file.is_link:
                    raise NotWritten(texts.through_link(file.shown))
                if file.now is None and not (change.options and change.options.ignore_if_not_exists):
                    raise NotWritten(texts.changed_meanwhile(file.shown))
                file.now = None
            elif change.kind is not None:
                raise NotWritten(texts.UNREADABLE_EDIT)
            else:
                file.now = _edited(file, change.edits or [])
        return files

    def _file(self, files: dict[Path, _File], uri: str, digests: Mapping[str, str]) -> _File:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            raise NotWritten(texts.outside(uri))
        named = Path(url2pathname(parts.path))
        path = resolve(self._root, named)
        if path not in files:
            shown = path.relative_to(self._root).as_posix()
            held = read(path, shown)
            if held is not None and _digest(_text(held, shown)) != digests.get(uri):
                raise NotWritten(texts.changed_meanwhile(shown))
            files[path] = _File(shown, named.is_symlink(), held, held)
        return files[path]


def _text(data: bytes, shown: str) -> str:
    """The text without a byte order mark. Raises NotWritten when it is not UTF-8."""
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        raise NotWritten(texts.other_encoding(shown)) from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _edited(file: _File, edits: list[_TextEdit]) -> bytes:
    """The bytes of the file with the edits, a byte order mark kept. Raises NotWritten for edits that do not fit."""
    if file.now is None:
        raise NotWritten(texts.changed_meanwhile(file.shown))
    text = _text(file.now, file.shown)
    lines = _LINES.findall(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(position: _Position) -> int:
        if position.line >= len(lines):
            return len(text)
        line = lines[position.line].rstrip("\r\n")
        units = line.encode("utf-16-le")[: 2 * position.character]
        return starts[position.line] + len(units.decode("utf-16-le", "ignore"))

    spans = sorted(((offset(each.range.start), offset(each.range.end), each.new_text) for each in edits), key=_start)
    pieces: list[str] = []
    end = 0
    for start, stop, new in spans:
        if not end <= start <= stop:
            raise NotWritten(texts.UNREADABLE_EDIT)
        pieces += [text[end:start], new]
        end = stop
    mark = codecs.BOM_UTF8 if file.now.startswith(codecs.BOM_UTF8) else b""
    return mark + "".join([*pieces, text[end:]]).encode()


def _start(span: tuple[int, int, str]) -> int:
    return span[0]
