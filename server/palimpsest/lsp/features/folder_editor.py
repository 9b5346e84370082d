"""The services' view of the editor of one connection, for one folder."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.workspace import TextDocument

from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.lsp.runtime.documents import split_lines
from palimpsest.lsp.runtime.phase import Phase
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.tools.edit import apply
from palimpsest.services.tools.editors import Change, EditorGone
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope
from palimpsest.wire.areas.tools import ApprovalRequestParams, ApprovalRequestResult, RunToolParams, RunToolResult

_LATE_S: Final = 2.0
"""How long, in seconds, an editor that has applied an edit is waited for until its document says so here."""
_DocumentChange = lsp.TextDocumentEdit | lsp.CreateFile | lsp.RenameFile | lsp.DeleteFile


class FolderEditor:
    """The editor of one connection, for one folder: a `services.editors.AttachedEditor`."""

    def __init__(self, server: PalimpsestServer, root: Path) -> None:
        self._server = server
        self._root = root
        self._asked: dict[asyncio.Future[Any], None] = {}
        """Requests that the editor has not answered yet."""
        self._touched = asyncio.Event()

    def touch(self) -> None:
        """Reports that documents were opened, changed or closed."""
        self._touched.set()

    def leave(self) -> None:
        """Cancels every open request, because the editor has closed the folder."""
        for answer in list(self._asked):
            answer.cancel()

    @property
    def can_apply(self) -> bool:
        workspace = self._server.client_capabilities.workspace
        if workspace is None or workspace.workspace_edit is None:
            return False
        return bool(workspace.apply_edit and workspace.workspace_edit.document_changes)

    def texts(self) -> Mapping[str, str]:
        return {path: document.source for path, document in self._documents().items()}

    async def approve(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        params = ApprovalRequestParams(
            scope.conversation_id,
            scope.turn_id,
            request.tool,
            request.title,
            request.shown,
            request.covers,
            request.may_be_always,
        )
        try:
            result: ApprovalRequestResult = await self._ask("palimpsest/approval/request", params)
        except JsonRpcException:
            return None
        return Answer(result.answer.value)

    async def run_tool(self, scope: TurnScope, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        params = RunToolParams(scope.conversation_id, scope.turn_id, name, dict(arguments))
        try:
            result: RunToolResult = await self._ask("palimpsest/tools/run", params)
        except JsonRpcException as error:
            return ToolOutput(f"The editor could not run the tool: {error.message}", is_error=True)
        return ToolOutput(result.text, bool(result.is_error))

    async def apply(self, change: Change) -> str | None:
        document = self._documents().get(change.path)
        held = None if document is None else document.source
        # Nothing awaits between this check and the request, and the version makes the editor check again.
        if held is not None and held != change.before:
            return "The file has changed in the editor meanwhile. Read it again."
        if change.before is None and not self._knows(lsp.ResourceOperationKind.Create):
            return "It cannot create files. Ask the user to create it; then propose the edit."
        on_disk = change.before if document is None else None
        refused = await self._apply(self._edit(change, document), change.path, on_disk)
        if refused is None:
            await self._report(change.path, apply(change.before or "", change.replacements))
        return refused

    async def delete(self, path: str, text: str) -> str | None:
        document = self._documents().get(path)
        if document is not None and document.source != text:
            return "The file has changed in the editor meanwhile."
        if not self._knows(lsp.ResourceOperationKind.Delete):
            return "It cannot delete files. Delete the file yourself."
        uri = self._uri(path) if document is None else document.uri
        changes: list[_DocumentChange] = []
        if document is not None:  # changes nothing, but the editor compares the version
            nowhere = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
            identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri, document.version)
            changes.append(lsp.TextDocumentEdit(identifier, [lsp.TextEdit(nowhere, "")]))
        changes.append(lsp.DeleteFile(uri, options=lsp.DeleteFileOptions(ignore_if_not_exists=True)))
        return await self._apply(changes, path, text if document is None else None)

    async def _report(self, path: str, text: str) -> None:
        """Returns when the document, if there is one, has this text here. Some editors collect what they report and
        answer before; the next edit would be computed from the text of before. After two seconds nothing more is
        expected: somebody types, or the editor formats what it applies."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LATE_S):
                while (document := self._documents().get(path)) is not None and document.source != text:
                    self._touched.clear()
                    await self._touched.wait()

    async def _apply(self, changes: Sequence[_DocumentChange], path: str, on_disk: str | None) -> str | None:
        """`on_disk`: what the file must hold; None where the editor checks the version of its document, or there is no
        file."""
        params: dict[str, Any] = {"edit": lsp.WorkspaceEdit(document_changes=changes), "label": "Palimpsest"}
        if self._server.takes_digests and on_disk is not None:
            digest = hashlib.sha256(on_disk.encode("utf-8", "surrogatepass")).hexdigest()
            params["palimpsest"] = {"digests": {self._uri(path): digest}}
        try:
            result: lsp.ApplyWorkspaceEditResult = await self._ask(lsp.WORKSPACE_APPLY_EDIT, params)
        except JsonRpcException as error:
            return f"It answered: {error.message}"
        if result.applied:
            return None
        return result.failure_reason or "It gave no reason. Read the file again."

    def _edit(self, change: Change, document: TextDocument | None) -> list[_DocumentChange]:
        uri = self._uri(change.path) if document is None else document.uri
        lines = split_lines(change.before or "")
        starts = list(accumulate(map(len, lines), initial=0))
        codec = self._server.workspace.position_codec

        def position(offset: int) -> lsp.Position:
            line = bisect_right(starts, offset) - 1
            if line == len(lines) > 0 and not lines[-1].endswith(("\n", "\r")):
                line -= 1  # the end of a last line that has no end of its own
            return codec.position_to_client_units(lines, lsp.Position(line, offset - starts[line]))

        identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri, None if document is None else document.version)
        edits = [
            lsp.TextEdit(lsp.Range(position(each.start), position(each.end)), each.text) for each in change.replacements
        ]
        changed = lsp.TextDocumentEdit(identifier, list(edits))
        if change.before is None:
            options = lsp.CreateFileOptions(overwrite=False, ignore_if_exists=False)
            return [lsp.CreateFile(uri, options=options), changed]
        return [changed]

    def _knows(self, operation: lsp.ResourceOperationKind) -> bool:
        workspace = self._server.client_capabilities.workspace
        known = workspace and workspace.workspace_edit and workspace.workspace_edit.resource_operations
        return operation in (known or ())

    def _documents(self) -> dict[str, TextDocument]:
        """The open documents below the folder, by path."""
        found: dict[str, TextDocument] = {}
        for document in self._server.workspace.text_documents.values():
            path = self._server.resolve(document.uri) if document.uri.startswith("file:") else None
            if path is not None and path.is_relative_to(self._root):
                found[path.relative_to(self._root).as_posix()] = document
        return found

    def _uri(self, path: str) -> str:
        """The editor's URI of a file. Its URI of the folder may lead over links."""
        folder = self._server.folder_uris().get(self._root, self._root.as_uri())
        return f"{folder.rstrip('/')}/{quote(path)}"

    async def _ask(self, method: str, params: Any) -> Any:
        """The typed result. Raises JsonRpcException for an error, and EditorGone when no answer will come."""
        protocol = self._server.protocol
        if protocol.phase is not Phase.RUNNING:
            raise EditorGone
        answer = asyncio.wrap_future(protocol.send_request(method, params))
        self._asked[answer] = None
        try:
            return await answer
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise EditorGone from None  # the answer was cancelled, not this task: connection or folder is closed
        finally:
            del self._asked[answer]
