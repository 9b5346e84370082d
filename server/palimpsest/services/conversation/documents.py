"""Chat documents: the record of which document shows which conversation, and the files themselves.

A document belongs to a conversation because a record beside the store says so, never because of its text. The records
are in the store's directory, which only the user can read. So are the documents, unless the user wants them in the
workspace folder. A new file has a head and an input only; the editor saves the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palimpsest.domain.chat_documents.document import HEAD, SUFFIX, whole
from palimpsest.domain.errors import InvalidRequest, StoreError
from palimpsest.domain.messages import ConversationId
from palimpsest.storage.store import Store

FOLDER: Final = "chats"
"""The folder of the documents in the store's directory."""
_RECORDS: Final = "bindings"
_LONGEST_NAME: Final = 40


@dataclass(frozen=True, slots=True)
class ChatDocuments:
    """The chat documents of one workspace folder."""

    root: Path
    """Resolved."""
    store: Store

    async def conversation_of(self, path: Path) -> ConversationId | None:
        """The conversation that a document shows; None for a document without a record, whatever its text says."""
        return await asyncio.to_thread(self._read, path)

    async def document_of(self, conversation_id: ConversationId) -> Path | None:
        """An existing document of the conversation, the oldest path first."""
        return await asyncio.to_thread(self._find, conversation_id)

    async def bind(self, path: Path, conversation_id: ConversationId) -> None:
        """Record that the document shows the conversation, because the user said so."""
        await asyncio.to_thread(self._write, path, conversation_id, is_users=True)

    async def create(self, conversation_id: ConversationId, title: str, *, in_folder: bool) -> Path:
        """Create a document for a conversation that has none. In a workspace folder that is a git repository, git
        ignores it. Raises InvalidRequest when it cannot be created."""
        try:
            return await asyncio.to_thread(self._create, conversation_id, title, in_folder)
        except OSError as error:
            raise InvalidRequest(
                f"The chat document could not be created ({type(error).__name__}). Check that the folder is writable."
            ) from error

    async def empty(self, conversation_id: ConversationId, title: str) -> None:
        """Empty every document of the conversation, because an editor may have saved messages there. A document whose
        name comes from an earlier title is removed, because that title may come from a purged message; the others go on
        showing the conversation. Raises StoreError, after all others are done, for one that could not be changed."""
        await asyncio.to_thread(self._empty, conversation_id, title)

    async def empty_one(self, path: Path) -> None:
        """Empty a document that its editor has saved and closed. A document without a conversation is removed."""
        await asyncio.to_thread(self._empty_one, path)

    @property
    def _folder(self) -> Path:
        return (self.store.directory / FOLDER).resolve()

    def _record(self, path: Path) -> Path:
        return self._folder / _RECORDS / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"

    def _read(self, path: Path) -> ConversationId | None:
        return _conversation(self._record(path), path)

    def _find(self, conversation_id: ConversationId) -> Path | None:
        return min((path for _, path in self._all(conversation_id) if path.is_file()), default=None)

    def _all(self, conversation_id: ConversationId) -> list[tuple[Path, Path]]:
        """Remove the record and the document, which need not exist."""
        named = [(record, _path(record)) for record in (self._folder / _RECORDS).glob("*.json")]
        return [(one, path) for one, path in named if path is not None and _conversation(one, path) == conversation_id]

    def _empty(self, conversation_id: ConversationId, title: str) -> None:
        kept: list[tuple[Path, OSError]] = []
        for record, path in self._all(conversation_id):
            is_users = _load(record).get("isUsers") is True
            is_named = re.fullmatch(rf"{re.escape(_slug(title))}(?:-\d+)?", path.name.removesuffix(SUFFIX)) is not None
            try:
                if is_users or is_named:
                    self._empty_one(path)
                else:
                    path.unlink(missing_ok=True)
                    record.unlink(missing_ok=True)
            except OSError as error:
                kept.append((path, error))
        for path, reason in kept:
            raise StoreError(
                f"The messages are purged, but {path} could not be changed ({type(reason).__name__}) and may still "
                "hold them. Delete it, then purge the same messages again."
            ) from reason

    def _empty_one(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # an editor may save it at the same time
            path.unlink()
            if self._record(path).is_file():
                _write_private(path, whole(HEAD, ""))

    def _write(self, path: Path, conversation_id: ConversationId, *, is_users: bool) -> None:
        """`is_users`: whether the user has named the document."""
        record = self._record(path)
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = record.with_suffix(f".{os.getpid()}.partial")
        _write_private(partial, json.dumps({"path": str(path), "conversationId": conversation_id, "isUsers": is_users}))
        partial.replace(record)

    def _create(self, conversation_id: ConversationId, title: str, in_folder: bool) -> Path:
        folder = self.root if in_folder else self._folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        slug = _slug(title)
        for number in itertools.count(1):
            path = folder / f"{slug}{'' if number == 1 else f'-{number}'}{SUFFIX}"
            if in_folder:
                _keep_out_of_git(self.root, path.name)  # before the document exists
            try:
                _write_private(path, whole(HEAD, ""))
            except FileExistsError:
                continue
            self._write(path, conversation_id, is_users=False)
            return path
        raise AssertionError("there is always another number")


def _slug(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", title).strip("-")[:_LONGEST_NAME].strip("-") or "chat"


def _write_private(path: Path, text: str) -> None:
    """Create a file. Raises FileExistsError: nothing is overwritten, and no link is followed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    with open(descriptor, "w", encoding="utf-8", newline="\n") as out:
        out.write(text)


def _load(record: Path) -> dict[str, object]:
    try:
        value = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _path(record: Path) -> Path | None:
    path = _load(record).get("path")
    return Path(path) if isinstance(path, str) else None


def _conversation(record: Path, path: Path) -> ConversationId | None:
    value = _load(record)
    conversation_id = value.get("conversationId")
    is_of_it = value.get("path") == str(path) and isinstance(conversation_id, str)
    return ConversationId(str(conversation_id)) if is_of_it else None


def _keep_out_of_git(root: Path, name: str) -> None:
    """Add the file to the local ignore rules of the repository, which are in no commit."""
    exclude = _exclude_file(root)
    if exclude is None:
        return
    pattern = f"/{exclude[1]}{name}"
    file = exclude[0]
    written = file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
    if pattern in written.splitlines():
        return
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8", errors="surrogateescape") as out:
        out.write(f"{'' if written.endswith(chr(10)) or not written else chr(10)}{pattern}\n")


def _exclude_file(root: Path) -> tuple[Path, str] | None:
    """The repository's `info/exclude`, and the place of `root` in the repository; None outside a repository."""
    for top in (root, *root.parents):
        git = top / ".git"
        if git.is_file():  # a work tree beside its repository
            named = re.fullmatch(r"gitdir: (.+)\n?", git.read_text(encoding="utf-8", errors="surrogateescape"))
            git = top / named[1] if named is not None else git
            common = git / "commondir"
            git = (git / common.read_text(encoding="utf-8").strip()) if common.is_file() else git
        if git.is_dir():
            below = root.relative_to(top).as_posix()
            return git / "info" / "exclude", "" if below == "." else f"{_quoted(below)}/"
    return None


def _quoted(path: str) -> str:
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)
