"""Whether constants that were chosen on recorded sessions are as good for sessions that had no part in the choice.

    python -m benchmarks.sessions.held_out SESSION ... [--budget 8000] [--steps 80] [--jobs 1] [--vary NAME=VALUE,...]

Replays every session with the constants as they are, and with each other value of each constant. Then each session is
held out in turn: the value that is best for the others is tried on it. `chosen on all` is the score of the value that
is best for all sessions, which had a part in the choice; `held out` is the mean score of the sessions held out; `loss`
is the difference. The score of a session is the mean of NUold and NUline, less the price, in percent.

NAME is a field of `ContextSettings`, or MODULE:NAME.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.conversation import Setup
from benchmarks.driving.sessions import SessionSystem
from benchmarks.sessions.measures import Cost
from benchmarks.sessions.recording import load
from benchmarks.sessions.replay import plan, replay
from benchmarks.sessions.systems import vocabularies
from benchmarks.sessions.tables import measures_of

from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.services.models.tokenizers import load_tokenizer

SIZES: Final = "palimpsest.domain.context.compaction_sizes"
VARIED: Final = (
    "threshold=0.9",
    "target_ratio=0.2,0.45",
    "palimpsest.services.context.previews:LARGE_PART_SHARE=0.1,0.22",
    f"{SIZES}:_MERGED_SHARE=0.275,0.38",
)

Scores = Mapping[str, float]
"""By session."""


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m benchmarks.sessions.held_out", description=(__doc__ or "").splitlines()[0]
    )
    result.add_argument("sessions", nargs="+", type=Path)
    result.add_argument("--budget", type=int, default=8_000)
    result.add_argument("--steps", type=int, default=80)
    result.add_argument("--vary", action="append", default=[], metavar="NAME=VALUE,...")
    result.add_argument("--jobs", type=int, default=1, help="sessions at a time")
    return result


def value_of(name: str) -> float:
    """The value that the constant has."""
    module, _, attribute = name.rpartition(":")
    owner = importlib.import_module(module) if module else ContextSettings()
    return float(getattr(owner, attribute))


@contextmanager
def varied(name: str, value: float) -> Iterator[Setup]:
    """A setup for systems that are made and used inside the block, in which the constant has that value."""
    module, _, attribute = name.rpartition(":")
    if not module:
        yield Setup(recalls=True, context={attribute: value})
        return
    owner, before = importlib.import_module(module), value_of(name)
    setattr(owner, attribute, value)
    try:
        yield Setup(recalls=True)
    finally:
        setattr(owner, attribute, before)


def score(path: Path, name: str, value: float, budget: int, most_steps: int) -> tuple[str, float] | None:
    """The session's name and its score; None when it fits the budget or needs no names that it had lost."""
    session = load(path, ())
    cost = Cost(load_tokenizer("cl100k_base", vocabularies()).count)
    if (planned := plan(session, budget, most_steps, cost)) is None:
        return None
    with varied(name, value) as setup:
        system = SessionSystem(budget, setup)
        try:
            found = measures_of(replay(session, planned, system, budget, cost))
        finally:
            system.close()
    if found.held is None or found.told is None or found.price is None:
        return None
    return session.name, (found.held + found.told) / 2 - found.price


def best(scores: Mapping[float, Scores], sessions: Sequence[str]) -> float:
    """The value with the highest mean over the sessions; the first of equals."""
    return max(scores, key=lambda value: statistics.fmean(scores[value][each] for each in sessions))


def held_out(scores: Mapping[float, Scores]) -> tuple[float, float, float]:
    """Of one constant, by value: the value that is best for all sessions, its mean score, and the mean score of the
    sessions when each is left out of the choice."""
    sessions = list(next(iter(scores.values())))
    chosen = best(scores, sessions)
    left_out = (scores[best(scores, [each for each in sessions if each != one])][one] for one in sessions)
    return chosen, statistics.fmean(scores[chosen].values()), statistics.fmean(left_out)


def main(words: Sequence[str] | None = None) -> None:
    arguments = parser().parse_args(words)
    print(f"{'':<20} chosen on all  held out   loss  scores by value, the present one first")
    with ProcessPoolExecutor(arguments.jobs) as pool:
        now: Scores | None = None
        for each in arguments.vary or VARIED:
            name, _, values = each.partition("=")
            scores: dict[float, Scores] = {}
            for value in dict.fromkeys([value_of(name), *map(float, values.split(","))]):
                if scores or now is None:
                    run = partial(score, name=name, value=value, budget=arguments.budget, most_steps=arguments.steps)
                    scores[value] = dict(filter(None, pool.map(run, arguments.sessions)))
                    now = now or scores[value]
                else:
                    scores[value] = now
            chosen, on_all, out = held_out(scores)
            means = ", ".join(f"{value:g}: {statistics.fmean(found.values()):.1f}" for value, found in scores.items())
            label = f"{name.rpartition(':')[2]}={chosen:g}"
            print(f"{label:<20} {on_all:13.1f} {out:9.1f} {on_all - out:6.2f}  {means}", flush=True)


if __name__ == "__main__":
    main()
