"""The conversations of a folder: create, list, read, summarize, roll back, fork, switch models."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, get_args

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.exchanges import exchange_starts
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.conversation.titles import fork_title, title_of
from palimpsest.domain.errors import ConversationBusy, ErrorDetail, ErrorKind, InvalidRequest, PalimpsestError
from palimpsest.domain.messages import (
    ConversationId,
    Digest,
    ImagePart,
    MessageId,
    Role,
    SummaryId,
    TurnId,
    clean_text,
)
from palimpsest.domain.models.limits import Model
from palimpsest.domain.settings.settings import Layout
from palimpsest.domain.turns.journal import shown_text
from palimpsest.domain.turns.states import TURN, TurnState
from palimpsest.machine import machine, utc_now
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.model_switch import Switch, switch_model
from palimpsest.services.context.summaries.requested import RequestedSummaries, Summarized
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.conversation.history import Compaction, HistoryEditor, RolledBack
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.models.editor_models import EditorId
from palimpsest.storage.context import inheritance
from palimpsest.storage.context import rules as commanded_rules
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log, pictures
from palimpsest.storage.sharing import members, shared
from palimpsest.storage.store import Store
from palimpsest.storage.turns import stream_journal, turn_records
from palimpsest.storage.turns.turn_records import TurnRecord
from palimpsest.wording import counted

MAX_PAGE = 1000
DEFAULT_PAGE = 200
_SWITCH: Final = "a model switch"
_LOOK_AGAIN_S: Final = 1.0
"""The time after which a waiting switch looks again whether the conversation is free."""


class TurnFailed(PalimpsestError):
    """A turn ended in an error. Its partial answer is kept."""

    def __init__(self, turn: TurnRecord, error: PalimpsestError) -> None:
        super().__init__(str(error), error.detail)
        self.kind = error.kind
        self.is_retryable = error.is_retryable
        self.turn_id = turn.id


@dataclass(frozen=True, slots=True)
class Running:
    """A turn that is still running."""

    turn_id: TurnId
    last_seq: int
    text: str
    """The text of its current step so far."""


@dataclass(frozen=True, slots=True)
class Page:
    """Messages, oldest first."""

    record: ConversationRecord
    messages: tuple[StoredMessage, ...]
    hidden: frozenset[MessageId]
    """The ids of those that are hidden."""
    next: MessageId | None
    running: Running | None
    authors: Mapping[MessageId, str]
    """The names of the members who wrote messages of a shared conversation, without the user's own."""


@dataclass(frozen=True, slots=True)
class NewestHidden:
    """The number of the newest range of hidden or purged messages; 0 when there is none."""

    here: int
    """Running turns in the conversation."""
    anywhere: int
    """Running turns in any conversation of the folder."""


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """A turn as the store has it."""

    turn: TurnRecord
    message_ids: tuple[MessageId, ...]
    text: str
    """All committed text of the assistant in the turn."""


@dataclass(frozen=True, slots=True)
class Conversations:
    """The conversations of one folder."""

    store: Store
    contexts: ContextEngine
    listeners: Listeners

    async def create(self, title: str | None, model: str | None) -> ConversationRecord:
        """Create a conversation. Without a title, its first message gives one. Raises NotFound for the model."""
        models = self.contexts.models
        chosen = models.default() if model is None else models.get(model)
        models.provider(chosen)
        cleaned, _ = clean_text(title or "")
        conversation_id = ConversationId(machine.new_id())
        return await self.store.run(conversations.create, conversation_id, title_of(cleaned), chosen.name, utc_now())

    def blank(self) -> ConversationRecord:
        """A new conversation with the default model, not stored yet. Its first message stores it (`TurnEngine.begin`),
        so a refused first message leaves nothing behind."""
        models = self.contexts.models
        chosen = models.default()
        models.provider(chosen)
        now = utc_now()
        return ConversationRecord(
            ConversationId(machine.new_id()), "", chosen.name, 0, 0, now, now, None, MessageId(0), False, ""
        )

    async def list(self) -> list[tuple[ConversationRecord, TurnId | None]]:
        """The conversations, the last changed first, each with its running turn."""

        def read() -> list[tuple[ConversationRecord, TurnId | None]]:
            return [
                (record, None if (turn := turn_records.running_turn(record.id)) is None else turn.id)
                for record in conversations.list_all()
            ]

        return await self.store.read(read)

    async def change_seq(self, conversation_id: ConversationId) -> int:
        """A number that grows with every change of the conversation. Raises NotFound."""
        return (await self.store.read(conversations.get, conversation_id)).change_seq

    async def holds(self, conversation_id: ConversationId) -> bool:
        return await self.store.read(conversations.holds, conversation_id)

    async def holds_turn(self, turn_id: TurnId) -> bool:
        return await self.store.read(turn_records.has_turn, turn_id)

    async def first_of_turn(self, conversation_id: ConversationId, turn_id: TurnId) -> tuple[MessageId | None, int]:
        """The turn's first message, None when it is not stored here, and how many messages there are."""

        def read() -> tuple[MessageId | None, int]:
            first = turn_records.first_message(conversation_id, turn_id)
            return first, conversations.get(conversation_id).n_messages

        return await self.store.read(read)

    async def picture(self, conversation_id: ConversationId, digest: Digest) -> tuple[ImagePart, bytes]:
        """A picture in a message of the conversation. Raises NotFound."""
        return await self.store.read(pictures.read, conversation_id, digest)

    async def read(self, conversation_id: ConversationId, start: int | None, limit: int | None) -> Page:
        """A page of messages and the text of a running turn, as of one moment."""
        first = 0 if start is None else start
        count = DEFAULT_PAGE if limit is None else limit
        if first < 0 or not 1 <= count <= MAX_PAGE:
            raise InvalidRequest(f"Read from message 0 or later, and 1 to {MAX_PAGE} messages at a time.")

        def read() -> Page:
            record = conversations.get(conversation_id)
            messages = message_log.read(conversation_id, first, first + count)
            turn = turn_records.running_turn(conversation_id)
            running = None
            if turn is not None:
                events = [numbered.event for numbered in stream_journal.read(turn.id)]
                running = Running(turn.id, turn.last_seq, shown_text(events))
            following = MessageId(first + count) if first + count < record.n_messages else None
            ranges = hidden_ranges.read(conversation_id)
            hidden = frozenset(m.id for m in messages if any(each.start <= m.id < each.end for each in ranges))
            authors = members.foreign_authors(conversation_id, first, first + count)
            return Page(record, tuple(messages), hidden, following, running, authors)

        return await self.store.read(read)

    async def newest_hidden(self, conversation_id: ConversationId) -> NewestHidden:
        def read() -> NewestHidden:
            return NewestHidden(hidden_ranges.last_hidden(conversation_id), hidden_ranges.last_hidden_anywhere())

        return await self.store.read(read)

    async def outcome(self, turn_id: TurnId) -> TurnOutcome:
        """A turn and its committed messages. Raises NotFound."""

        def read() -> TurnOutcome:
            turn = turn_records.find(turn_id)
            ids = turn_records.message_ids(turn_id)
            messages = message_log.read(turn.conversation_id, ids[0], ids[-1] + 1) if ids else []
            said = [m.content.text for m in messages if m.turn_id == turn_id and m.content.role is Role.ASSISTANT]
            return TurnOutcome(turn, tuple(ids), "".join(said))

        return await self.store.read(read)

    async def require_success(self, turn_id: TurnId) -> TurnOutcome:
        """The outcome of an ended turn. Raises TurnFailed for a failed one."""
        outcome = await self.outcome(turn_id)
        turn = outcome.turn
        if turn.state is TurnState.ERRORED:
            error = PalimpsestError(turn.error_message or "The turn failed.", ErrorDetail(model=turn.model))
            error.kind = turn.error_kind or ErrorKind.INTERNAL
            error.is_retryable = error.kind in (ErrorKind.OVERLOADED, ErrorKind.RATE_LIMITED, ErrorKind.NETWORK)
            raise TurnFailed(turn, error)
        return outcome

    async def conversation_of_request(self, request_id: str) -> ConversationId | None:
        """The conversation in which a turn with this request id was made; None when there is none."""
        return await self.store.read(turn_records.conversation_of_request, request_id)

    async def rename(self, conversation_id: ConversationId, title: str) -> ConversationRecord:
        """Set the title, cut to 60 characters. Raises InvalidRequest for an empty one."""
        cleaned, _ = clean_text(title)
        if not title_of(cleaned):
            raise InvalidRequest("A title needs at least one character.")
        return await self._change(
            conversation_id, lambda: conversations.rename(conversation_id, title_of(cleaned), utc_now())
        )

    async def archive(self, conversation_id: ConversationId, *, is_archived: bool) -> ConversationRecord:
        """Archive a conversation, or undo that. It stays as it is; editors may leave it out of lists."""
        return await self._change(
            conversation_id, lambda: conversations.set_archived(conversation_id, utc_now(), is_archived=is_archived)
        )

    async def set_layout(self, conversation_id: ConversationId, layout: str | None) -> ConversationRecord:
        """Set the layout of its requests from its next turn on; None for the setting. Raises InvalidRequest."""
        if layout is not None and layout not in get_args(Layout):
            raise InvalidRequest(f"There is no layout {layout!r}. Choose one of: {', '.join(get_args(Layout))}.")
        return await self._change(conversation_id, lambda: conversations.set_layout(conversation_id, layout, utc_now()))

    async def set_draft(self, conversation_id: ConversationId, text: str) -> ConversationRecord:
        """Store the text that the user has typed and not sent."""
        cleaned, _ = clean_text(text)
        return await self._change(conversation_id, lambda: conversations.set_draft(conversation_id, cleaned, utc_now()))

    async def _change(self, conversation_id: ConversationId, change: Callable[[], None]) -> ConversationRecord:
        def write() -> ConversationRecord:
            conversations.get(conversation_id)
            change()
            return conversations.get(conversation_id)

        record = await self.store.run(write)
        self.changed(conversation_id)
        return record

    async def fork(
        self, conversation_id: ConversationId, after: MessageId | None, title: str | None
    ) -> ConversationRecord:
        """Create a conversation with the messages up to and including `after`, widened to whole exchanges; None for
        all, but for what somebody asks on another machine and no answer has come to yet. Without a title, the fork's
        title says what it is a fork of.

        Never waits: it lacks what a running turn has not committed. Raises InvalidRequest for an unknown message, and
        when nothing is answered yet.
        """
        cleaned, _ = clean_text(title or "")
        child = ConversationId(machine.new_id())

        def write() -> ConversationRecord:
            parent = conversations.get(conversation_id)
            last = parent.n_messages - 1 if after is None else after
            if not 0 <= last < parent.n_messages:
                raise InvalidRequest(
                    f"There is no message {last} to fork after; this conversation has "
                    f"{counted(parent.n_messages, 'message')}."
                )
            start = max(0, last - MAX_PAGE)
            nearby = message_log.read(conversation_id, start, last + MAX_PAGE)
            starts = [start + index for index in exchange_starts([message.content for message in nearby])]
            at = MessageId(min((each for each in starts if each > last), default=start + len(nearby)))
            if after is None and (asked := shared.asked_elsewhere(conversation_id, nearby)) is not None:
                at = asked
            if at == 0:
                raise InvalidRequest("Nothing is answered here yet. Begin a new conversation, or fork after a message.")
            named = title_of(cleaned) or fork_title(parent.title, {each.title for each in conversations.list_all()})
            record = conversations.fork(child, parent, at, named, utc_now())
            inheritance.inherit(child, conversation_id, at, utc_now())
            commanded_rules.inherit(child, conversation_id, at, utc_now())
            return record

        return await self.store.run(write)

    async def roll_back(self, conversation_id: ConversationId, to: MessageId | None) -> RolledBack:
        """Hide the messages from `to` on, widened to whole exchanges; for None, from the user's newest message on. The
        text of the first hidden user message becomes the draft.
        """
        pieces = (await self.contexts.state(conversation_id)).pieces
        if to is None and not pieces:
            raise InvalidRequest(
                "There is nothing to roll back: every message of this conversation is hidden, or it has none."
            )
        newest = MessageId(pieces[-1].end - 1) if pieces else MessageId(0)
        try:
            async with self._writing(conversation_id, "a roll back") as context:
                if to is None:
                    return await self._editor.roll_back_newest(context, newest)
                return await self._editor.roll_back(context, to)
        finally:
            self.changed(conversation_id)  # a request that was cancelled may have hidden messages

    async def expand(self, conversation_id: ConversationId, summary_id: SummaryId) -> Compaction:
        async with self._writing(conversation_id, "an expansion") as context:
            return await self._editor.expand(context, summary_id)

    async def regenerate(
        self, conversation_id: ConversationId, summary_id: SummaryId, asked_by: EditorId | None = None
    ) -> Compaction:
        async with self._writing(conversation_id, "a summary", asked_by) as context:
            return await self._editor.regenerate(context, summary_id)

    async def undo(self, conversation_id: ConversationId) -> Compaction:
        async with self._writing(conversation_id, "an undo") as context:
            return await self._editor.undo(context)

    async def redo(self, conversation_id: ConversationId) -> Compaction:
        async with self._writing(conversation_id, "a redo") as context:
            return await self._editor.redo(context)

    @property
    def _editor(self) -> HistoryEditor:
        return HistoryEditor(self.contexts)

    async def summarize(
        self,
        conversation_id: ConversationId,
        wanted: tuple[MessageId, MessageId] | None,
        asked_by: EditorId | None = None,
    ) -> Summarized:
        """Summarize a range of messages. Raises ConversationBusy while a turn or another change holds the
        conversation."""
        async with self._writing(conversation_id, "a summary", asked_by) as context:
            return await RequestedSummaries(self.contexts).summarize(context, wanted)

    async def switch_model(self, conversation_id: ConversationId, name: str) -> Switch:
        """Switch the model once no turn runs. Switches of one server happen in the order of their calls. A caller that
        is cancelled while it waits has switched nothing.

        Raises NotFound for a model that is unknown or not configured, ConversationBusy while anything other than a turn
        or a switch holds the conversation.
        """
        models = self.contexts.models
        model = models.get(name)
        models.provider(model)
        news = asyncio.Event()
        async with self.contexts.leases.line(conversation_id):
            unsubscribe = self.listeners.add(lambda _: news.set())
            try:
                while True:
                    news.clear()  # before the try, so that no later event is missed
                    try:
                        return await self._switch(conversation_id, model)
                    except ConversationBusy as busy:
                        if busy.holder not in (TURN, _SWITCH):
                            raise
                    # A dying server sends no event, so look again without one.
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_AGAIN_S):
                            await news.wait()
            finally:
                unsubscribe()

    async def _switch(self, conversation_id: ConversationId, model: Model) -> Switch:
        is_held = False
        try:
            async with self._writing(conversation_id, _SWITCH) as context:
                is_held = True
                return await switch_model(self.contexts, context, model)
        finally:
            if is_held:  # an event about the released lease: others may wait for it
                self.changed(conversation_id)

    def changed(self, conversation_id: ConversationId) -> None:
        """Publish that a conversation has changed, or is free."""
        self.listeners.tell(ConversationChanged(conversation_id))

    def _writing(
        self, conversation_id: ConversationId, holder: str, asked_by: EditorId | None = None
    ) -> contextlib.AbstractAsyncContextManager[WritableContext]:
        return self.contexts.writing(conversation_id, holder, self.changed, asked_by)
