"""The purge of messages, which the user requests and confirms."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.errors import ConversationBusy, InvalidRequest, NotFound, PalimpsestError, StoreError
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.machine import utc_now
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.conversation.documents import ChatDocuments
from palimpsest.services.conversation.pending_work import do_pending_work
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.storage import backups
from palimpsest.storage.conversation import conversations, pending_work
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.lifecycle import purge as purging
from palimpsest.storage.lifecycle.purge import Scope
from palimpsest.wording import counted

log = logging.getLogger(__name__)

_CHECKPOINT_S: Final = 10.0
"""The longest time of another server's checkpoint, beside the time in which readers are waited for."""
_LOOK_AGAIN_S: Final = 0.05

Range = tuple[MessageId, MessageId] | None
"""A range [start, end) of messages, or None for the whole conversation."""


@dataclass(frozen=True, slots=True)
class Purging:
    """Purges of one folder's conversations."""

    contexts: ContextEngine
    listeners: Listeners
    documents: ChatDocuments
    """The chat documents, which editors may have saved."""
    everywhere: Callable[[Sequence[tuple[str, int, int]]], Awaitable[None]] | None = None
    """Purges what is shared in the hub first, and so in every store: of `Scope.stretches`. None: no hub is set up."""

    async def purge(self, conversation_id: ConversationId, wanted: Range, *, is_confirmed: bool) -> Scope:
        """Delete the content of the messages, and everything derived from it, from every file of the store and every
        context. Returns what was deleted.

        Raises InvalidRequest, which says what would be deleted, when it is not confirmed; ConversationBusy while
        somebody writes to a conversation that has the messages. Cancelling the caller does not stop it half-way.
        """
        if not is_confirmed:
            would = await self.what_would_go(conversation_id, wanted)
            raise InvalidRequest(f"{would} To delete it, repeat the request with `confirm` set to true.")
        work = asyncio.create_task(self._purge(conversation_id, wanted), name=f"purge {conversation_id}")
        work.add_done_callback(_log_failure)
        return await asyncio.shield(work)

    async def what_would_go(self, conversation_id: ConversationId, wanted: Range) -> str:
        """The effect of a purge, as a sentence for people."""
        return _what_would_go(await self.scope_of(conversation_id, wanted))

    async def scope_of(self, conversation_id: ConversationId, wanted: Range) -> Scope:
        """The extent of a purge. Raises NotFound, or InvalidRequest for a range that does not exist."""
        return await self.contexts.store.search(purging.find_scope, conversation_id, wanted)

    async def _purge(self, conversation_id: ConversationId, wanted: Range) -> Scope:
        store = self.contexts.store
        found = scope = await store.search(purging.find_scope, conversation_id, wanted)
        sent: tuple[tuple[str, int, int], ...] = ()
        while self.everywhere is not None and scope.stretches != sent:  # what was said meanwhile belongs to it, too
            await self.everywhere(sent := scope.stretches)
            scope = await store.search(purging.find_scope, conversation_id, wanted)
        async with self.contexts.background.paused(scope.touched):  # no background work reads the words
            done = await store.run(purging.purge, store.writer(utc_now()), conversation_id, wanted)
            try:
                for each in done.scope.touched:
                    self.contexts.forget(each)
                for lease in done.held:
                    await self._choose_anew(lease)
            finally:
                for lease in done.held:
                    self.contexts.let_go(lease)
                    await self.contexts.leases.release(lease, self._changed)
                for each in done.changed:
                    self._changed(each)
        await self.finish()
        # What the hub has purged may have been taken in, and so be gone, before it is purged here.
        return replace(
            done.scope,
            n_contents=max(found.n_contents, done.scope.n_contents),
            n_summaries=max(found.n_summaries, done.scope.n_summaries),
            n_facts=max(found.n_facts, done.scope.n_facts),
        )

    async def finish(self) -> None:
        """Delete the purged words from the files, also those that a server left when it ended. Nobody reads the words
        any more, so only the answer to the purge waits for this."""
        async with self.contexts.rewriting:
            await self._finish()

    async def _finish(self) -> None:
        store = self.contexts.store
        files = None
        while files is None:  # another server may have begun a purge meanwhile
            await do_pending_work(store)
            files = await store.read(pending_work.files_to_empty)
        try:
            for each in files.conversations:
                await self.documents.empty(each, (await store.read(conversations.get, each)).title)
        finally:
            await asyncio.to_thread(purging.rewrite_files, store.directory)
            await empty_log(store.directory)
            await asyncio.to_thread(_drop_copies, store.directory)
        await store.run(pending_work.files_are_empty, files.newest)

    def _changed(self, conversation_id: ConversationId) -> None:
        self.listeners.tell(ConversationChanged(conversation_id))

    async def _choose_anew(self, lease: HeldLease) -> None:
        """Choose the best cut for the messages that are left."""
        context = await self.contexts.hold(lease)
        frame_digest = context.state.frame.digest()
        await self.contexts.adopt_anew(context, CutCause.ROLLBACK, frame_digest=frame_digest)


async def empty_log(directory: Path) -> None:
    """Empties the log of the store, also while another server does the same. Raises StoreError when somebody does not
    let go of it."""
    clock = asyncio.get_running_loop().time
    until = clock() + _CHECKPOINT_S
    while not await asyncio.to_thread(purging.empty_log, directory):
        if clock() > until:
            raise StoreError(
                "The messages are purged, but another program reads the store, so its log could not be emptied and "
                "still holds them. Close other windows on this folder, then purge the same messages again."
            )
        await asyncio.sleep(_LOOK_AGAIN_S)


async def resume(purges: Purging) -> None:
    """Finish, in the background, the long work on the store that an ended server has left."""
    store = purges.contexts.store
    if await store.read(pending_work.is_any_left_of_a_purge):
        await purges.finish()
    else:
        await do_pending_work(store)


def _log_failure(work: asyncio.Task[Scope]) -> None:
    """Log a failure: the caller may be gone. A purge that could not begin needs no log."""
    if work.cancelled() or (error := work.exception()) is None:
        return
    if not isinstance(error, InvalidRequest | NotFound | ConversationBusy):
        kind = error.kind if isinstance(error, PalimpsestError) else type(error).__name__
        log.warning("a purge has failed: %s", kind)


def _drop_copies(directory: Path) -> None:
    """Delete the copies of the whole store, which contain the purged words."""
    for copy in list(backups.kept(directory)):
        copy.unlink(missing_ok=True)


def set_aside(directory: Path) -> list[str]:
    """The folders with damaged stores. They may contain purged words, and messages that exist nowhere else, so the user
    decides about them."""
    return sorted(str(path) for path in directory.glob("damaged-*"))


def _what_would_go(scope: Scope) -> str:
    """The effect as a sentence, with ids and numbers only: a title may be the text of a message."""
    made = "with the titles, rules, facts and chat documents made of it"
    gone = scope.end - scope.start - scope.n_contents
    purged = f" ({gone} of them {'is' if gone == 1 else 'are'} purged already)" if gone else ""
    what = [f"the content of messages {scope.start} to {scope.end - 1}{purged}, {made}"]
    if scope.start == scope.end:
        what = []
    if scope.n_summaries:
        what.append(f"the summaries that cover some of them ({scope.n_summaries})")
    if scope.is_whole:
        what.append("the conversation's title and draft")
    if scope.is_whole and scope.start:
        what.append(f"messages 0 to {scope.start - 1}, from this fork only")
    if scope.others:
        ids = ", ".join(each[:8] for each in scope.others)
        what.append(f"the same messages in {counted(len(scope.others), 'other conversation')} ({ids})")
    return f"A purge would delete for good: {'; '.join(what)}."
