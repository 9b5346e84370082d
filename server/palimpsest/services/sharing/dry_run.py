"""What sharing a conversation would do, for the user to read before."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.domain.messages import ConversationId, MessageId, ToolResultPart
from palimpsest.domain.sharing.removals import files_named, kinds_taken_out
from palimpsest.domain.transfer.conversation import Transfer
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.publication import Plan
from palimpsest.storage.lifecycle import transfer as transfers

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
    n_result_bytes: int
    """Of the texts of tools' results."""


async def dry_run(sharing: Sharing, conversation_id: ConversationId, team: str) -> DryRun:
    """Raises NotFound, HubIsAway, HubFailed."""
    plan = await publication.plan(sharing, conversation_id, team)
    transfer = await sharing.store.read(transfers.read, conversation_id)
    return await asyncio.to_thread(_look_through, sharing, plan, transfer)


def _look_through(sharing: Sharing, plan: Plan, transfer: Transfer) -> DryRun:
    terms, removals = sharing.terms, dict[str, list[MessageId]]()
    own = [each for each in transfer.messages if each.conversation is None and each.content is not None]
    for each in own:
        assert each.content is not None
        kinds = kinds_taken_out(each.content, terms.cleaner, shares_results=terms.shares_results)
        for kind in sorted(kinds):
            removals.setdefault(kind, []).append(each.id)
    contents = [each.content for each in transfer.messages if each.content is not None]
    results = [part for content in contents for part in content.parts if isinstance(part, ToolResultPart)]
    files = files_named(contents) if terms.shares_results else []
    return DryRun(plan, removals, files, sum(len(each.text.encode()) for each in results))
