"""The export of a conversation to a file, and the import of one: ours, or a recorded session of another agent.

An import loses nothing and changes nothing that exists. When the exported id is free, the conversation comes back as it
was, with its digests. When the same conversation exists, nothing is stored. Otherwise it becomes a copy with new
digests, because digests cover the ids, and it records its origin.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.transfer.conversation import Transfer, as_copy
from palimpsest.domain.transfer.file_format import decode, encode, is_export
from palimpsest.machine import machine, utc_now
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.conversation.import_files import read_import
from palimpsest.services.conversation.pending_work import keep_at_pending_work
from palimpsest.services.conversation.recordings import Recording, read_recording
from palimpsest.storage.conversation import conversations as stored
from palimpsest.storage.conversation import message_log
from palimpsest.storage.lifecycle import transfer as transfers
from palimpsest.wording import counted


class Outcome(StrEnum):
    """The outcome of an import."""

    IMPORTED = "imported"
    """Imported as it was exported, with its digests."""
    PRESENT = "present"
    """The same conversation existed already."""
    COPIED = "copied"
    """Imported under another id."""
    RECORDED = "recorded"
    """From a recorded session of another agent."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The conversation that was imported, or existed already."""

    record: ConversationRecord
    outcome: Outcome
    note: str
    """The outcome, as a sentence."""


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported conversation."""

    text: str
    n_messages: int

    @property
    def size_bytes(self) -> int:
        return len(self.text.encode())


@dataclass(frozen=True, slots=True)
class Transfers:
    """Exports and imports of one folder's conversations."""

    conversations: Conversations

    async def export(self, conversation_id: ConversationId) -> Exported:
        """Export all committed messages, as of one moment. Never waits for a turn. Raises NotFound."""
        transfer = await self.conversations.store.search(transfers.read, conversation_id)
        return Exported(await asyncio.to_thread(encode, transfer), len(transfer.messages))

    async def export_to(self, conversation_id: ConversationId, path: Path, *, overwrites: bool) -> Exported:
        """Export to a file that only its owner may read. Raises InvalidRequest when it exists and `overwrites` is
        False, or when it cannot be written; no partial file is left then."""
        exported = await self.export(conversation_id)
        await asyncio.to_thread(_write_private, path, exported.text.encode(), overwrites=overwrites)
        return exported

    async def import_text(self, text: str) -> Imported:
        """Import the text of an export. Raises InvalidRequest, with the line, for a broken one; nothing is stored
        then."""
        transfer = await asyncio.to_thread(decode, text)
        return await self.conversations.store.commit(lambda: _store(transfer), self._stored)

    async def import_file(self, path: Path) -> Imported:
        """Import an export or a recorded session, compressed when the name ends in `.xz`. Raises InvalidRequest."""
        data = await asyncio.to_thread(read_import, path)
        if is_export(data[:_HEAD_BYTES].decode("utf-8", "replace")):
            return await self.import_text(_decode_utf8(data))
        recording = await asyncio.to_thread(read_recording, path, data)
        return await self._store_recording(recording)

    def _stored(self, imported: Imported) -> None:
        """Tells the editors, and makes the messages searchable in the background: of 10,000 that takes some ten
        seconds. A process that ends soon waits for it by `do_pending_work`."""
        if imported.outcome is not Outcome.PRESENT:
            self.conversations.contexts.background.start(None, keep_at_pending_work(self.conversations.store))
            self.conversations.changed(imported.record.id)

    async def _store_recording(self, recording: Recording) -> Imported:
        models = self.conversations.contexts.models
        conversation_id = ConversationId(machine.new_id())
        contents = [content for step in recording.steps for content in step]

        note = f"A recorded session of {counted(recording.n_recorded, 'message')} was imported."
        if recording.n_mended:
            note += f" Placeholders were added for {counted(recording.n_mended, 'missing part')} of tool calls."

        def write() -> Imported:
            stored.create(conversation_id, "", models.default().name, utc_now())
            message_log.append_many(conversation_id, contents, utc_now())
            return Imported(stored.get(conversation_id), Outcome.RECORDED, note)

        return await self.conversations.store.commit(write, self._stored)


_HEAD_BYTES: Final = 4096


def _store(transfer: Transfer) -> Imported:
    """Runs in a transaction."""
    wanted = transfer.header.id
    existing = stored.find(wanted)
    if existing is not None and transfers.read(wanted) == transfer:
        return Imported(existing, Outcome.PRESENT, "This conversation exists already, exactly as it was exported.")
    if transfers.can_keep(transfer):
        record = transfers.write(transfer, utc_now())
        return Imported(
            record, Outcome.IMPORTED, f"A conversation of {counted(record.n_messages, 'message')} was imported."
        )
    ids = {*(message.turn for message in transfer.messages), *(turn.id for turn in transfer.turns)} - {None}
    turn_ids = {turn_id: TurnId(machine.new_id()) for turn_id in ids if turn_id is not None}
    copy = as_copy(transfer, ConversationId(machine.new_id()), turn_ids)
    record = transfers.write(copy, utc_now())
    reason = (
        "it exists already in another state"
        if existing is not None
        else "a conversation that it was forked from, or shares turns with, does not exist here in the same state"
    )
    return Imported(record, Outcome.COPIED, f"The conversation was imported as a copy, because {reason}.")


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise InvalidRequest(f"Line {number}: this is not UTF-8 text. Nothing was imported.") from error


def _write_private(path: Path, data: bytes, *, overwrites: bool) -> None:
    """Write a file with mode 0600, completely or not at all."""
    name = ""
    try:
        if overwrites:
            descriptor, name = tempfile.mkstemp(prefix=".palimpsest-", dir=path.parent)
        else:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            name = str(path)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if overwrites:
            os.replace(name, path)
    except FileExistsError as error:
        raise InvalidRequest(f"{path} exists already. Choose another name, or allow overwriting.") from error
    except OSError as error:
        if name:
            with contextlib.suppress(OSError):
                os.unlink(name)
        raise InvalidRequest(f"{path} cannot be written: {error.strerror or type(error).__name__}.") from error
