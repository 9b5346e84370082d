"""`adoption/list`, `adoption/resolve`."""

from __future__ import annotations

from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.adoption import adopt, decline, offered, require_offered
from palimpsest.wire.areas.adoption import (
    AdoptionAction,
    AdoptionResult,
    LeftBehind,
    ListAdoptionParams,
    ListAdoptionResult,
    ResolveAdoptionParams,
)


async def list_left(ls: PalimpsestServer, params: ListAdoptionParams) -> ListAdoptionResult:
    uris = [root.as_uri() for root in ls.roots()] if params.folder_uri is None else [params.folder_uri]
    sessions = [await ls.session(uri) for uri in uris]
    found = [(session.folder.root, await offered(session.folder.store)) for session in sessions]
    return ListAdoptionResult(
        [LeftBehind(root.as_uri(), left.directory.name, left.path) for root, left in found if left is not None]
    )


async def resolve(ls: PalimpsestServer, params: ResolveAdoptionParams) -> AdoptionResult:
    session = await ls.session(params.folder_uri)
    left = await require_offered(session.folder.store, params.store)
    if params.action is AdoptionAction.DECLINE:
        await decline(session.folder.store, left)
        return AdoptionResult(0, 0, [])
    adopted = await adopt(left.directory, session.conversations, session.folder.root)
    if adopted.n_facts:
        session.folder.facts.changed()
    return AdoptionResult(adopted.n_conversations, adopted.n_pins, list(adopted.refused))
