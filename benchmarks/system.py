"""The real engine as a system that a benchmark can drive, through a line protocol or from Python.

    python -m benchmarks.system [--no-recall]     one JSON object a line on standard input, one answer a line
    benchmarks.system:make                        make(budget=N) -> append(message), context(), close()
    benchmarks.system:make_retrieval              -> index(turns), search(query, k, now), context(query, budget, now)
    benchmarks.system:make_staleness              -> anchor(path, text, span, entity), check(anchor, path, text)

The operations of the line protocol:

    {"op": "open", "budget"}                              begins a conversation; its contexts take at most that
    {"op": "append", "message": {...}}                    stores what was said
    {"op": "context"}                                     -> {"messages": [...]}: what a model would be sent now
    {"op": "index", "turns": [{"id", "date", "speaker", "role", "text"}]}      a conversation, the oldest turn first
    {"op": "search", "query", "k", "now"}                 -> {"results": [{"id"}]}
    {"op": "context", "query", "budget", "now"}           -> {"text", "ids"}
    {"op": "anchor", "path", "text", "span": {"start", "end"}, "entity"}       -> {"anchor": {...}}
    {"op": "check", "anchor", "path", "text"}             -> {"state", "span"?}

Every other one is answered with {"unsupported": true}. There is no option that the product does not have:
`--no-recall` is the setting `librarian.enabled = false`, and `layout` is `context.layout`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.conversation import Setup
from benchmarks.driving.retrieval import RetrievalSystem
from benchmarks.driving.sessions import SessionSystem
from benchmarks.driving.staleness import StalenessSystem

from palimpsest.domain.settings.settings import Layout


def make(budget: int, recall: bool = True, layout: Layout = "log") -> SessionSystem:
    return SessionSystem(budget, Setup(layout=layout, recalls=recall))


def make_staleness() -> StalenessSystem:
    return StalenessSystem()


class make_retrieval:  # a factory to whoever calls it
    """As a harness asks: ids, and contexts as a mapping."""

    def __init__(self) -> None:
        self._system = RetrievalSystem()

    def index(self, turns: Sequence[Mapping[str, str]], _conversation: Any = None) -> None:
        self._system.index(turns)

    def search(self, query: str, k: int, now: str = "") -> list[str]:
        return self._system.search(query, k, now)

    def context(self, query: str, budget: int, now: str = "") -> dict[str, Any]:
        text, ids = self._system.context(query, budget, now)
        return {"text": text, "ids": ids}

    def close(self) -> None:
        self._system.close()


class Served:
    """One system of each kind, made when it is first asked for."""

    def __init__(self, *, recalls: bool) -> None:
        self._recalls = recalls
        self._session: SessionSystem | None = None
        self._retrieval: make_retrieval | None = None
        self._staleness: StalenessSystem | None = None

    def answer(self, asked: Mapping[str, Any]) -> Any:
        """What is said to one request."""
        match asked["op"]:
            case "open":
                if self._session is not None:
                    self._session.close()
                self._session = SessionSystem(asked["budget"], Setup(recalls=self._recalls))
            case "append" if self._session is not None:
                self._session.append(asked["message"])
            case "context" if "query" not in asked and self._session is not None:
                return {"messages": self._session.context()}
            case "index":
                self._retrieval = self._retrieval or make_retrieval()
                self._retrieval.index(asked["turns"])
            case "search" if self._retrieval is not None:
                found = self._retrieval.search(asked["query"], asked["k"], asked.get("now", ""))
                return {"results": [{"id": each} for each in found]}
            case "context" if self._retrieval is not None:
                return self._retrieval.context(asked["query"], asked["budget"], asked.get("now", ""))
            case "anchor" | "check":
                return self._about_a_place(asked)
            case _:
                return {"unsupported": True}
        return {"ok": True}

    def _about_a_place(self, asked: Mapping[str, Any]) -> Any:
        self._staleness = self._staleness or StalenessSystem()
        if asked["op"] == "check":
            return self._staleness.check(asked["anchor"], asked["path"], asked["text"])
        anchor = self._staleness.anchor(asked["path"], asked["text"], asked["span"], asked.get("entity", ""))
        return {"anchor": anchor}

    def close(self) -> None:
        for system in (self._session, self._retrieval):
            if system is not None:
                system.close()


def serve(*, recalls: bool) -> None:
    """The line protocol, until standard input ends."""
    served = Served(recalls=recalls)
    for line in sys.stdin:
        answer = served.answer(json.loads(line))
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    served.close()


if __name__ == "__main__":
    serve(recalls="--no-recall" not in sys.argv[1:])
