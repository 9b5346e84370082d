"""What sharing a conversation would do, for the user to read before."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.domain.messages import Content, ConversationId, MessageId, ToolResultPart, canonical_json
from palimpsest.domain.sharing.log import MOST_BYTES
from palimpsest.domain.sharing.removals import files_named, kinds_taken_out
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.publication import Plan
from palimpsest.storage.sharing.shared import Terms

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing


@dataclass(frozen=True, slots=True)
class DryRun:
    """Nothing was done."""

    plan: Plan
    removals: Mapping[str, Sequence[MessageId]]
    """The messages from which something is taken out, by its kind."""
    files: Sequence[str]
    """The files whose content tools may have brought into the messages that are shared."""
    n_bytes: int
    """Of the messages that leave, as they leave."""
    n_result_bytes: int
    """Of the texts of tools' results among them."""


async def dry_run(sharing: Sharing, conversation_id: ConversationId, team: str) -> DryRun:
    """Raises NotFound, HubIsAway, HubFailed."""
    plan = await publication.plan(sharing, conversation_id, team)
    return await asyncio.to_thread(_look_through, sharing.terms, plan)


def _look_through(terms: Terms, plan: Plan) -> DryRun:
    removals = dict[str, list[MessageId]]()
    leaving: list[Content] = []
    for each in plan.leaving:
        if each.content is None:
            continue
        for kind in sorted(kinds_taken_out(each.content, terms.cleaner, shares_results=terms.shares_results)):
            removals.setdefault(kind, []).append(each.id)
        if terms.shares_results or not each.content.results:
            leaving.append(terms.cleaner.content(each.content))
    bodies = [canonical_json(each.to_json()).encode() for each in leaving]
    shown = [each for each, body in zip(leaving, bodies, strict=True) if len(body) <= MOST_BYTES]
    results = [part for each in shown for part in each.parts if isinstance(part, ToolResultPart)]
    return DryRun(
        plan,
        removals,
        files_named(leaving) if terms.shares_results else [],
        sum(len(body) for body in bodies if len(body) <= MOST_BYTES),
        sum(len(each.text.encode()) for each in results),
    )
