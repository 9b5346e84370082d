"""Answers that broke off, and the user's choice about each: continue, keep, discard or retry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, assert_never

from palimpsest.domain.messages import ConversationId, MessageId, Role, TurnId
from palimpsest.domain.turns.recovery import BatchCall, Break, Resolution, break_of, last_batch
from palimpsest.machine import machine, utc_now
from palimpsest.services.conversation.history import HistoryEditor
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.turns.engine import TurnEngine
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage.turns import recovery as recovering
from palimpsest.storage.turns import turn_records
from palimpsest.storage.turns.recovery import UnresolvedTurn
from palimpsest.storage.turns.turn_records import TurnRecord

MAX_SHOWN: Final = 2_000
"""The most characters of a partial answer, of a call's arguments or of a result in a list."""
OFFERED_FOR: Final = timedelta(days=3)
"""The age up to which the user is told about a broken answer without asking."""


Hides = Literal[Resolution.RETRY, Resolution.DISCARD]
"""The choices that hide the answer."""


@dataclass(frozen=True, slots=True)
class BrokenAnswer:
    """An answer that broke off, and about which the user has not decided yet."""

    turn: TurnRecord
    title: str
    """The title of the conversation."""
    how: Break
    text: str
    """The last `MAX_SHOWN` characters of the answer, which show where it broke off."""
    n_characters: int
    """The length of the whole answer."""
    batch: tuple[BatchCall, ...]
    """The tool calls in which it broke off; empty when it broke off in its text."""
    ended_at: str

    @property
    def was_only_refused(self) -> bool:
        """Whether it failed before a word of it came."""
        return self.how is Break.ERRORED and not self.n_characters and not self.batch


@dataclass(frozen=True, slots=True)
class Recovery:
    """The broken answers of one folder."""

    engine: TurnEngine

    async def unresolved(self) -> list[BrokenAnswer]:
        """The broken answers, the newest one last."""
        return [_to_answer(each) for each in await self.engine.store.read(recovering.unresolved)]

    async def recent(self) -> list[BrokenAnswer]:
        """The broken answers of the last days (`OFFERED_FOR`), without those that failed before a word of them came:
        there the user was told why, and nothing is left of them."""
        since = (machine.now() - OFFERED_FOR).isoformat()
        return [each for each in await self.unresolved() if each.ended_at >= since and not each.was_only_refused]

    async def last_turn(self, conversation_id: ConversationId) -> TurnId:
        """The turn whose answer `continue` and `retry` are about. Raises InvalidRequest when there is none."""
        return await self.engine.store.read(recovering.last_turn, conversation_id)

    async def first_hidden_by(self, turn_id: TurnId, choice: Hides) -> MessageId | None:
        """The first message that the choice would hide, with all behind it; None when it was made already. Raises
        NotFound, and InvalidRequest when the choice is not possible."""
        return await self.engine.store.read(recovering.first_hidden_by, turn_id, choice)

    async def resolve(
        self,
        turn_id: TurnId,
        choice: Resolution,
        hide: Literal["answer", "turn"] = "answer",
        asked_by: EditorId | None = None,
    ) -> RunningTurn | TurnId | None:
        """Carry out the user's choice. Returns the started turn, or the id of the turn that an earlier call with the
        same choice started; None when the choice starts no turn. `hide`: see `recovering.discard`.

        Raises NotFound, ConversationBusy, and InvalidRequest when the choice is no longer possible.
        """
        match choice:
            case Resolution.CONTINUE | Resolution.RETRY:
                return await self.engine.go_on(turn_id, choice, asked_by=asked_by)
            case Resolution.KEEP:
                await self.engine.store.run(recovering.keep, turn_id)
            case Resolution.DISCARD:
                await self._discard(turn_id, hide)
            case _:
                assert_never(choice)
        return None

    async def _discard(self, turn_id: TurnId, hide: Literal["answer", "turn"]) -> None:
        store, contexts = self.engine.store, self.engine.contexts
        turn = await store.read(turn_records.find, turn_id)
        if await store.read(recovering.is_discarded, turn_id):
            return
        try:
            writing = contexts.writing(turn.conversation_id, "a discarded answer", self.engine.services.changed)
            async with writing as context:
                start = turn.user_message_id if hide == "turn" else MessageId(turn.user_message_id + 1)
                async with contexts.background.paused([context.id], start):
                    hid = await store.commit(
                        lambda: recovering.discard(context.lease, turn_id, hide, utc_now()),
                        lambda hid: None if hid is None else contexts.hid(context.state, start, hid),
                    )
                if hid is not None:
                    await HistoryEditor(contexts).cut_without_hidden(context, hid)
        finally:
            self.engine.services.changed(turn.conversation_id)


def _to_answer(unresolved: UnresolvedTurn) -> BrokenAnswer:
    contents = [message.content for message in unresolved.answer]
    own = [message.content for message in unresolved.answer if message.turn_id == unresolved.turn.id]
    text = "".join(content.text for content in contents if content.role is Role.ASSISTANT)
    return BrokenAnswer(
        unresolved.turn,
        unresolved.title,
        break_of(unresolved.turn.state, own),
        text[-MAX_SHOWN:],
        len(text),
        last_batch(contents),
        unresolved.ended_at,
    )
