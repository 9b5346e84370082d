"""Lines of a document as LSP counts them: they end at `\\n`, `\\r\\n` and `\\r` only (LSP 3.17, "EOL").

pygls splits with `str.splitlines`, which also splits at form feeds, NEL, U+2028 and more. Behind such a character every
incremental edit lands on a wrong line, and the document is silently wrong. pygls creates its documents itself and has
no hook, so its class is patched.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from pygls.workspace import TextDocument, Workspace

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FOREIGN = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their ends; a last line without an end counts, an empty one does not."""
    # Looking for eight rare characters and splitting in C is ten times as fast as the regular expression.
    if any(character in text for character in _FOREIGN):
        return _LINES.findall(text)
    return text.splitlines(keepends=True)


def mend_documents() -> None:
    """Makes pygls count lines as LSP does. Calling it again is a no-op."""
    TextDocument.lines = property(lambda document: tuple(split_lines(document.source)))  # type: ignore[assignment,method-assign]  # pygls's own is a read-only property


def open_document(workspace: Workspace, uri: str) -> TextDocument | None:
    """The editor's document; None when the editor has none. pygls would read the disk instead, and stores its documents
    by unquoted URIs."""
    found: TextDocument | None = workspace.text_documents.get(unquote(uri))
    return found
