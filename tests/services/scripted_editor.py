"""An editor that answers what a test says, and applies edits to the texts it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.services.tools.editors import Change, EditorGone
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope

SCOPE = TurnScope(ConversationId("conversation"), TurnId("turn"))


@dataclass(eq=False)
class ScriptedEditor:
    answer: Answer | None = Answer.ONCE
    """What the user says; None: this editor cannot ask."""
    can_apply: bool = True
    refusal: str | None = None
    """Why it does not apply an edit."""
    held: dict[str, str] = field(default_factory=dict)
    gate: asyncio.Event | None = None
    """The user thinks until it is set."""
    is_gone: bool = False
    meanwhile: Callable[[], object] = lambda: None
    """Done while the user thinks."""
    asked: list[ApprovalRequest] = field(default_factory=list)
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    n_withdrawn: int = 0
    """Questions that were taken back."""
    applied: list[Change] = field(default_factory=list)
    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def texts(self) -> Mapping[str, str]:
        return dict(self.held)

    async def approve(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        assert scope == SCOPE
        self.asked.append(request)
        self.is_asked.set()
        try:
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.n_withdrawn += 1
            raise
        if self.is_gone:
            raise EditorGone
        self.meanwhile()
        return self.answer

    async def apply(self, change: Change) -> str | None:
        if self.is_gone:
            raise EditorGone
        if self.refusal is None:
            self.applied.append(change)
        return self.refusal

    async def delete(self, path: str, text: str) -> str | None:
        raise AssertionError("nothing here deletes files")

    async def run_tool(self, scope: TurnScope, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        if self.is_gone:
            raise EditorGone
        self.ran.append((name, dict(arguments)))
        return ToolOutput("done")
