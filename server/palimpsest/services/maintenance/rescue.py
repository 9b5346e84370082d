"""The rescue of the messages in a damaged database (`palimpsest rescue`)."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.transfer.conversation import Transfer
from palimpsest.domain.transfer.file_format import decode, encode
from palimpsest.machine import utc_now
from palimpsest.storage.lifecycle import transfer as transfers
from palimpsest.storage.maintenance.rescue import Loose, carve, copy_damaged, pour
from palimpsest.storage.store import open_store

REST_NAME: Final = "rest.txt"


@dataclass(frozen=True, slots=True)
class Saved:
    """The rescued conversations."""

    files: tuple[Path, ...]
    """One file per conversation, in the order in which they can be imported."""
    n_messages: int
    n_emptied: int
    """The number of messages in them whose text is lost."""
    n_plain: int
    """The number of conversations without summaries and cuts, because these are damaged."""
    n_loose: int
    """The number of messages without a conversation; their text is in the rest."""


async def rescue(damaged: Path, output: Path) -> Saved:
    """Write the exports and the rest to the new folder `output`, which only its owner may read.

    Raises InvalidRequest when there is no such file or the folder cannot be made, StoreError when the disk is full.
    """
    await asyncio.to_thread(_begin, damaged, output)
    try:
        with tempfile.TemporaryDirectory(prefix=".rescue-", dir=output) as name:
            return await _rescue(damaged, output, Path(name))
    except OSError as error:
        raise InvalidRequest(f"{damaged} could not be saved to {output}: {error.strerror}.") from error


def _begin(damaged: Path, output: Path) -> None:
    if not damaged.is_file():
        raise InvalidRequest(f"There is no file {damaged}. Name a damaged database, such as a store.db.")
    try:
        output.mkdir(mode=0o700)
    except OSError as error:
        raise InvalidRequest(f"The folder {output} cannot be created: {error.strerror}. Choose another one.") from error


async def _rescue(damaged: Path, output: Path, directory: Path) -> Saved:
    copy = await asyncio.to_thread(copy_damaged, damaged, directory)
    store = await open_store(directory / "store")
    try:
        rescued = await store.run(pour, copy, utc_now())
        loose = rescued.loose
        if not rescued.n_messages and not loose:
            loose = await asyncio.to_thread(carve, copy)
        files: list[Path] = []
        n_plain = 0
        for number, conversation_id in enumerate(rescued.conversations, 1):
            text, is_whole = _exported(await store.read(transfers.read, conversation_id))
            n_plain += not is_whole
            files.append(output / f"{number:04}-{_as_name(conversation_id)}.jsonl")
            await asyncio.to_thread(_write, files[-1], text)
    finally:
        await store.close()
    if loose:
        await asyncio.to_thread(_write, output / REST_NAME, "".join(_lines(each) for each in loose))
    return Saved(tuple(files), rescued.n_messages, rescued.n_emptied, n_plain, len(loose))


def _exported(transfer: Transfer) -> tuple[str, bool]:
    """An export that can be imported, and whether it has everything that was found."""
    hidden = tuple(replace(each, n_summaries=0) for each in transfer.hidden)
    plain = Transfer(transfer.header, transfer.messages, hidden=hidden)
    for each in (transfer, replace(plain, turns=transfer.turns)):
        text = encode(each)
        try:
            decode(text)
        except InvalidRequest:
            continue
        return text, each is transfer
    return encode(plain), False


def _as_name(text: str) -> str:
    """A file name from an id. Ids are hex digits; a damaged id must not name a file outside the folder."""
    return "".join(char if char.isalnum() else "-" for char in text)[:64]


def _lines(loose: Loose) -> str:
    return f"--- message {loose.message_id} of conversation {loose.conversation_id or '?'}\n{loose.text}\n\n"


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
