"""Purging what was said, when the user asks for it and confirms it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.errors import ConversationBusy, InvalidRequest, NotFound, PalimpsestError
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

log = logging.getLogger(__name__)

Range = tuple[MessageId, MessageId] | None
"""[start, end), or all of a conversation."""


@dataclass(frozen=True, slots=True)
class Purging:
    """Purges of one folder's conversations."""

    contexts: ContextEngine
    listeners: Listeners
    documents: ChatDocuments
    """Views of conversations, which editors may have saved."""

    async def purge(self, conversation_id: ConversationId, wanted: Range, *, is_confirmed: bool) -> Scope:
        """Removes the content of the messages, and what was made of it, from every file of the store and every
        context; what it did.

        Raises InvalidRequest, which says what would be removed, unless confirmed; ConversationBusy while a
        conversation that has the messages is written. A caller that is cancelled does not stop it half-way.
        """
        if not is_confirmed:
            would = await self.what_would_go(conversation_id, wanted)
            raise InvalidRequest(f"{would} To do it, ask again with `confirm` set to true.")
        work = asyncio.create_task(self._purge(conversation_id, wanted), name=f"purge {conversation_id}")
        work.add_done_callback(_log_failure)
        return await asyncio.shield(work)

    async def what_would_go(self, conversation_id: ConversationId, wanted: Range) -> str:
        """In a sentence for people."""
        return _what_would_go(await self.contexts.store.read(purging.find_scope, conversation_id, wanted))

    async def _purge(self, conversation_id: ConversationId, wanted: Range) -> Scope:
        store = self.contexts.store
        scope = await store.read(purging.find_scope, conversation_id, wanted)
        async with self.contexts.background.paused(scope.touched):  # nothing that reads the words is under way
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
        return done.scope

    async def finish(self) -> None:
        """Takes out of the files what was purged, also what a server that ended meanwhile had left. Nobody reads the
        words any more, so nothing waits for this but the answer to the purge."""
        store = self.contexts.store
        files = None
        while files is None:  # another server may have begun to purge since there was nothing left to do
            await do_pending_work(store)
            files = await store.read(pending_work.files_to_empty)
        try:
            for each in files.conversations:
                await self.documents.empty(each, (await store.read(conversations.get, each)).title)
        finally:
            await asyncio.to_thread(purging.rewrite_files, store.directory)
            await asyncio.to_thread(_drop_copies, store.directory)
        await store.run(pending_work.files_are_empty, files.newest)

    def _changed(self, conversation_id: ConversationId) -> None:
        self.listeners.tell(ConversationChanged(conversation_id))

    async def _choose_anew(self, lease: HeldLease) -> None:
        """The best cut that what is left allows."""
        context = await self.contexts.hold(lease)
        frame_digest = context.state.frame.digest()
        await self.contexts.adopt_anew(context, CutCause.ROLLBACK, frame_digest=frame_digest)


async def resume(purges: Purging) -> None:
    """What a server that ended meanwhile had left of long work on the store is done, in the background."""
    store = purges.contexts.store
    if await store.read(pending_work.is_any_left_of_a_purge):
        await purges.finish()
    else:
        await do_pending_work(store)


def _log_failure(work: asyncio.Task[Scope]) -> None:
    """Whoever asked may be gone, so nobody else would hear of it. What could not be begun needs no word."""
    if work.cancelled() or (error := work.exception()) is None:
        return
    if not isinstance(error, InvalidRequest | NotFound | ConversationBusy):
        kind = error.kind if isinstance(error, PalimpsestError) else type(error).__name__
        log.warning("a purge has failed: %s", kind)


def _drop_copies(directory: Path) -> None:
    """Copies of the whole store hold what was purged as well."""
    for copy in list(backups.kept(directory)):
        copy.unlink(missing_ok=True)


def set_aside(directory: Path) -> list[str]:
    """Folders with damaged stores: they may hold what was purged, and what nothing else has. The user decides."""
    return sorted(str(path) for path in directory.glob("damaged-*"))


def _what_would_go(scope: Scope) -> str:
    """Ids and numbers only: a title may be a message's text."""
    made = "with the titles, rules, facts and chat documents made of it"
    what = [
        f"the content of messages {scope.start} to {scope.end - 1} ({scope.n_contents} of them still have any), {made}"
    ]
    if scope.start == scope.end:
        what = []
    if scope.n_summaries:
        what.append(f"the summaries that cover some of them ({scope.n_summaries})")
    if scope.is_whole:
        what.append("the conversation's title and draft")
    if scope.is_whole and scope.start:
        what.append(f"from this fork, and not from where they were said, messages 0 to {scope.start - 1}")
    if scope.others:
        what.append(f"the same messages in conversation {', '.join(scope.others)}")
    return f"A purge would remove, for good: {'; '.join(what)}."
