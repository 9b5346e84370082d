"""The features of a chat document: lenses, actions, diagnostics, completion, folding, hover."""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types as lsp

from palimpsest.domain.chat_documents.document import Parsed, Unsendable
from palimpsest.domain.errors import PalimpsestError
from palimpsest.lsp.abilities import could_apply
from palimpsest.lsp.features import SOURCE
from palimpsest.lsp.features.chat_documents.names import BEGIN, EXPAND, FORK, OPEN, SEND, SHOW, STOP
from palimpsest.lsp.features.chat_documents.open_chat import NO_EDITS, OpenChat
from palimpsest.lsp.features.chat_documents.positions import offset_of, position_of
from palimpsest.lsp.features.mentions import mentions_of
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.chat.mentions import Item
from palimpsest.services.context.reports import explain

_LOOKED_AT: Final = 2_000
"""The length in characters from which a message is counted before it is sent."""


async def _commands(chat: OpenChat, parsed: Parsed, line: int | None) -> list[tuple[int, lsp.Command]]:
    """The commands of the document, each with its line. Given a line, those about another line are left out."""
    given: dict[str, Any] = {"uri": chat.uri}
    at, edited = parsed.marker_line or 0, chat.document.first_edit_of_view()
    title, name = ("Stop", STOP) if chat.is_answering else ("Send", SEND)
    found = [(at, lsp.Command(title, name, arguments=[given]))]
    if not chat.is_answering and await chat.obstacle() is not None:
        found.append((at, lsp.Command("Go on in a fork", FORK, arguments=[given])))
    if parsed.marker_line is None and not chat.document.is_writing:
        # There is nothing to send: the line was deleted, or the editor refused the edit that was to bring it.
        found, edited = found if chat.is_answering else [], line or 0
    if edited is not None:
        found.append((edited, lsp.Command("Show the conversation as it is", SHOW, arguments=[given])))
    for section in parsed.sections:
        if section.summary_id is not None and (line is None or section.line <= line <= section.last_line):
            argument = given | {"summaryId": section.summary_id}
            found.append((section.line, lsp.Command("Expand this summary", EXPAND, arguments=[argument])))
    return found


async def code_lenses(ls: PalimpsestServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    uri = params.text_document.uri
    chat = await ls.part(OpenChats).find(uri)
    if not could_apply(ls):
        return []
    if chat is None:
        return [lsp.CodeLens(_line(0), _begin(uri))] if ls.part(OpenChats).could_begin(uri) else []
    return [lsp.CodeLens(_line(line), command) for line, command in await _commands(chat, chat.document.parsed, None)]


async def code_actions(ls: PalimpsestServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    uri = params.text_document.uri
    chat = await ls.part(OpenChats).find(uri)
    if not could_apply(ls):
        return []
    if chat is None:
        begin = _begin(uri)
        return [lsp.CodeAction(BEGIN, OPEN, command=begin)] if ls.part(OpenChats).could_begin(uri) else []
    return [
        lsp.CodeAction(command.title, command.command, command=command)
        for _, command in await _commands(chat, chat.document.parsed, params.range.start.line)
    ]


def _begin(uri: str) -> lsp.Command:
    """For a document that belongs to no conversation. Editors that cannot ask their user need it."""
    return lsp.Command(BEGIN, OPEN, arguments=[{"uri": uri}])


async def hover(ls: PalimpsestServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """The facts about a summary."""
    chat = await ls.part(OpenChats).find(params.text_document.uri)
    if chat is None:
        return None
    line = params.position.line
    ids = {each.summary_id for each in chat.document.parsed.sections if each.line <= line <= each.last_line}
    found = next((each for each in chat.summaries if each.id in ids), None)
    if found is None:
        return None
    said = (
        f"**Summary {found.id}** replaces messages {found.start} to {found.end - 1} in the context "
        f"({found.original_tokens:,} tokens). {found.kind}, level {found.level}, written by `{found.author}`. "
        "The messages themselves are kept; expanding it puts them back into the context."
    )
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, said))


async def folding(ls: PalimpsestServer, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    """A fold for every section of more than one line."""
    chat = await ls.part(OpenChats).find(params.text_document.uri)
    if chat is None:
        return []
    return [
        lsp.FoldingRange(each.line, each.last_line, kind=lsp.FoldingRangeKind.Region)
        for each in chat.document.parsed.sections
        if each.last_line > each.line
    ]


async def diagnostics(ls: PalimpsestServer, uri: str) -> list[lsp.Diagnostic]:
    chat = await ls.part(OpenChats).find(uri)
    if chat is None:
        return []

    parsed = chat.document.parsed
    severity = lsp.DiagnosticSeverity
    if not could_apply(ls):
        return [_problem(0, severity.Information, "chat-no-edits", NO_EDITS)]
    if parsed.marker_line is None:
        if chat.document.is_writing:
            return []
        said = "The line that begins the input is gone. The command 'Show the conversation as it is' brings it back."
        return [_problem(0, severity.Warning, "chat-no-input", said)]
    found = [await _shared(chat), await _unsendable(chat, parsed, parsed.marker_line)]
    if (edited := chat.document.first_edit_of_view()) is not None:
        said = "This is a view of the conversation, and it was edited here. The conversation is unchanged."
        found.append(_problem(edited, severity.Warning, "chat-edited-view", said))
    return [each for each in found if each is not None]


async def _shared(chat: OpenChat) -> lsp.Diagnostic | None:
    """The mark of a shared conversation, at the top of its document."""
    try:
        said = await chat.mark()
    except PalimpsestError:
        return None  # the input says what is wrong
    return None if said is None else _problem(0, lsp.DiagnosticSeverity.Hint, "chat-shared", said)


async def _unsendable(chat: OpenChat, parsed: Parsed, line: int) -> lsp.Diagnostic | None:
    """The reason why the message in the input cannot be sent now."""
    severity = lsp.DiagnosticSeverity
    if chat.is_answering:
        return _problem(line, severity.Hint, "chat-answering", "The answer is being written. Send when it is there.")
    if parsed.problem is Unsendable.EMPTY:
        return _problem(line, severity.Hint, "chat-empty", "There is nothing to send yet. Write below this line.")
    if parsed.problem is Unsendable.ONLY_FENCED:
        said = "All of the message is fenced, so it cannot be sent. Say outside the fence what it is about."
        return _problem(line, severity.Error, "chat-only-fenced", said)
    try:
        if (obstacle := await chat.obstacle()) is not None:
            return _problem(line, severity.Warning, "chat-shared-busy", obstacle)
        session = await chat.session()
        if (await session.conversations.read(chat.conversation_id, 0, 1)).running is not None:
            said = "The conversation is busy: another editor gets an answer in it. Send when it is there."
            return _problem(line, severity.Warning, "chat-busy", said)
        if len(parsed.message) >= _LOOKED_AT:
            plan = await explain(session.contexts, chat.conversation_id, parsed.message)
            if plan.problem is not None and plan.problem.kind == "recent_messages_too_large":
                return _problem(line, severity.Error, "chat-too-large", str(plan.problem))
    except PalimpsestError as error:
        return _problem(line, severity.Error, "chat-error", str(error))
    return None


def _problem(line: int, severity: lsp.DiagnosticSeverity, code: str, said: str) -> lsp.Diagnostic:
    return lsp.Diagnostic(_line(line), said, severity, code, source=SOURCE)


def _line(line: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line, 0), lsp.Position(line, 10_000))


async def complete(ls: PalimpsestServer, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    """Files behind an `@` and commands behind a leading `/`, only in the input."""
    chat = await ls.part(OpenChats).find(params.text_document.uri)
    if chat is None:
        return None

    text, codec, parsed = chat.document.text, ls.workspace.position_codec, chat.document.parsed
    at = offset_of(codec, text, params.position)
    if parsed.marker_line is None or at < parsed.input_start:
        return None
    folder = (await chat.session()).folder
    found = await mentions_of(ls, chat.root).complete(text[parsed.input_start :], at - parsed.input_start, folder)
    place = lsp.Range(position_of(codec, text, parsed.input_start + found.start), position_of(codec, text, at))
    items = [_item(each, place, number) for number, each in enumerate(found.items)]
    return lsp.CompletionList(is_incomplete=found.is_incomplete, items=items)


_KINDS: Final[dict[str, Any]] = {
    "file": lsp.CompletionItemKind.File,
    "folder": lsp.CompletionItemKind.Folder,
    "command": lsp.CompletionItemKind.Keyword,
    "resource": lsp.CompletionItemKind.Reference,
}


def _item(item: Item, place: lsp.Range, number: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        item.label,
        kind=_KINDS[item.kind.value],
        detail=item.detail or None,
        sort_text=f"{number:04}",
        filter_text=item.insert_text,
        text_edit=lsp.TextEdit(place, item.insert_text),
    )
