"""The places in files that facts rest on.

A source is one version of one file: the hash of its bytes on disk, and one hash for each line. A link ties a fact to a
place in such a version by an anchor. When a file is saved and the place says the same as before, the link moves to the
new version. A stale link keeps the version it was made for, so that undoing the change clears it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from palimpsest.domain.facts.fact import FactId, FactState, Span
from palimpsest.storage.sql import execute


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a file that facts rest on."""

    path: str
    """Below the folder, with `/`."""
    sha256: str
    """The hash of its bytes on disk, in hexadecimal."""
    lines: bytes
    """The hashes of its lines, as `domain.facts.staleness` writes them."""


@dataclass(frozen=True, slots=True)
class Link:
    """One place that a fact rests on."""

    id: int
    fact_id: FactId
    version: Version
    anchor: str
    """The anchor, as `domain.facts.staleness` writes it."""
    symbol: str
    span: Span | None
    """The lines where the place was last found; None for the whole file."""
    state: FactState


def add(fact_id: FactId, version: Version, anchor: str, symbol: str, span: Span | None, now: str) -> None:
    """Ties a fact to a place, which is fresh now. A link to the same place is replaced."""
    source = _source(version, now)
    _drop_same(fact_id, source, anchor)
    execute(
        "INSERT INTO fact_source_link (fact, source, anchor, symbol, start_line, end_line, state) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        *(fact_id, source, anchor, symbol, *_lines(span), FactState.FRESH.value),
    )


def _drop_same(fact_id: FactId, source: int, anchor: str, besides: Link | None = None) -> None:
    """Removes another link of the fact to the same place: no fact rests on one place twice."""
    execute(
        "DELETE FROM fact_source_link WHERE fact = ? AND source = ? AND anchor = ? AND id IS NOT ?",
        *(fact_id, source, anchor, None if besides is None else besides.id),
    )


def _source(version: Version, now: str) -> int:
    execute(
        "INSERT OR IGNORE INTO fact_source (file_path, sha256, lines, updated_at) VALUES (?, ?, ?, ?)",
        *(version.path, version.sha256, version.lines, now),
    )
    found = execute("SELECT id FROM fact_source WHERE file_path = ? AND sha256 = ?", version.path, version.sha256)
    return int(next(iter(found))[0])


def _lines(span: Span | None) -> tuple[int | None, int | None]:
    return (None, None) if span is None else (span.start, span.end)


def links_of(paths: Iterable[str]) -> list[Link]:
    """The links of open facts to these files, by file, version and id."""
    return _links("file_path IN (SELECT value FROM json_each(?)) AND closed_at IS NULL", json.dumps(sorted(set(paths))))


def links_of_fact(fact_id: FactId) -> list[Link]:
    return _links("fact = ?", fact_id)


def _links(where: str, *parameters: object) -> list[Link]:
    found = execute(
        "SELECT fact_source_link.id, fact, file_path, sha256, lines, anchor, symbol, start_line, end_line, state "
        "FROM fact_source_link JOIN fact_source ON fact_source.id = source JOIN fact ON fact.id = fact "
        f"WHERE {where} ORDER BY file_path, source, fact_source_link.id",
        *parameters,
    )
    return [
        Link(
            link_id,
            FactId(fact_id),
            Version(path, sha256, bytes(lines)),
            anchor,
            symbol,
            None if start is None else Span(start, end),
            FactState(state),
        )
        for link_id, fact_id, path, sha256, lines, anchor, symbol, start, end, state in found
    ]


def watched() -> dict[str, frozenset[int]]:
    """The files that open facts rest on, each with the ids of its links."""
    found: dict[str, set[int]] = {}
    for path, link_id in execute(
        "SELECT file_path, fact_source_link.id FROM fact_source JOIN fact_source_link ON source = fact_source.id "
        "JOIN fact ON fact.id = fact WHERE closed_at IS NULL"
    ):
        found.setdefault(path, set()).add(link_id)
    return {path: frozenset(ids) for path, ids in found.items()}


def set_state(link: Link, state: FactState, span: Span | None) -> None:
    """Stores the state of a place as it was found now. `span`: the lines where it was found; None keeps those it
    had."""
    execute("UPDATE fact_source_link SET state = ? WHERE id = ?", state.value, link.id)
    if span is not None:
        execute("UPDATE fact_source_link SET start_line = ?, end_line = ? WHERE id = ?", span.start, span.end, link.id)


def rebase(link: Link, version: Version, anchor: str, span: Span | None, now: str) -> None:
    """Moves the link to another version, in which the place says the same or is accepted as it is."""
    source = _source(version, now)
    _drop_same(link.fact_id, source, anchor, besides=link)
    execute(
        "UPDATE fact_source_link SET source = ?, anchor = ?, start_line = ?, end_line = ?, state = ? WHERE id = ?",
        *(source, anchor, *_lines(span), FactState.FRESH.value, link.id),
    )


def hand_over(fact_id: FactId, to: FactId) -> None:
    """Moves the links of one fact to another."""
    execute("UPDATE fact_source_link SET fact = ? WHERE fact = ?", to, fact_id)


def tidy(left: Iterable[Version]) -> None:
    """Removes those of the versions that no link needs any more."""
    keys = json.dumps([[version.path, version.sha256] for version in set(left)])
    execute(
        """DELETE FROM fact_source WHERE id IN (
            SELECT fact_source.id FROM json_each(?) JOIN fact_source
            ON file_path = json_extract(value, '$[0]') AND sha256 = json_extract(value, '$[1]')
        ) AND NOT EXISTS (SELECT 1 FROM fact_source_link WHERE source = fact_source.id)""",
        keys,
    )


def unlink(links: Sequence[Link]) -> None:
    """Removes these links; their facts stay."""
    ids = json.dumps([link.id for link in links])
    execute("DELETE FROM fact_source_link WHERE id IN (SELECT value FROM json_each(?))", ids)
    tidy(link.version for link in links)
