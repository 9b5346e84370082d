"""Offsets into a chat document's text and the editor's positions, which count in units of the negotiated encoding."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

from palimpsest.domain.chat_documents.changes import Change


def normal(text: str) -> str:
    """The text with `\\n` at the end of every line, as LSP defines lines. Every function here takes such texts."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def offset_of(codec: PositionCodec, text: str, position: lsp.Position) -> int:
    """The offset in characters. A position behind the end of its line or of the text counts as that end."""
    lines = text.split("\n")
    if position.line >= len(lines):
        return len(text)
    at = codec.position_from_client_units([f"{lines[position.line]}\n"], lsp.Position(0, position.character))
    before = sum(len(line) + 1 for line in lines[: position.line])
    return before + min(at.character, len(lines[position.line]))


def position_of(codec: PositionCodec, text: str, offset: int) -> lsp.Position:
    start = text.rfind("\n", 0, offset) + 1
    return lsp.Position(text.count("\n", 0, offset), codec.client_num_units(text[start:offset]))


def change_of(codec: PositionCodec, text: str, reported: lsp.TextDocumentContentChangeEvent) -> Change:
    """A change of `text` as the editor reports it."""
    new = normal(reported.text)
    if not isinstance(reported, lsp.TextDocumentContentChangePartial):
        return Change(0, len(text), new)
    return Change(offset_of(codec, text, reported.range.start), offset_of(codec, text, reported.range.end), new)
