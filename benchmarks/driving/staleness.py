"""The check whether an anchored place still says the same.

What is kept of a file version is shared by its anchors and stays here; an anchor names it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from palimpsest.domain.facts.fact import Span
from palimpsest.domain.facts.staleness.anchor import Anchor, make_anchor
from palimpsest.domain.facts.staleness.check import check_file
from palimpsest.domain.facts.staleness.file_lines import FileLines


class StalenessSystem:
    def __init__(self) -> None:
        self._versions: dict[str, bytes] = {}

    def anchor(self, path: str, text: str, span: Mapping[str, int], entity: str) -> dict[str, Any]:
        version = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if version not in self._versions:
            self._versions[version] = FileLines.of(text).to_bytes()
        made = make_anchor(path, text, Span(span["start"], span["end"]), entity)
        return {"version": version, **made.to_json()}

    def check(self, anchor: Mapping[str, Any], path: str, text: str) -> dict[str, Any]:
        kept = dict(anchor)
        before = FileLines.from_bytes(self._versions[kept.pop("version")])
        [verdict] = check_file(path, before, [Anchor.from_json(kept)], text)
        span = verdict.span
        where = {"span": {"start": span.start, "end": span.end}} if span else {}
        return {"state": verdict.state.value, "note": verdict.note, **where}

    def shared_bytes(self) -> int:
        return sum(map(len, self._versions.values()))
