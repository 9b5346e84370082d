"""Pages of messages that are given as contents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tests.domain.histories import as_lives

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.page import page
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.messages import Content


def notebook_of(pieces: Iterable[MessagePiece]) -> Notebook:
    book = Notebook(count_bytes)
    for piece in pieces:
        book.read(piece.message.id, piece.message.content)
    return book


def page_of(
    contents: Sequence[Content],
    target: int = 2_000,
    *,
    first_id: int = 0,
    told: Mapping[str, float] | None = None,
    ruled: Collection[str] = (),
) -> str:
    """The page of all the messages, whose ids begin with `first_id`."""
    pieces = as_lives(list(contents), first_id=first_id)
    return page(notebook_of(pieces), first_id, first_id + len(pieces), target, told or {}, ruled)
