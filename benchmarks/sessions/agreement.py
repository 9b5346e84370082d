"""Whether our measures are those of the harness that they are defined by.

    python -m benchmarks.sessions.agreement FOLDER [SESSION ...]

FOLDER holds `session_bench.py`. Runs a simple system through both, over a made-up session and the recorded ones, and
prints both sets of figures. Ends with an error where they differ.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from benchmarks.sessions.measures import Cost, names_of, text_of
from benchmarks.sessions.recording import Message, Session, load
from benchmarks.sessions.replay import plan, replay
from benchmarks.sessions.systems import vocabularies
from benchmarks.sessions.tables import measures_of

from palimpsest.services.models.tokenizers import load_tokenizer

SEED: Final = 20261125
BUDGET: Final = 1_500
STEPS: Final = 30
CONSTRAINTS: Final = ("Never rename a public function of the parser.", "Always answer in one short paragraph.")
_WORDS: Final = (
    "the parser of module_{n} reads src/area_{n}/file_{n}.py and fails when value_{n} is empty, because loadRows{n} "
    "has checked nothing; then --retry-{n} ran again with 3{n}1 rows. It was fixed at the third attempt"
).split()


class FirstAndNewest:
    """A line for every old message, of its first words or of its names alone, before the newest messages. Careless: its
    contexts may be too large, and may begin with a result."""

    n_compactions: int | None = None
    prepare_ms: float | None = None

    def __init__(self, budget: int, cost: Cost) -> None:
        self._budget = budget
        self._cost = cost
        self._messages: list[Message] = []
        self._old = 0

    def append(self, message: Message) -> None:
        self._messages.append(message)

    def context(self) -> list[Message]:
        while sum(map(self._cost, self._messages[self._old :])) > 0.6 * self._budget:
            self._old += 8
        old = [text_of(each) for each in self._messages[: self._old]]
        lines = [" ".join(text.split()[:20] if i % 3 < 2 else sorted(names_of(text))[:6]) for i, text in enumerate(old)]
        head = {"role": "user", "content": "\n".join(lines[:25])}
        return [head, *self._messages[self._old :]]

    def switch(self, _budget: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


def made_up_session(n_exchanges: int = 60) -> list[Message]:
    """Seeded: a question now and then, calls with results, and names that come again."""
    chance = random.Random(SEED)

    def text(n_words: int) -> str:
        return " ".join(chance.choice(_WORDS).format(n=chance.randint(0, 40)) for _ in range(n_words))

    messages: list[dict[str, Any]] = []
    for number in range(n_exchanges):
        if number % 6 == 0:
            messages.append({"role": "user", "content": text(20)})
        call = {"id": f"call_{number}", "name": "read", "arguments": json.dumps({"path": f"src/file_{number % 9}.py"})}
        messages.append({"role": "assistant", "content": text(12), "tool_calls": [call]})
        messages.append({"role": "tool", "content": "\n".join(text(9) for _ in range(6)), "tool_call_id": call["id"]})
    return [{"i": i, **message} for i, message in enumerate(messages)]


def write(messages: Sequence[Message], path: Path) -> None:
    lines = [{"meta": {"name": path.stem}}, *messages]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")


def ours(path: Path, constraints: Sequence[str], budget: int, most_steps: int) -> dict[str, float]:
    """Our figures of the session, by the names that the harness gives them. From 0 to 1."""
    session: Session = load(path, constraints)
    cost = Cost(load_tokenizer("cl100k_base", vocabularies()).count)
    planned = plan(session, budget, most_steps, cost)
    assert planned is not None
    found = measures_of(replay(session, planned, FirstAndNewest(budget, cost), budget, cost))
    named = {
        "NUold": found.held,
        "NUline": found.told,
        "SC": found.kept,
        "prefix": found.prefix,
        "fill": found.fill,
        "over": found.over,
        "orphan": found.orphan,
    }
    return {name: round(value / 100, 9) for name, value in named.items() if value is not None}


def theirs(folder: Path, path: Path, constraints: Sequence[str], budget: int, most_steps: int) -> Mapping[str, float]:
    count = load_tokenizer("cl100k_base", vocabularies()).count  # theirs is found where ours was unpacked
    sys.path.insert(0, str(folder))
    harness = importlib.import_module("session_bench")
    wanted = [{"sc": each} for each in constraints]
    options = SimpleNamespace(max_steps=most_steps)
    return dict(harness.run(str(path), lambda budget: FirstAndNewest(budget, Cost(count)), budget, options, wanted))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sessions.agreement")
    parser.add_argument("folder", type=Path)
    parser.add_argument("sessions", nargs="*", type=Path)
    arguments = parser.parse_args(words)
    n_different = 0
    with tempfile.TemporaryDirectory() as directory:
        made_up = Path(directory) / "made-up.jsonl"
        write(made_up_session(), made_up)
        for path, budget in ((made_up, BUDGET), *((each, 8_000) for each in arguments.sessions)):
            mine = ours(path, CONSTRAINTS, budget, STEPS)
            harness = theirs(arguments.folder, Path(path), CONSTRAINTS, budget, STEPS)
            for name, value in mine.items():
                differs = abs(value - harness[name]) > 1e-6
                n_different += differs
                print(f"{path.stem[:30]:30} {name:7} {value:.6f} {harness[name]:.6f}{'  differs' if differs else ''}")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
