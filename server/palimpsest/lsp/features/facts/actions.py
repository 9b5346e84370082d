"""Actions on facts in documents: code actions and their commands, hover, code lens, and a document of all facts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

from lsprotocol import types as lsp

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.facts.fact import FactFilter, FactId, StoredFact
from palimpsest.domain.facts.text import author_remark, place_text, sign_of
from palimpsest.lsp.errors import answers
from palimpsest.lsp.features import FACTS_SCHEME, SOURCE
from palimpsest.lsp.features.facts.diagnostics import PlacedFact, placed_facts
from palimpsest.lsp.features.facts.requests import to_info
from palimpsest.lsp.places import file_uri, folder_uri, path_below, session_of_document
from palimpsest.lsp.questions import require_consent
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession
from palimpsest.wording import counted

_VERIFY: Final = "palimpsest.fact.verify"
"""The one action that an editor may carry out together with all other quick fixes: it deletes nothing, changes no text
and can be reversed. Each other action has its command as its kind, so that users choose it themselves."""
_ASK: Final = "palimpsest.fact.ask"
_FORGET: Final = "palimpsest.fact.forget"
_TITLES: Final = {
    _VERIFY: "Mark as still true",
    "palimpsest.fact.update": "Update from file",
    "palimpsest.fact.pin": "Pin fact",
    _ASK: "Ask about this",
    _FORGET: "Forget fact",
}
_RESTORE: Final = "palimpsest.fact.restore"
_RESTORE_TITLE: Final = "Restore the forgotten fact"
SHOW: Final = "palimpsest.facts.show"
_SHORT: Final = 40
"""The number of characters of a fact in a title."""


# ------------------------------------------------------------------------------------------------------ the offer


async def code_actions(ls: PalimpsestServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Actions for the facts at a place, stale or not: the user may know better. Those that were forgotten there can be
    restored."""
    first, last = params.range.start.line, params.range.end.line
    uri = params.text_document.uri
    session = await session_of_document(ls, uri)
    path = None if session is None else path_below(ls, session, uri)
    if session is None or path is None:
        return []
    folder = folder_uri(ls, session)
    meant = {
        placed.fact.id: placed
        for placed in await placed_facts(ls, uri)
        if (first <= placed.line <= last) or (placed.state.is_stale is False and placed.covers(first))
    }
    is_alone = len(meant) == 1
    found = [action for placed in meant.values() for action in _actions(folder, placed, params.context, is_alone)]
    preferred = next((each for each in found if each.kind == lsp.CodeActionKind.QuickFix), None)
    if preferred is not None:
        preferred.is_preferred = True
    for fact, span in await session.folder.facts.keeper.forgotten_at(path):
        start, end = (0, 0) if span is None else (span.start - 1, span.end - 1)
        if start <= last and first <= end:
            found.append(_action(_RESTORE, _RESTORE_TITLE, folder, fact.id, fact.content))
    return found


def _actions(folder: str, placed: PlacedFact, context: lsp.CodeActionContext, is_alone: bool) -> list[lsp.CodeAction]:
    """`is_alone`: the only fact at the place, which no title needs to name."""
    fact = placed.fact
    named = None if is_alone else fact.fact.content
    names = list(_TITLES) if placed.state.is_stale else [_ASK, _FORGET]
    found = [_action(name, _TITLES[name], folder, fact.id, named) for name in names]
    about = [
        each
        for each in context.diagnostics
        if each.source == SOURCE and isinstance(each.data, dict) and fact.id in each.data.get("factIds", ())
    ]
    for each in found:
        each.diagnostics = about or None
    return found


def _action(name: str, title: str, folder: str, fact_id: FactId, content: str | None) -> lsp.CodeAction:
    command = lsp.Command(title, name, arguments=[{"folderUri": folder, "factId": fact_id}])
    kind = lsp.CodeActionKind.QuickFix if name == _VERIFY else name
    return lsp.CodeAction(title if content is None else f"{title}: {_cut(content)}", kind, command=command)


def _cut(content: str) -> str:
    content = content.replace("`", "")
    return content if len(content) <= _SHORT else f"{content[: _SHORT - 1]}…"


async def hover(ls: PalimpsestServer, params: lsp.HoverParams) -> lsp.Hover | None:
    placed = [each for each in await placed_facts(ls, params.text_document.uri) if _is_at(each, params.position.line)]
    if not placed:
        return None
    lines = ["**Palimpsest**", *(f"- {_markdown(each)}" for each in placed)]
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n".join(lines)))


def _is_at(placed: PlacedFact, line: int) -> bool:
    return placed.line == line if placed.span is None else placed.covers(line)


def _markdown(placed: PlacedFact) -> str:
    fact = placed.fact
    state = " **needs a look**" if placed.state.is_stale else ""
    said = f"\n  > {_plain(fact.evidence.quote)}" if fact.evidence is not None else ""
    return f"{sign_of(fact)} {_plain(fact.fact.content + author_remark(fact))}{state}{said}"


def _plain(text: str) -> str:
    """Text of users or models without links, images and HTML for Markdown."""
    flat = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\`*_{}[]()<>#!|~" else character for character in flat)


async def code_lens(ls: PalimpsestServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """A lens on the first line of each place, with the number of facts that depend on it."""
    uri = params.text_document.uri
    by_line: dict[int, list[PlacedFact]] = {}
    for placed in await placed_facts(ls, uri):
        by_line.setdefault(placed.line, []).append(placed)
    session = await session_of_document(ls, uri) if by_line else None
    if session is None:
        return []
    shown = [{"folderUri": folder_uri(ls, session)}]
    return [
        lsp.CodeLens(each[0].range, lsp.Command(_lens(each), SHOW, arguments=list(shown)))
        for _, each in sorted(by_line.items())
    ]


def _lens(placed: list[PlacedFact]) -> str:
    n_stale = sum(each.state.is_stale for each in placed)
    facts = counted(len(placed), "fact")
    if not n_stale:
        return facts
    return f"{facts} may be out of date" if n_stale == len(placed) else f"{facts}, {n_stale} may be out of date"


# --------------------------------------------------------------------------------------------------------- the document


async def facts_document(ls: PalimpsestServer, params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
    """The facts of a folder as Markdown, stale ones first."""
    parts = urlsplit(params.uri)
    folder = next(iter(parse_qs(f"folder={parts.query}").get("folder", [])), None)
    session = await ls.session(folder)
    return lsp.TextDocumentContentResult(await _document(session))


async def _document(session: FolderSession) -> str:
    found = await session.folder.facts.keeper.all_facts()
    found = await session.folder.facts.keeper.select(FactFilter(limit=max(len(found), 1)))
    stale = [fact for fact in found if fact.is_stale]
    lines = [f"# Facts of {_plain(session.folder.root.name)}", ""]
    for heading, facts in (("Stale", stale), ("Up to date", [fact for fact in found if not fact.is_stale])):
        if facts:
            lines += [f"## {heading}", "", *(_item(fact) for fact in facts), ""]
    if not found:
        lines.append("None yet. Palimpsest learns facts from chats about this folder.")
    return "\n".join(lines).rstrip() + "\n"


def _item(fact: StoredFact) -> str:
    where = ", ".join(f"`{place_text(source)}`" for source in fact.sources)
    behind = f" ({where})" if where else ""
    return f"- {fact.id}. {sign_of(fact)} {_plain(fact.fact.content + author_remark(fact))}{behind}"


# --------------------------------------------------------------------------------------------------------- the commands


Do = Callable[[PalimpsestServer, FolderSession, FactId, dict[str, Any]], Awaitable[Any]]


def _command(do: Do) -> Callable[..., Awaitable[Any]]:
    """A command of one argument, `{folderUri, factId}`; `isConfirmed` means that the user has agreed already."""

    @answers
    async def run(ls: Any, *arguments: Any) -> Any:  # pygls reads these annotations to call the command
        given = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], dict) else {}
        folder, fact_id = given.get("folderUri"), given.get("factId")
        if not isinstance(fact_id, int) or not (folder is None or isinstance(folder, str)):
            raise InvalidRequest("The command takes one argument: {folderUri, factId}.")
        return await do(ls, await ls.session(folder), FactId(fact_id), given)

    return run


@_command
async def verify(ls: PalimpsestServer, session: FolderSession, fact_id: FactId, _given: dict[str, Any]) -> Any:
    return await _settled(ls, session, await session.folder.facts.keeper.verify(fact_id))


@_command
async def update(ls: PalimpsestServer, session: FolderSession, fact_id: FactId, _given: dict[str, Any]) -> Any:
    return await _settled(ls, session, await session.folder.facts.keeper.update(fact_id))


@_command
async def forget(ls: PalimpsestServer, session: FolderSession, fact_id: FactId, given: dict[str, Any]) -> Any:
    """Forgets a fact after a confirmation. The answer says whether it was forgotten, and which facts are left."""
    keeper = session.folder.facts.keeper
    fact = await keeper.get(fact_id)
    theirs = " Your team forgets it too, for good." if fact.is_shared else ""
    question = f"Forget this fact? No model will get it any more.{theirs} “{_cut(fact.fact.content)}”"
    is_wanted = await require_consent(ls, question, "Forget", given)
    counts = await (keeper.forget(fact_id) if is_wanted else keeper.counts())
    if is_wanted:
        where = "a code action at its place, or " if fact.sources else ""
        message = (
            f"Forgotten: {_cut(fact.fact.content)} It can be restored for 30 days: {where}/restore {fact_id} in a chat."
        )
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, message))
    return {"isForgotten": is_wanted, "open": counts.n_open, "stale": counts.n_stale}


@_command
async def restore(ls: PalimpsestServer, session: FolderSession, fact_id: FactId, _given: dict[str, Any]) -> Any:
    return to_info(ls, session, await session.folder.facts.keeper.restore(fact_id))


@_command
async def pin(ls: PalimpsestServer, session: FolderSession, fact_id: FactId, _given: dict[str, Any]) -> Any:
    return await _settled(ls, session, await session.folder.facts.keeper.pin_again(fact_id))


@_command
async def unpin(ls: PalimpsestServer, session: FolderSession, fact_id: FactId, _given: dict[str, Any]) -> Any:
    return to_info(ls, session, await session.folder.facts.keeper.unpin(fact_id))


async def _settled(ls: PalimpsestServer, session: FolderSession, fact: StoredFact) -> Any:
    """Warns the user when the editor holds another text than the saved file, which the fact depends on: the diagnostic
    stays then."""
    for source in fact.sources:
        placed = await placed_facts(ls, file_uri(ls, session, source.place.path))
        if any(each.fact.id == fact.id and each.state.is_stale for each in placed):
            message = (
                f"{source.place.path} has unsaved changes, but facts depend on the saved file. The warning stays until "
                "you save the file and confirm the fact again, or undo the changes."
            )
            ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, message))
            break
    return to_info(ls, session, fact)


@_command
async def ask(ls: PalimpsestServer, session: FolderSession, fact_id: FactId, _given: dict[str, Any]) -> Any:
    """Creates a conversation with the question as its draft: the user reads it before it is sent. The statement is a
    quotation there, because only what a user says himself makes a rule."""
    fact = await session.folder.facts.keeper.get(fact_id)
    where = ", ".join(f"@{place_text(source)}" for source in fact.sources)
    text = f"Does this still hold?\n\n> {fact.fact.content}{author_remark(fact)}\n" + (
        f"\nSee {where}." if where else ""
    )
    record = await session.conversations.create(None, None)
    await session.conversations.set_draft(record.id, text)
    message = "The question is the draft of a new conversation. Read it and send it."
    ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, message))
    return {"conversationId": record.id, "draft": text}


@answers
async def show_facts(ls: Any, *arguments: Any) -> str:
    """Shows the document of facts if the editor can, and returns its text."""
    given = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], dict) else {}
    folder = given.get("folderUri")
    session = await ls.session(folder if isinstance(folder, str) else None)
    window = ls.client_capabilities.window
    workspace = ls.client_capabilities.workspace
    has_content = workspace is not None and workspace.text_document_content is not None
    if has_content and window is not None and window.show_document is not None and window.show_document.support:
        uri = f"{FACTS_SCHEME}:/facts.md?{quote(folder_uri(ls, session), safe='')}"
        ls.window_show_document(lsp.ShowDocumentParams(uri, take_focus=True))
    return await _document(session)
