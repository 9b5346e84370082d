"""`facts/share` and `facts/unshare`: the facts of a folder, shared with those who work on the same repository."""

from __future__ import annotations

from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.sharing import publication
from palimpsest.wire.areas.facts import (
    FactsLeftOut,
    SharedRepository,
    ShareFactsParams,
    ShareFactsResult,
    UnshareFactsParams,
    UnshareFactsResult,
)


async def share_facts(ls: PalimpsestServer, params: ShareFactsParams) -> ShareFactsResult:
    session = await ls.session(params.folder_uri)
    shared = session.folder.sharing.require_facts()
    plan = await shared.plan(await publication.team(shared.sharing, session.settings.hub.team))
    if params.confirm:
        await shared.share(plan, params.repository)
    offered = [each for each in (plan.repository, *plan.alike) if each is not None]
    return ShareFactsResult(
        shared=await shared.share_now() is not None,
        team=plan.team.name,
        readers=[each.name for each in plan.readers],
        n_facts=plan.n_facts,
        n_cleaned=plan.n_cleaned,
        left_out=[FactsLeftOut(why.value, n) for why, n in plan.left_out.items()],
        certain=plan.is_certain,
        repositories=[SharedRepository(each.id, each.remote, each.root_commit) for each in offered],
    )


async def unshare_facts(ls: PalimpsestServer, params: UnshareFactsParams) -> UnshareFactsResult:
    session = await ls.session(params.folder_uri)
    return UnshareFactsResult(await session.folder.sharing.require_facts().unshare())
