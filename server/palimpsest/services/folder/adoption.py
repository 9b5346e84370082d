"""The adoption of conversations: a folder that was moved or cloned again gets those of its old path.

A store belongs to a path and records more about its folder. When the path is gone and another folder with an empty
store is recognized, the user gets an offer; nothing happens without them. Adoption copies: the old store stays as it
is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.facts.fact import Fact
from palimpsest.domain.transfer.file_format import encode
from palimpsest.machine import utc_now
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.conversation.transfer import Outcome, Transfers
from palimpsest.services.workspace.repository import first_commit
from palimpsest.storage.context import rules as commanded_rules
from palimpsest.storage.conversation import conversations as stored
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.facts.sources import Link
from palimpsest.storage.lifecycle import transfer as transfers
from palimpsest.storage.maintenance import folder_identity as identity
from palimpsest.storage.maintenance.folder_identity import TOO_LONG, FolderIdentity
from palimpsest.storage.store import Store, open_store


@dataclass(frozen=True, slots=True)
class Left:
    """A store whose folder is gone from its path."""

    directory: Path
    path: str
    """The old path of the folder."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """The result of an adoption."""

    n_conversations: int
    n_present: int
    """The number of conversations that existed already, or had been copied before."""
    n_pins: int
    n_facts: int
    """The number of facts that the user wrote, of no conversation."""
    refused: tuple[str, ...]
    """The ids of damaged conversations, which were not copied."""


async def recognise(store: Store, root: Path, environ: Mapping[str, str], *, is_trusted: bool) -> FolderIdentity:
    """Record the identity of an open store's folder.

    The first commit of its repository is read once, and only in a trusted folder, because a repository decides which
    programs git runs. Raises NotFound for a folder that was moved away or deleted meanwhile.
    """
    before = await store.read(identity.recall)
    try:
        status = await asyncio.to_thread(root.stat)
    except OSError as error:
        raise NotFound(f"The folder {root} no longer exists. Open another one.") from error
    git_root = "" if before is None else before.git_root
    if is_trusted and not git_root:
        git_root = await asyncio.to_thread(_first_commit, root, environ)
    now = FolderIdentity(os.fsencode(root).decode("utf-8", "replace"), f"{status.st_dev}:{status.st_ino}", git_root)
    if now != before:
        await store.run(identity.remember, now)
    return now


async def find_left(store: Store, stores: Path, folder: FolderIdentity) -> Left | None:
    """The store in `stores` that this folder had at its old path. None when there is none, when the user does not want
    it, or when the folder has conversations of its own."""
    if await store.read(stored.list_all):
        return None
    passed_over = await store.read(identity.declined) | {store.directory.name}
    return await asyncio.to_thread(_find_left, stores, passed_over, folder)


async def offered(store: Store) -> Left | None:
    """Like `find_left`, for an open store, among the stores beside it."""
    folder = await store.read(identity.recall)
    return None if folder is None else await find_left(store, store.directory.parent, folder)


async def require_offered(store: Store, name: str) -> Left:
    """The offered store with this directory name. Raises InvalidRequest for any other name, so a client can name no
    other directory."""
    left = await offered(store)
    if left is None or left.directory.name != name:
        raise InvalidRequest("These conversations are no longer offered. List what can be adopted, and choose again.")
    return left


async def decline(store: Store, left: Left) -> None:
    """Stop offering these conversations to the store. `palimpsest adopt` can still bring them."""
    await store.run(identity.decline, left.directory)


def _find_left(stores: Path, passed_over: Container[str], folder: FolderIdentity) -> Left | None:
    by_commit: Left | None = None
    for database in sorted(stores.glob(f"*/{DATABASE_NAME}")):
        known = None if database.parent.name in passed_over else identity.peek(database.parent)
        if known is None or os.path.lexists(known.path):
            continue
        left = Left(database.parent, known.path)
        if known.id == folder.id:
            return left
        if folder.git_root not in ("", TOO_LONG) and known.git_root == folder.git_root:
            by_commit = left
    return by_commit


async def adopt(directory: Path, into: Conversations, root: Path) -> Adopted:
    """Copy the conversations of the store in `directory`, a fork after its parent, its pins, and the facts that the
    user wrote; those of a conversation are learned from it again. Another call adds nothing.

    Raises InvalidRequest when there is no such store, StoreError when it cannot be read.
    """
    await asyncio.to_thread(_check_is_another, directory, into.store.directory)
    old = await open_store(directory)
    try:
        n_done, n_present, refused = 0, 0, list[str]()
        records = _in_order(await old.read(stored.list_all))
        theirs = {record.id for record in records}  # a copy that was made there is kept beside its original
        for record in records:
            left = await old.read(transfers.read, record.id)
            if await into.store.read(transfers.has_copy, left, theirs):
                n_done, n_present = n_done + 1, n_present + 1
                continue
            text = await asyncio.to_thread(encode, left)
            try:
                imported = await Transfers(into).import_text(text)
            except InvalidRequest:
                refused.append(record.id)
                continue
            n_done += 1
            n_present += imported.outcome is Outcome.PRESENT
        pins = await old.read(commanded_rules.pins)
        n_pins = await into.store.run(_add_pins, [pin.text for pin in pins])
        n_facts = await into.store.run(_add_facts, await old.read(_written_facts))
        if not refused:
            await old.run(identity.mark_adopted, os.fsencode(root).decode("utf-8", "replace"))
        return Adopted(n_done, n_present, n_pins, n_facts, tuple(refused))
    finally:
        await old.close()


def _check_is_another(directory: Path, own: Path) -> None:
    if not (directory / DATABASE_NAME).is_file():
        raise InvalidRequest(f"{directory} is not a store: it has no {DATABASE_NAME}. Name the folder of a store.")
    if directory.resolve() == own.resolve():
        raise InvalidRequest(f"{directory} is already the store of this folder. Name the store of the old folder.")


def _add_pins(texts: list[str]) -> int:
    known = {pin.text for pin in commanded_rules.pins()}
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    for text in missing:
        commanded_rules.add_pin(text, utc_now())
    return len(missing)


def _written_facts() -> list[tuple[Fact, list[Link]]]:
    """The open facts that the user wrote, with their places."""
    written = [each for each in facts.own() if each.is_open and each.evidence is None]
    return [(each.fact, fact_sources.links_of_fact(each.id)) for each in written]


def _add_facts(written: list[tuple[Fact, list[Link]]]) -> int:
    missing = [(fact, links) for fact, links in written if not facts.saying(fact)]
    for fact, links in missing:
        fact_id = facts.add(fact, 0, None, utc_now())
        for link in links:  # by its old version of the file, so a place that has changed is found to have
            fact_sources.add(fact_id, link.version, link.anchor, link.symbol, link.span, utc_now())
    return len(missing)


def _in_order(records: list[ConversationRecord]) -> list[ConversationRecord]:
    """The conversations, each after the one that it was forked from. A fork without its parent comes last."""
    ordered: list[ConversationRecord] = []
    done: set[str | None] = {None}
    left = records
    while ready := [record for record in left if record.parent in done]:
        ordered += ready
        done |= {record.id for record in ready}
        left = [record for record in left if record.id not in done]
    return ordered + left


def _first_commit(root: Path, environ: Mapping[str, str]) -> str:
    """The first commit; empty when the folder is no repository's top, there is no git, or no commit; or `TOO_LONG`."""
    try:
        return first_commit(root, environ) if (root / ".git").exists() else ""
    except TimeoutError:
        return TOO_LONG
