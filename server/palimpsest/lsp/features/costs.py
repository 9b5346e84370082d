"""`palimpsest/costs`."""

from __future__ import annotations

from palimpsest.data import load_price_table
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.costs import Costs
from palimpsest.wire.areas import costs as wire


async def costs(ls: PalimpsestServer, params: wire.CostsParams) -> wire.CostsResult:
    named = params.conversation_id
    session = await (ls.session(params.folder) if named is None else ls.session_of(named))
    found = await session.spending.report(
        None if named is None else ConversationId(named), None if params.turn_id is None else TurnId(params.turn_id)
    )
    return wire.CostsResult(
        today=_to_wire(found.today),
        month=_to_wire(found.month),
        everywhere_dollars=found.everywhere_dollars,
        prices_as_of=load_price_table().as_of,
        conversation=None if found.conversation is None else _to_wire(found.conversation),
        turn=None if found.turn is None else _to_wire(found.turn),
        budget_dollars=found.budget_dollars or None,
    )


def _to_wire(found: Costs) -> wire.Costs:
    lines = [
        wire.CostLine(
            purpose=line.spent.purpose,
            provider=line.spent.provider,
            model=line.spent.model,
            calls=line.spent.n_calls,
            estimated_calls=line.spent.n_estimated,
            input_tokens=line.spent.usage.input_tokens,
            cache_read_tokens=line.spent.usage.cache_read_tokens,
            cache_write_tokens=line.spent.usage.cache_write_tokens,
            output_tokens=line.spent.usage.output_tokens,
            dollars=line.dollars,
        )
        for line in found.lines
    ]
    return wire.Costs(found.dollars, found.is_priced, lines)
