"""The user's yes to tools below what others wrote: a shared conversation may hold text that steers them.

It is asked once a conversation, before the first call of any tool, and again when somebody else has written there. The
answer is kept in memory only: it never leaves this machine, and holds for no other conversation.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.approvals import Answer, ApprovalRequest, visible
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.toolbox import TurnScope
from palimpsest.storage.sharing import members

_LAST: Final = 2**62
_MOST_SHOWN: Final = 2_000
"""The longest arguments that are shown, in characters. The question is about all tools, not about this call."""


@dataclass(slots=True)
class ForeignWords:
    """The answers of one folder's user."""

    approvals: Approvals
    _accepted: dict[ConversationId, frozenset[str]] = field(default_factory=dict)
    """The names of the authors below whose words tools may run."""
    _refused: dict[ConversationId, TurnId] = field(default_factory=dict)
    """The turn in which the user said no."""
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def require(self, scope: TurnScope, tool: str, arguments: str) -> None:
        """Returns when the user agrees, or nobody else wrote here. Otherwise raises InvalidRequest with a sentence for
        the model."""
        found = await self.approvals.store.read(members.foreign_authors, scope.conversation_id, 0, _LAST)
        authors = frozenset(found.values())
        if authors <= self._accepted.get(scope.conversation_id, frozenset()):
            return
        async with self._asking:
            if authors <= self._accepted.get(scope.conversation_id, frozenset()):
                return
            if self._refused.get(scope.conversation_id) == scope.turn_id:
                raise InvalidRequest("The user allows no tools in this turn. Answer without them.")
            answer = await self.approvals.ask(scope, _question(authors, tool, arguments))
            if answer is None:
                raise InvalidRequest(
                    "Others wrote in this conversation, and no editor is connected that can ask the user whether tools "
                    "may be used. Answer without them."
                )
            if answer in (Answer.DENY, Answer.NEVER):
                self._refused[scope.conversation_id] = scope.turn_id
                raise InvalidRequest("The user allows no tools in this turn. Answer without them.")
            self._accepted[scope.conversation_id] = authors


def _question(authors: frozenset[str], tool: str, arguments: str) -> ApprovalRequest:
    names = visible(", ".join(sorted(authors)))
    shown = visible(arguments, keep="\n")
    return ApprovalRequest(
        tool,
        (),
        f"{names} wrote in this shared conversation, and that text may steer tools. Let the model use tools here?",
        f"The first call: {visible(tool)}" + (f"\n{shown}" if len(shown) <= _MOST_SHOWN else ""),
        may_be_always=False,
        covered="tools in this conversation",
    )
