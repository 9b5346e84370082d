"""The user's approval, which a tool needs before it changes something.

A stored answer counts first. Otherwise all editors that have the folder open ask the user at once, and the first
answer counts. When no editor can ask, the answer is no. There is no time limit; cancelling the turn ends the wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from palimpsest.domain.approvals import Answer, ApprovalRequest, Rule, decide
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.machine import utc_now
from palimpsest.services.tools.editors import AttachedEditor, EditorGone, Editors
from palimpsest.services.tools.toolbox import TurnScope
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage import approvals
from palimpsest.storage.approvals import KeptRule
from palimpsest.storage.store import Store

MAX_SHOWN_CHARACTERS: Final = 256 * 1024
"""The longest text for the user, in characters. A text is shown whole or not at all, and nobody reads more."""


@dataclass(frozen=True, slots=True)
class Approvals:
    """The approvals of one folder."""

    store: Store
    editors: Editors
    trust: FolderTrust

    async def require(
        self, scope: TurnScope, request: ApprovalRequest, look_again: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Return when the user approves. Otherwise raises InvalidRequest with a sentence for the model.

        `look_again` is called after the user's yes; it raises when the shown text is no longer true. The caller must
        act without waiting for anything else: the user may withdraw the trust at any moment.
        """
        self._require_trust()
        if len(request.shown) > MAX_SHOWN_CHARACTERS:
            raise InvalidRequest("This is too long to be shown to the user for approval. Do it in smaller parts.")
        match await self.answer(scope, request):
            case Answer.ONCE | Answer.ALWAYS:
                if look_again is not None:
                    await look_again()
            case Answer.DENY:
                raise InvalidRequest("The user said no. Do not try it in another way. Ask what they want instead.")
            case Answer.NEVER:
                raise InvalidRequest(
                    f"The user never allows this: {request.covers}. Do not try it in another way. Go on without it."
                )
            case None:
                raise InvalidRequest("No editor is connected that can ask the user for approval. Go on without it.")
        self._require_trust()  # it may have been taken back while the user was asked

    async def answer(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        """The stored answer, else the user's, which is stored when it is to count for later ones; None when no editor
        can ask."""
        return await self.kept(request) or await self._ask(scope, request)

    async def kept(self, request: ApprovalRequest) -> Literal[Answer.ALWAYS, Answer.NEVER] | None:
        """The stored answer."""
        rules = await self.store.read(approvals.rules)
        return decide([each.rule for each in rules], request)

    async def rules(self) -> list[KeptRule]:
        """Oldest first."""
        return await self.store.read(approvals.rules)

    async def revoke(self, number: int) -> None:
        """Raises NotFound."""
        if not await self.store.run(approvals.revoke, number):
            raise NotFound(f"There is no approval {number}. /approvals lists them.")

    def _require_trust(self) -> None:
        if not self.trust.is_trusted:
            raise InvalidRequest("The user does not trust this workspace folder, so only tools that read may run.")

    async def ask(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        """The user's answer, which is not kept; None when no editor can ask."""
        await scope.wait(True)
        asked = [
            asyncio.create_task(_answer_of(editor, scope, request), name="approval")
            for editor in self.editors.attached()
        ]
        try:
            answer = await _first(asked)
        finally:
            for task in asked:
                task.cancel()  # removes the question from the other screens
            await asyncio.gather(*asked, return_exceptions=True)
        if answer in (Answer.ONCE, Answer.ALWAYS):
            await scope.wait(False)
        return answer

    async def _ask(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        answer = await self.ask(scope, request)
        if answer is Answer.NEVER or (answer is Answer.ALWAYS and request.may_be_always):
            await self._keep(request, answer)
        return answer

    async def _keep(self, request: ApprovalRequest, answer: Literal[Answer.ALWAYS, Answer.NEVER]) -> None:
        await self.store.run(approvals.keep, Rule(request.tool, request.words, answer), utc_now())


async def _answer_of(editor: AttachedEditor, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
    try:
        return await editor.approve(scope, request)
    except EditorGone:
        return None


async def _first(asked: Sequence[asyncio.Task[Answer | None]]) -> Answer | None:
    """The first answer; None when there is none."""
    waiting = set(asked)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        answers = {task.result() for task in done} - {None}
        if answers:
            # Of two answers at the same moment, the one that allows less.
            return next(each for each in (Answer.NEVER, Answer.DENY, Answer.ONCE, Answer.ALWAYS) if each in answers)
    return None
