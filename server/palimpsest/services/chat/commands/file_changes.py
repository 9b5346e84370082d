"""The commands about accepted edits of files: to list them, and to take them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.taking_back import ChangeState
from palimpsest.services.chat.commands.markdown import code, minute, plain, table
from palimpsest.services.chat.commands.scope import Reply, Scope, number
from palimpsest.services.tools.edit import unified_diff
from palimpsest.services.tools.taking_back import ChangeNow, FileOutcome, Outcome

EDITS: Final = "edits"
"""The word behind `/rollback` and `/retry` that takes the edits back as well."""
_STATES: Final = {
    ChangeState.ASKED: "not known",
    ChangeState.APPLIED: "applied",
    ChangeState.TAKEN_BACK: "taken back",
}
_NONE: Final = "No edit of a file is kept of this conversation."


async def changes(scope: Scope, argument: str) -> Reply:
    found = await scope.session.folder.changes.listed(scope.conversation_id)
    if not found:
        return Reply(_NONE)
    if argument:
        return await _diff(scope, _numbered(found, argument, "/changes N, with a number that /changes lists"))
    rows = [
        (
            f"{place}",
            each.change.path,
            f"+{each.change.n_added} -{each.change.n_removed}{'' if each.change.before else ' (new)'}",
            minute(each.change.asked_at),
            _STATES[each.state] + (f". {each.problem}" if each.problem else ""),
        )
        for place, each in enumerate(found, 1)
    ]
    listed = table(("No.", "File", "Lines", "When", "State"), rows)
    return Reply(
        f"{listed}\n\n`/changes N` shows an edit. `/revert` takes back those of the last turn that made some, "
        "`/revert N` one, `/revert PATH` those of a file, and `/revert all` all of this conversation."
    )


async def revert(scope: Scope, argument: str) -> Reply:
    service, conversation_id = scope.session.folder.changes, scope.conversation_id
    found = await service.listed(conversation_id)
    if not found:
        return Reply(_NONE)
    paths = {each.change.path for each in found}
    if argument == "all":
        done = await service.take_back(conversation_id)
    elif argument in paths:
        done = await service.take_back(conversation_id, paths=[argument])
    elif argument:
        chosen = _numbered(found, argument, "/revert N, /revert PATH or /revert all, as /changes lists them")
        done = await service.take_back(conversation_id, change_ids=[chosen.change.id])
    else:
        standing = [each for each in found if each.state is not ChangeState.TAKEN_BACK]
        if not standing:
            return Reply("Every edit of this conversation is taken back.")
        done = await service.take_back(conversation_id, turn_id=standing[-1].change.turn_id)
    return Reply(said_of(done))


def said_of(files: Sequence[FileOutcome]) -> str:
    """What became of the files, as a list."""
    if not files:
        return "No edit of a file is kept of those messages."
    lines = [f"- {code(each.path)}: {_OUTCOMES[each.outcome]}{plain(each.problem or '')}" for each in files]
    unsaved = [code(each.path) for each in files if each.outcome is Outcome.TAKEN_BACK and not each.is_saved]
    if unsaved:
        is_any_saved = any(each.is_saved for each in files)
        what = f"Not saved yet: {', '.join(unsaved)}." if is_any_saved else "Nothing is saved."
        lines.append(f"\n{what} Your editor's undo brings the edits again.")
    return "\n".join(lines)


_OUTCOMES: Final = {
    Outcome.TAKEN_BACK: "taken back.",
    Outcome.AS_BEFORE: "there was nothing to take back.",
    Outcome.REFUSED: "left as it is. ",
    Outcome.UNKNOWN: "",
}


async def _diff(scope: Scope, chosen: ChangeNow) -> Reply:
    texts = await scope.session.folder.changes.texts(scope.conversation_id, [chosen.change.id])
    diff = unified_diff(texts.path, texts.before, texts.after)
    fence = "`" * max(3, 1 + max((len(run) for run in diff.split() if set(run) == {"`"}), default=0))
    return Reply(f"{fence}diff\n{diff}{fence}" + (f"\n\n{plain(chosen.problem)}" if chosen.problem else ""))


def _numbered(found: Sequence[ChangeNow], argument: str, usage: str) -> ChangeNow:
    place = number(argument, usage)
    if not 1 <= place <= len(found):
        raise InvalidRequest(f"There is no edit {place}. Type {usage}.")
    return found[place - 1]
