"""The client as an attached editor: it asks the user for approval by the protocol's permission request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

from acp import RequestError, schema
from acp.helpers import text_block, tool_content

from palimpsest.acp_agent.outbox import Outbox
from palimpsest.acp_agent.updates import TurnUpdates, kind_of
from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.services.tools.editors import Change, EditorGone
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope

_KINDS: Final[Mapping[Answer, Any]] = {
    Answer.ONCE: "allow_once",
    Answer.ALWAYS: "allow_always",
    Answer.DENY: "reject_once",
    Answer.NEVER: "reject_always",
}


class Shown(Protocol):
    """What the client is shown at the moment."""

    def outbox(self, conversation_id: ConversationId) -> Outbox | None:
        """None when the client has not opened the conversation."""
        ...

    def turn(self, turn_id: TurnId) -> TurnUpdates | None: ...


class AskingClient:
    """A client, for one folder: an `AttachedEditor` of `palimpsest.services.tools.editors`.

    It applies no edits: the protocol can only save files, and Palimpsest never saves an approved edit.
    """

    can_apply = False

    def __init__(self, client: Any, shown: Shown) -> None:
        self._client = client
        self._shown = shown

    def texts(self) -> Mapping[str, str]:
        return {}

    async def approve(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        outbox = self._shown.outbox(scope.conversation_id)
        if outbox is None:
            return None
        await outbox.flush()  # the call is shown before the question about it
        turn = self._shown.turn(scope.turn_id)
        call = schema.ToolCallUpdate(
            tool_call_id=(turn and turn.running_call) or f"{scope.turn_id}/approval",
            title=request.title,
            kind=kind_of(request.tool),
            status="pending",
            content=[tool_content(text_block(_fenced(request.shown)))],
        )
        try:
            response = await self._client.request_permission(
                session_id=scope.conversation_id, tool_call=call, options=_options(request)
            )
        except RequestError:
            return None
        except ConnectionError:
            raise EditorGone from None
        outcome = response.outcome
        if not isinstance(outcome, schema.AllowedOutcome):
            return Answer.DENY
        return Answer(outcome.option_id) if outcome.option_id in tuple(Answer) else Answer.DENY

    async def apply(self, change: Change) -> str | None:
        return "This client cannot apply edits."

    async def delete(self, path: str, text: str) -> str | None:
        return "This client cannot apply edits."

    async def run_tool(self, scope: TurnScope, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        raise EditorGone


def _options(request: ApprovalRequest) -> list[Any]:
    names = {
        Answer.ONCE: "Allow once",
        Answer.ALWAYS: f"Always allow {request.covers}",
        Answer.DENY: "Not now",
        Answer.NEVER: f"Never allow {request.covers}",
    }
    return [
        schema.PermissionOption(option_id=answer.value, name=name, kind=_KINDS[answer])
        for answer, name in names.items()
        if answer is not Answer.ALWAYS or request.may_be_always
    ]


def _fenced(text: str) -> str:
    """The text as a code block of Markdown, whatever is in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"
