"""`propose_edit`: changes to one file, shown to the user as a diff and applied by their editor.

The server never writes the file itself: an editor may hold it, and keeps the history of undo. The text to replace must
occur exactly once in the file, and the file must be unchanged when the user approves. Each edit is stored, with the
texts before and after, before the editor is asked to apply it (`storage/file_changes`), so that it can be taken back.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from palimpsest.domain.approvals import PROPOSE_EDIT, edit_request
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.taking_back import ChangeState
from palimpsest.domain.tools import ToolSchema
from palimpsest.machine import machine, utc_now
from palimpsest.services.facts.accepted_edits import AcceptedEdits
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.arguments import read_object
from palimpsest.services.tools.current_files import CurrentFiles
from palimpsest.services.tools.editors import AttachedEditor, Change, EditorGone, Editors, Replacement
from palimpsest.services.tools.toolbox import Tool, ToolOutput, TurnScope
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.storage import file_changes
from palimpsest.storage.file_changes import NewChange

MAX_EDITS: Final = 100

_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Path below the workspace folder, with `/`."},
        "edits": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_EDITS,
            "description": "What to replace. All are for the text as it is now; none may overlap another.",
            "items": {
                "type": "object",
                "properties": {
                    "old_text": {
                        "type": "string",
                        "description": "What stands there now, exactly, without line numbers. It must occur once in "
                        "the file: take in as many lines around it as that needs.",
                    },
                    "new_text": {"type": "string", "description": "What is to stand there."},
                },
                "required": ["old_text", "new_text"],
                "additionalProperties": False,
            },
        },
        "content": {
            "type": "string",
            "description": "Instead of `edits`: the whole text of a file that does not exist yet, or is empty.",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
_STALE: Final = "The file has changed since it was shown to the user, so nothing was applied. Read it again."


@dataclass(frozen=True, slots=True)
class _Asked:
    path: str
    edits: tuple[tuple[str, str], ...] | None
    content: str | None


@dataclass(frozen=True, slots=True)
class EditTool:
    """The tool for one folder."""

    files: WorkspaceFiles
    editors: Editors
    approvals: Approvals
    edits: AcceptedEdits = field(default_factory=AcceptedEdits)
    """Receives the accepted edits, for the facts whose places they change."""

    def __call__(self, scope: TurnScope) -> Sequence[Tool]:
        async def run(text: str) -> ToolOutput:
            return await self._run(scope, text)

        description = (
            "Proposes changes to one text file of the workspace folder, or a new file. The user sees them and decides; "
            "then their editor applies them. The result says whether the file is saved."
        )
        return [Tool(ToolSchema(PROPOSE_EDIT, description, _SCHEMA), run, is_read_only=False)]

    async def _run(self, scope: TurnScope, text: str) -> ToolOutput:
        asked, current = _read(read_object(text)), CurrentFiles(self.files, self.editors)
        path, before = await current.text(asked.path)
        self._editor(current, path)  # before the user is asked in vain
        change = Change(path, before, tuple(_replacements(asked, path, before)))
        after = apply(before or "", change.replacements)
        if after == before:
            raise InvalidRequest("These edits change nothing. Say what is to be different.")
        diff = await asyncio.to_thread(unified_diff, path, before, after)
        added, removed = (sum(line.startswith(sign) for line in diff.split("\n")[2:]) for sign in "+-")
        new = NewChange(machine.new_id(), scope.turn_id, path, before, after, added, removed)
        editor = await self._agreed(scope, new, diff, current)
        accepted, store = self.edits.add(path, before, after), self.approvals.store
        try:
            problem = await editor.apply(change)
        except EditorGone:
            problem = "It went away, and it is unknown whether it applied them: read the file before you go on."
        else:
            if problem is None:
                await store.run(file_changes.settle, [new.id], ChangeState.APPLIED, utc_now())
            else:
                self.edits.remove(path, accepted)
                await store.run(file_changes.drop, new.id)
        if problem is not None:
            raise InvalidRequest(f"The user agreed, but the editor did not apply the edits: {problem}")
        if await current.is_saved(path, after):
            return ToolOutput(f"Applied and saved: {path}.")
        return ToolOutput(f"Applied in the editor: {path}. The file on disk is as it was until the user saves it.")

    def _editor(self, current: CurrentFiles, path: str) -> AttachedEditor:
        """The editor that applies the edit. Raises InvalidRequest when there is none."""
        chosen = current.editor(path)
        if chosen is None and current.holder(path) is not None:
            raise InvalidRequest(f"{path!r} is open in an editor that cannot apply edits. Show the user the change.")
        if chosen is None:
            raise InvalidRequest("No editor is connected that can apply edits. Show the user the change instead.")
        return chosen

    async def _agreed(self, scope: TurnScope, new: NewChange, diff: str, current: CurrentFiles) -> AttachedEditor:
        """The editor that is to apply the edit, once the user has agreed and the edit is stored. Raises InvalidRequest,
        and then it is not stored."""
        store = self.approvals.store

        async def look_again() -> None:
            await store.run(file_changes.begin, new, utc_now())
            if await current.text(new.path) != (new.path, new.before):
                raise InvalidRequest(_STALE)

        try:
            await self.approvals.require(scope, edit_request(new.path, diff), look_again)
            return self._editor(current, new.path)
        except BaseException:  # the writer does one after the other, so this also removes what is still on its way
            await store.run(file_changes.drop, new.id)
            raise


def _read(written: Mapping[str, object]) -> _Asked:
    unknown = [name for name in written if name not in _SCHEMA["properties"]]
    if unknown:
        raise InvalidRequest(f"There is no argument {unknown[0][:50]!r}. Known arguments: path, edits, content.")
    path, edits, content = written.get("path"), written.get("edits"), written.get("content")
    if not isinstance(path, str):
        raise InvalidRequest("The argument 'path' must be a string.")
    if (edits is None) == (content is None):
        raise InvalidRequest("Give either 'edits' or, for a new file, 'content'.")
    if content is not None and not isinstance(content, str):
        raise InvalidRequest("The argument 'content' must be a string.")
    if edits is None:
        return _Asked(path, None, content)
    if not isinstance(edits, list) or not 1 <= len(edits) <= MAX_EDITS:
        raise InvalidRequest(f"The argument 'edits' must be a list of 1 to {MAX_EDITS} edits.")
    return _Asked(path, tuple(_read_edit(number, edit) for number, edit in enumerate(edits, start=1)), None)


def _read_edit(number: int, edit: object) -> tuple[str, str]:
    if not isinstance(edit, dict) or set(edit) != {"old_text", "new_text"}:
        raise InvalidRequest(f"Edit {number} must be an object with 'old_text' and 'new_text'.")
    old, new = edit["old_text"], edit["new_text"]
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        raise InvalidRequest(f"In edit {number}, 'old_text' and 'new_text' must be strings, the first not empty.")
    return old, new


def _replacements(asked: _Asked, path: str, before: str | None) -> Iterator[Replacement]:
    """The replacements in the order of the text. Raises InvalidRequest for an edit that cannot be applied."""
    if asked.edits is None:
        if before:
            raise InvalidRequest(f"{path!r} exists already. Give 'edits' of it.")
        yield Replacement(0, 0, asked.content or "")
        return
    if before is None:
        raise InvalidRequest(f"There is no file {path!r}. Give its whole text as 'content'.")
    has_crlf = before.count("\r\n") == before.count("\n") > 0
    found: list[tuple[Replacement, int]] = []
    for number, (old, new) in enumerate(asked.edits, start=1):
        if has_crlf:  # models are not shown this character and do not write it
            old, new = _with_crlf(old), _with_crlf(new)
        start = before.find(old)
        if start < 0:
            raise InvalidRequest(
                f"The old_text of edit {number} does not stand in {path!r} as it is now. Read the file again and copy "
                "it exactly, without line numbers."
            )
        if before.find(old, start + 1) >= 0:
            raise InvalidRequest(
                f"The old_text of edit {number} stands in {path!r} more than once. Take in more lines around it."
            )
        found.append((Replacement(start, start + len(old), new), number))
    found.sort(key=lambda each: each[0].start)
    for (first, one), (second, other) in pairwise(found):
        if second.start < first.end:
            raise InvalidRequest(f"Edits {min(one, other)} and {max(one, other)} overlap. Make one edit of them.")
    yield from (replacement for replacement, _ in found)


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def apply(text: str, replacements: Sequence[Replacement]) -> str:
    """The text with the replacements in it."""
    pieces: list[str] = []
    end = 0
    for each in replacements:
        pieces += [text[end : each.start], each.text]
        end = each.end
    return "".join([*pieces, text[end:]])


def unified_diff(path: str, before: str | None, after: str) -> str:
    """A diff like `diff -u`. The `\\r` of line ends is left out when all lines of both texts end in `\\r\\n`."""
    texts = [before or "", after]
    if all(text.count("\r\n") == text.count("\n") for text in texts):
        texts = [text.replace("\r\n", "\n") for text in texts]
    old, new = map(_lines, texts)
    lines = difflib.unified_diff(old, new, "/dev/null" if before is None else f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """The lines with their ends. Only `\\n` ends a line."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]
