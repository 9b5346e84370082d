"""The command about the answers to questions that are kept: to list them, and to take one back."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.approvals import Answer, describe
from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.chat.commands.markdown import minute, table
from palimpsest.services.chat.commands.scope import Reply, Scope, number
from palimpsest.services.tools.approvals import Approvals

_USAGE: Final = "/approvals revoke N, with a number that /approvals lists"
_SAID: Final = {Answer.ALWAYS: "always", Answer.NEVER: "never"}
_NONE: Final = (
    "Nothing is always allowed or never allowed in this folder: you are asked each time. Where a question offers "
    "`always` or `never`, that answer is kept and listed here."
)


async def approvals(scope: Scope, argument: str) -> Reply:
    folder = scope.session.folder
    kept = Approvals(folder.store, folder.editors, folder.trust)
    match argument.split():
        case []:
            said = ""
        case ["revoke", which]:
            await kept.revoke(number(which, _USAGE))
            await folder.mcp.refresh()  # the answer may have been about one of its servers
            said = "You are asked again about that.\n\n"
        case _:
            raise InvalidRequest(f"{argument[:60]!r} is not understood. Type /approvals, or {_USAGE}.")
    rows = [
        (
            f"{each.number}",
            _SAID[each.rule.answer],
            describe(each.rule.tool, each.rule.words),
            minute(each.created_at),
        )
        for each in await kept.rules()
    ]
    if not rows:
        return Reply(f"{said}{_NONE}")
    listed = table(("No.", "Answer", "About", "Since"), rows)
    return Reply(f"{said}{listed}\n\n`/approvals revoke N` takes an answer back: you are asked again.")
