"""The commands that continue an answer, or ask for it again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.turns.recovery import Break, Rerun, Resolution
from palimpsest.services.chat.commands.file_changes import EDITS, said_of
from palimpsest.services.chat.commands.markdown import minute, table
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.turns.recovery import Recovery
from palimpsest.services.turns.running import RunningTurn

_SHOWN_OF_ANSWER: Final = 40
_CHOICES: Final = {choice.value: choice for choice in Resolution}
_DONE: Final = {
    Resolution.CONTINUE: "The answer continues in its conversation.",
    Resolution.RETRY: "The message is answered again in its conversation.",
    Resolution.KEEP: "The answer is kept as it is.",
    Resolution.DISCARD: "The answer is hidden. You can still read it.",
}
_BREAKS: Final = {
    Break.COMPLETE: "results of its tools are missing",
    Break.ERRORED: "it failed",
    Break.INCOMPLETE: "its server ended",
}


async def retry(scope: Scope, argument: str) -> Reply:
    if not argument:
        return await _run_again(scope, Resolution.RETRY)
    if argument != EDITS:
        raise InvalidRequest(f"Type /retry, or /retry {EDITS} to take back the edits of the answer first.")
    recovery = Recovery(scope.session.turns)
    ended = await recovery.last_turn(scope.conversation_id)
    start, said = await recovery.first_hidden_by(ended, Resolution.RETRY), ""
    if start is not None:
        said = said_of(await scope.session.folder.changes.take_back_range(scope.conversation_id, start, None))
    done = await _run_again(scope, Resolution.RETRY)
    return replace(done, text=f"{said}\n\n{done.text}".lstrip())


async def go_on(scope: Scope, _: str) -> Reply:
    return await _run_again(scope, Resolution.CONTINUE)


async def recover(scope: Scope, argument: str) -> Reply:
    recovery = Recovery(scope.session.turns)
    broken = await recovery.unresolved()
    if not broken:
        return Reply("There are no broken answers to recover.")
    if not argument:
        rows = [
            (
                f"{place}",
                each.title or "untitled",
                _BREAKS[each.how],
                f"{each.n_characters:,}",
                minute(each.ended_at),
                each.text[-_SHOWN_OF_ANSWER:],
            )
            for place, each in enumerate(broken, 1)
        ]
        listed = table(("No.", "Title", "Why it broke off", "Characters", "When", "Its end"), rows)
        return Reply(f"{listed}\n\nType `/recover N continue`, or `keep`, `discard` or `retry`.")
    place, _, word = argument.partition(" ")
    choice = _CHOICES.get(word.strip().lower())
    if choice is None or not place.isascii() or not place.isdigit() or not 1 <= int(place[:9]) <= len(broken):
        raise InvalidRequest("Type /recover N continue (or keep, discard or retry), with a number that /recover lists.")
    turn = broken[int(place[:9]) - 1].turn
    return _done(choice, turn.conversation_id, await recovery.resolve(turn.id, choice, asked_by=scope.asked_by))


async def _run_again(scope: Scope, how: Rerun) -> Reply:
    recovery = Recovery(scope.session.turns)
    ended = await recovery.last_turn(scope.conversation_id)
    return _done(how, scope.conversation_id, await recovery.resolve(ended, how, asked_by=scope.asked_by))


def _done(choice: Resolution, conversation_id: ConversationId, turn: RunningTurn | TurnId | None) -> Reply:
    if turn is None:
        return Reply(_DONE[choice])
    return Reply(_DONE[choice], conversation_id, turn.id if isinstance(turn, RunningTurn) else turn)
