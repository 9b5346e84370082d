"""`facts/*`: the facts of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.facts.fact import FactFilter, FactId, FactType, Place, SourceState, Span, StoredFact
from palimpsest.domain.facts.staleness.line_change import LineChange
from palimpsest.lsp.features.facts.diagnostics import placed_on_disk
from palimpsest.lsp.places import file_uri, folder_uri, path_below
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession
from palimpsest.wire.areas.facts import (
    FactInfo,
    FactKind,
    FactParams,
    FactsChangedParams,
    FactSource,
    FactsResult,
    ForgetFactResult,
    ForgottenFact,
    ForgottenResult,
    ListFactsParams,
    ListForgottenParams,
    PinFactParams,
    SearchFactsParams,
    SourceCondition,
)

_KINDS = {
    FactKind.ENTITY: FactType.ENTITY,
    FactKind.DECISION: FactType.DECISION,
    FactKind.CONSTRAINT: FactType.CONSTRAINT,
    FactKind.CODE_STATE: FactType.CODE_STATE,
    FactKind.PINNED: FactType.PINNED,
}
_TYPES = {fact_type: kind for kind, fact_type in _KINDS.items()}
MOST_LISTED = 1_000


async def list_facts(ls: PalimpsestServer, params: ListFactsParams) -> FactsResult:
    session = await ls.session(params.folder_uri)
    limit = 100 if params.limit is None else params.limit
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidRequest(f"Ask for 1 to {MOST_LISTED} facts at a time.")
    wanted = FactFilter(
        [_KINDS[kind] for kind in params.fact_types or ()],
        params.path,
        params.stale,
        bool(params.include_closed),
        limit,
        None if params.before is None else FactId(params.before),
    )
    return await _result(ls, session, await session.folder.facts.keeper.select(wanted))


async def search_facts(ls: PalimpsestServer, params: SearchFactsParams) -> FactsResult:
    session = await ls.session(params.folder_uri)
    limit = 20 if params.limit is None else params.limit
    return await _result(ls, session, await session.folder.facts.keeper.search(params.query, limit))


async def pin_fact(ls: PalimpsestServer, params: PinFactParams) -> FactInfo:
    session = await ls.session(params.folder_uri or params.file_uri)
    place = None
    if params.file_uri is not None:
        path = path_below(ls, session, params.file_uri)
        if path is None:
            raise InvalidRequest(f"{params.file_uri} is not a file of the workspace folder.")
        span = None
        if params.start_line is not None:
            end = params.start_line if params.end_line is None else params.end_line
            if not 0 <= params.start_line <= end:
                raise InvalidRequest("Lines are counted from 0, and the last one must not come before the first.")
            span = Span(params.start_line + 1, end + 1)
        place = Place(path, span)
    fact = await session.folder.facts.keeper.pin_fact(params.content, params.entities or (), place)
    return to_info(ls, session, fact)


async def verify_fact(ls: PalimpsestServer, params: FactParams) -> FactInfo:
    session = await ls.session(params.folder_uri)
    return to_info(ls, session, await session.folder.facts.keeper.verify(FactId(params.fact_id)))


async def update_fact(ls: PalimpsestServer, params: FactParams) -> FactInfo:
    session = await ls.session(params.folder_uri)
    return to_info(ls, session, await session.folder.facts.keeper.update(FactId(params.fact_id)))


async def forget_fact(ls: PalimpsestServer, params: FactParams) -> ForgetFactResult:
    session = await ls.session(params.folder_uri)
    counts = await session.folder.facts.keeper.forget(FactId(params.fact_id))
    return ForgetFactResult(counts.n_open, counts.n_stale)


async def list_forgotten(ls: PalimpsestServer, params: ListForgottenParams) -> ForgottenResult:
    session = await ls.session(params.folder_uri)
    found = await session.folder.facts.keeper.forgotten()
    return ForgottenResult([ForgottenFact(each.id, each.content, each.forgotten_at) for each in found])


async def restore_fact(ls: PalimpsestServer, params: FactParams) -> FactInfo:
    session = await ls.session(params.folder_uri)
    return to_info(ls, session, await session.folder.facts.keeper.restore(FactId(params.fact_id)))


async def changed_params(ls: PalimpsestServer, session: FolderSession) -> FactsChangedParams:
    """The parameters of the notification that facts have changed."""
    counts = await session.folder.facts.keeper.counts()
    return FactsChangedParams(folder_uri(ls, session), counts.n_open, counts.n_stale)


async def _result(ls: PalimpsestServer, session: FolderSession, found: list[StoredFact]) -> FactsResult:
    counts = await session.folder.facts.keeper.counts()
    changes = await _changes(session, found)
    return FactsResult([to_info(ls, session, fact, changes) for fact in found], counts.n_open, counts.n_stale)


Changes = Mapping[tuple[FactId, str, Span | None], LineChange]
"""What has changed at stale places, by fact, path and lines. A source's condition is that on disk, and so is this."""


async def _changes(session: FolderSession, found: Iterable[StoredFact]) -> Changes:
    return {
        (placed.fact.id, path, placed.span): placed.change
        for path in sorted({path for fact in found for path in fact.stale_sources})
        for placed in await placed_on_disk(session.folder.facts, path)
        if placed.change is not None
    }


def _to_source(
    ls: PalimpsestServer, session: FolderSession, source: SourceState, change: LineChange | None
) -> FactSource:
    place = source.place
    return FactSource(
        file_uri(ls, session, place.path),
        place.path,
        SourceCondition(source.state.value),
        None if place.span is None else place.span.start - 1,
        None if place.span is None else place.span.end - 1,
        place.symbol or None,
        None if change is None else change.was or None,
        None if change is None or not change.number else change.now,
        None if change is None or not change.number else change.number - 1,
    )


def to_info(
    ls: PalimpsestServer, session: FolderSession, fact: StoredFact, changes: Changes = MappingProxyType({})
) -> FactInfo:
    said = fact.evidence
    return FactInfo(
        id=fact.id,
        fact_type=_TYPES[fact.fact.fact_type],
        content=fact.fact.content,
        entities=list(fact.fact.entities),
        sources=[
            _to_source(ls, session, each, changes.get((fact.id, each.place.path, each.place.span)))
            for each in fact.sources
        ],
        is_stale=fact.is_stale,
        turn_number=fact.turn_number,
        created_at=fact.created_at,
        uses=fact.n_uses,
        conversation_id=None if said is None else said.conversation_id,
        message_id=None if said is None else said.message_id,
        quote=None if said is None else said.quote,
        closed_at=fact.closed_at,
        superseded_by=fact.superseded_by,
        verified_at=fact.verified_at,
        author=fact.author,
        shared=fact.is_shared,
    )
