"""Lets the librarian's model put what was found for a question in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.facts.retrieval.reranking import INSTRUCTIONS, read_order, to_request
from palimpsest.services.facts.librarian_model import LibrarianModel
from palimpsest.services.facts.retrieval import Question

_LIMIT_S: Final = 8.0
"""A turn waits for it."""
_TOPIC: Final = "rerank"


@dataclass(frozen=True, slots=True)
class Reranker:
    """Of one folder."""

    model: LibrarianModel

    async def order(self, asked: Question, excerpts: Sequence[str]) -> Sequence[int] | None:
        """Positions from 0, the most helpful first; None where no model says."""
        reply = await self.model.ask(
            asked.conversation_id, INSTRUCTIONS, lambda: to_request(asked.text, excerpts), _TOPIC, _LIMIT_S
        )
        return None if reply is None else read_order(reply.text, len(excerpts))
