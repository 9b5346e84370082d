"""What became of answers that broke off, for the user to choose what to do: continue, keep, discard, or run again."""

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
"""Characters of a partial answer, of a call's arguments or of a result that a list holds."""
OFFERED_FOR: Final = timedelta(days=3)
"""How long after its end an answer is offered without being asked for."""


@dataclass(frozen=True, slots=True)
class BrokenAnswer:
    """An answer that broke off, about which nothing was chosen yet."""

    turn: TurnRecord
    title: str
    """The conversation's."""
    how: Break
    text: str
    """What stands of it: its last `MAX_SHOWN` characters, because they tell where it broke off."""
    n_characters: int
    """Of all of it."""
    batch: tuple[BatchCall, ...]
    """The tool calls it broke off in; empty when it did in words."""
    ended_at: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """Of one folder."""

    engine: TurnEngine

    async def unresolved(self) -> list[BrokenAnswer]:
        """The last that broke off is last."""
        return [_to_answer(each) for each in await self.engine.store.read(recovering.unresolved)]

    async def recent(self) -> list[BrokenAnswer]:
        """Those that broke off not long ago."""
        since = (machine.now() - OFFERED_FOR).isoformat()
        return [each for each in await self.unresolved() if each.ended_at >= since]

    async def last_turn(self, conversation_id: ConversationId) -> TurnId:
        """What a user means who wants the last answer continued or tried again. Raises InvalidRequest for none."""
        return await self.engine.store.read(recovering.last_turn, conversation_id)

    async def resolve(
        self,
        turn_id: TurnId,
        choice: Resolution,
        hide: Literal["answer", "turn"] = "answer",
        asked_by: EditorId | None = None,
    ) -> RunningTurn | TurnId | None:
        """Does what was chosen. The turn that runs now, or the id of the one that an earlier such choice made; None
        when none was asked for. `hide`: of a discard, see `recovering.discard`.

        Raises NotFound, ConversationBusy, and InvalidRequest when it cannot be done any more.
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
