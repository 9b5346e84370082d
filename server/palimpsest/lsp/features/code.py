"""Chats about code: code actions for any editor, and the commands that carry them out.

A command makes the draft of a message, which mentions lines of the file; it sends nothing. Our own panels show the
draft in their input. In any other editor it goes to the input of a chat document.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from lsprotocol import types as lsp

from palimpsest.domain.deny_list import is_denied
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.facts.staleness.symbols import enclosing_symbol
from palimpsest.lsp.errors import answers
from palimpsest.lsp.features import SOURCE
from palimpsest.lsp.features.chat_documents.drafts import show_draft
from palimpsest.lsp.features.chat_documents.names import SUFFIX
from palimpsest.lsp.features.facts.diagnostics import CODE
from palimpsest.lsp.places import folder_uri, path_below
from palimpsest.lsp.runtime.documents import open_document
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.chat.mentioned import mention_of

EXPLAIN: Final = "palimpsest.code.explain"
ASK: Final = "palimpsest.code.ask"
TESTS: Final = "palimpsest.code.tests"
FIX: Final = "palimpsest.code.fix"
_TITLES: Final = {EXPLAIN: "Explain", ASK: "Ask about selection", TESTS: "Write tests"}
_FIX_TITLE: Final = "Fix this problem"
_MOST_FIXES: Final = 5
_AROUND: Final = 10
"""The lines before and behind a place that no definition surrounds."""
_LONGEST: Final = 2_000
"""The most characters of a problem's message."""
_SHORT: Final = 50


# ------------------------------------------------------------------------------------------------------ the offer


async def code_actions(ls: PalimpsestServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Nothing in chat documents, outside the folders, and in files whose name is that of a secret. An editor that asks
    at each move of the cursor gets only what the user has selected, or what is wrong there."""
    uri, context = params.text_document.uri, params.context
    if not _may_ask_about(ls, uri):
        return []
    given = {"uri": uri, "range": _plain_range(params.range)}
    is_selected = params.range.start != params.range.end
    found = []
    if is_selected or context.trigger_kind is not lsp.CodeActionTriggerKind.Automatic:
        names = [name for name in _TITLES if is_selected or name != ASK]
        found = [_action(_TITLES[name], name, given, name) for name in names]
    problems = [each for each in context.diagnostics if not _is_ours(each)][:_MOST_FIXES]
    for each in problems:
        title = _FIX_TITLE if len(problems) == 1 else f"{_FIX_TITLE}: {_one_line(each.message, _SHORT)}"
        problem = {"message": each.message[:_LONGEST], "source": each.source, "code": each.code}
        about = {"uri": uri, "range": _plain_range(each.range) | {"isEmpty": True}, "problem": problem}
        action = _action(title, FIX, about, lsp.CodeActionKind.QuickFix)
        action.diagnostics, action.is_preferred = [each], False
        found.append(action)
    return found


def _is_ours(problem: lsp.Diagnostic) -> bool:
    """Some editors give back a diagnostic without its source."""
    return problem.source == SOURCE or (problem.source is None and problem.code == CODE)


def _may_ask_about(ls: PalimpsestServer, uri: str) -> bool:
    path = ls.resolve(uri) if uri.startswith("file:") else None
    root = None if path is None else ls.root_of(path)
    if path is None or root is None or path.name.endswith(SUFFIX):
        return False
    return not is_denied(path.relative_to(root).as_posix())


def _action(title: str, command: str, given: dict[str, Any], kind: str) -> lsp.CodeAction:
    return lsp.CodeAction(title, kind, command=lsp.Command(title, command, arguments=[given]))


def _plain_range(place: lsp.Range) -> dict[str, int]:
    """Lines from 0. The end of a selection in front of a line's first character does not take that line in."""
    is_before = place.end.character == 0 and place.end.line > place.start.line
    return {"start": place.start.line, "end": place.end.line - is_before, "isEmpty": place.start == place.end}


# --------------------------------------------------------------------------------------------------- the commands


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a command is about."""

    mention: str
    """The mention of the lines."""
    problem: dict[str, Any]


def _command(draft: Callable[[_Asked], str]) -> Callable[..., Awaitable[Any]]:
    """A command of one argument, `{uri, range: {start, end}, problem}`, with lines from 0. Without a range it is about
    the whole file."""

    @answers
    async def run(ls: Any, *arguments: Any) -> Any:  # pygls reads these annotations to call the command
        given = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], dict) else {}
        uri, place, problem = given.get("uri"), given.get("range"), given.get("problem") or {}
        if not isinstance(uri, str) or not isinstance(problem, dict) or not _is_range(place):
            raise InvalidRequest("The command takes one argument: {uri, range: {start, end}, problem}.")
        if not _may_ask_about(ls, uri):
            raise InvalidRequest("Only files of an open folder can be asked about, none with the name of a secret.")
        session = await ls.session(uri)
        path = path_below(ls, session, uri)
        if path is None:
            raise InvalidRequest("Only files of an open folder can be asked about.")
        text = draft(_Asked(mention_of(path, *_lines(ls, uri, path, place)), problem))
        if ls.shows_drafts:
            return {"draft": text, "folderUri": folder_uri(ls, session)}
        return await show_draft(ls, session, text)

    return run


def _is_range(place: Any) -> bool:
    if place is None:
        return True
    return isinstance(place, dict) and all(isinstance(place.get(key), int) for key in ("start", "end"))


def _lines(ls: PalimpsestServer, uri: str, path: str, place: dict[str, int] | None) -> tuple[int | None, int | None]:
    """The lines that are meant, from 1: those selected, or what is defined around the cursor."""
    if place is None:
        return None, None
    first, last = place["start"] + 1, place["end"] + 1
    if first != last or place.get("isEmpty") is False:
        return first, last
    document = open_document(ls.workspace, uri)
    around = None if document is None else enclosing_symbol(path, document.source, first)
    if around is not None:
        return around[0].start, around[0].end
    n_lines = last if document is None else max(len(document.lines), 1)
    return max(1, first - _AROUND), max(1, min(n_lines, last + _AROUND))


def _fix(asked: _Asked) -> str:
    """The problem is a quotation, because only what the user says makes a rule."""
    origin = " ".join(str(each) for each in (asked.problem.get("source"), asked.problem.get("code")) if each)
    said = str(asked.problem.get("message") or "").strip()[:_LONGEST]
    quoted = "\n".join(f"> {line}" for line in said.splitlines())
    if origin and quoted:
        quoted += f" [{_one_line(origin, _SHORT)}]"
    return f"Fix this problem in {asked.mention}." + (f"\n\n{quoted}" if quoted else "")


def _one_line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


explain = _command(lambda asked: f"Explain {asked.mention}.")
ask = _command(lambda asked: f"About {asked.mention}: ")
tests = _command(lambda asked: f"Write tests for {asked.mention}.")
fix = _command(_fix)
