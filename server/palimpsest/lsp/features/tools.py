"""`tools/*` and `approval/*`: the editor's tools, the questions to its user, and the edits that it applies."""

from __future__ import annotations

from palimpsest.domain.approvals import describe
from palimpsest.lsp.features.parts.attachments import Attachments
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.from_editor import check_together, to_editor_tool
from palimpsest.wire.areas.tools import (
    ApprovalAnswer,
    ApprovalRule,
    ListApprovalsParams,
    ListApprovalsResult,
    RegisterToolsParams,
    RegisterToolsResult,
    RevokeApprovalParams,
)


async def register_tools(ls: PalimpsestServer, params: RegisterToolsParams) -> RegisterToolsResult:
    await ls.folders()  # loads the services

    tools = [
        to_editor_tool(
            tool.name,
            tool.description,
            tool.parameters,
            is_read_only=tool.is_read_only,
            is_for_mentions=bool(tool.for_mentions),
        )
        for tool in params.tools
    ]
    check_together(tools)
    ls.part(Attachments).bring(tools)
    return RegisterToolsResult([tool.schema.name for tool in tools])


async def list_approvals(ls: PalimpsestServer, params: ListApprovalsParams) -> ListApprovalsResult:
    return await _listed(_approvals(await ls.session(params.folder)))


async def revoke_approval(ls: PalimpsestServer, params: RevokeApprovalParams) -> ListApprovalsResult:
    session = await ls.session(params.folder)
    approvals = _approvals(session)
    await approvals.revoke(params.id)
    await session.folder.mcp.refresh()  # the answer may have been about one of its servers
    return await _listed(approvals)


def _approvals(session: FolderSession) -> Approvals:
    return Approvals(session.folder.store, session.folder.editors, session.folder.trust)


async def _listed(approvals: Approvals) -> ListApprovalsResult:
    return ListApprovalsResult(
        [
            ApprovalRule(
                kept.number,
                kept.rule.tool,
                ApprovalAnswer(kept.rule.answer.value),
                describe(kept.rule.tool, kept.rule.words),
                kept.created_at,
            )
            for kept in await approvals.rules()
        ]
    )
