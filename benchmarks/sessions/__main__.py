"""What the context engine holds of recorded sessions that an agent needed next, and what that costs.

    python -m benchmarks.sessions SESSION ... [--constraints FILE] [--references FOLDER] [--against CHECKOUT]
        [--budgets 8000,16000,32000] [--steps N] [--variants switch,window,claude] [--scripted faithful,lazy,...]

Replays each session message by message. Before steps of the recorded agent whose history does not fit the budget, every
system is asked for the context it would send, which is compared with what the agent then did. Prints a table for each
budget, all sessions together and session by session, and the same behind 1, 3 and 10 compactions. Percentages:

    NUold    of the names (paths, identifiers, options, ids, numbers) that the next message uses and that a window of
             the newest messages has lost: those in the context
    NUline   the same, where the name stands in a line that says something true about it
    SC       of the side constraints, those that the last context still has in their own words
    prefix   of the context's tokens: an unchanged prefix of the context one step before
    fill     of the budget
    price    of the budget: 0.1 for each token in an unchanged prefix, 1 for every other
    over     of the contexts: those above the budget
    orphan   of the contexts: those with a result without its call, or a call without its recorded result

Behind each table stands how long it takes to prepare a context, in CPU time on all threads, apart where a compaction
came first. --steps 0 asks before every step, as in use; with fewer, the first of ten reads what came since.

The columns are means over sessions of means over steps; `pooled` counts all names of all sessions alike, because some
sessions have very few. The recordings and constraints are data that the repository does not hold. --references: a
folder with `session_baselines.py`, the simple builders. --against: another checkout of this repository.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.driving.sessions import SessionSystem
from benchmarks.sessions.measures import Cost
from benchmarks.sessions.recording import Session, load, load_constraints
from benchmarks.sessions.replay import Step, plan, replay
from benchmarks.sessions.scripted_models import SCRIPTED
from benchmarks.sessions.systems import (
    CLAUDE,
    PLAIN,
    VARIANTS,
    Row,
    checkout_row,
    product_rows,
    reference_rows,
    vocabularies,
)
from benchmarks.sessions.tables import Steps, behind, by_session, table, times

from palimpsest.services.models.tokenizers import load_tokenizer

REFERENCES: Final = ("recent", "ledger", "ledgerfts")
COMPACTIONS: Final = (1, 3, 10)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m benchmarks.sessions", description=(__doc__ or "").splitlines()[0])
    result.add_argument("sessions", nargs="+", type=Path)
    result.add_argument("--budgets", type=_numbers, default=[8_000, 16_000, 32_000])
    result.add_argument("--steps", type=int, default=80, help="of a session, in blocks of ten; 0 for all")
    result.add_argument("--constraints", type=Path)
    result.add_argument("--references", type=Path)
    result.add_argument("--kinds", type=_names, default=list(REFERENCES), help="of references")
    result.add_argument("--against", type=Path, action="append", default=[])
    result.add_argument("--variants", type=_names, default=[], help=",".join(VARIANTS))
    result.add_argument("--scripted", type=_names, default=[], help=",".join(SCRIPTED))
    result.add_argument("--jobs", type=int, default=1, help="sessions at a time")
    result.add_argument("--out", type=Path, help="a JSON file for every step")
    return result


def _names(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


def _numbers(text: str) -> list[int]:
    return [int(each) for each in _names(text)]


def rows_of(arguments: argparse.Namespace) -> list[Row]:
    rows = product_rows(arguments.variants, arguments.scripted)
    rows += [checkout_row(each.resolve()) for each in arguments.against]
    return rows + (reference_rows(arguments.references, arguments.kinds) if arguments.references else [])


def measure(arguments: argparse.Namespace, path: Path) -> list[tuple[int, int, str, list[Step]]]:
    """Of one session: for each budget and row, the budget, the row's place, the session's name, and the steps."""
    constraints = load_constraints(arguments.constraints) if arguments.constraints else ()
    session = load(path, constraints)
    cost = Cost(load_tokenizer("cl100k_base", vocabularies()).count)
    found: list[tuple[int, int, str, list[Step]]] = []
    for budget in arguments.budgets:
        for place, row in enumerate(rows_of(arguments)):
            found.append((budget, place, session.name, _steps(session, row, budget, arguments.steps, cost)))
    return found


def _steps(session: Session, row: Row, budget: int, most_steps: int, cost: Cost) -> list[Step]:
    raw = row.setup.raw_budget(budget)
    planned = plan(session, raw, most_steps, cost)
    if planned is None:
        return []
    system = row.make(budget)
    try:
        steps = replay(session, planned, system, raw, cost, budget if row.is_switched else None)
        written = Counter(each.kind for each in system.summaries()) if isinstance(system, SessionSystem) else {}
        print(f"{session.name[:40]} {budget} {row.name.strip()} {dict(written)}", file=sys.stderr)
        return steps
    finally:
        system.close()


def main(words: Sequence[str] | None = None) -> None:
    arguments = parser().parse_args(words)
    rows = rows_of(arguments)
    found: dict[int, list[dict[str, list[Step]]]] = {each: [{} for _ in rows] for each in arguments.budgets}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for measured in pool.map(measure, [arguments] * len(arguments.sessions), arguments.sessions):
            for budget, place, name, steps in measured:
                if steps:
                    found[budget][place][name] = steps
    for budget, each in found.items():
        _print(budget, rows, each)
    if arguments.out:
        rendered = {
            budget: [
                [
                    row.name.strip(),
                    row.setup.counts_as,
                    {name: [asdict(step) for step in steps] for name, steps in s.items()},
                ]
                for row, s in zip(rows, each, strict=True)
            ]
            for budget, each in found.items()
        }
        arguments.out.write_text(json.dumps(rendered))


def _print(budget: int, rows: Sequence[Row], found: Sequence[Steps]) -> None:
    for counts_as in (PLAIN.counts_as, CLAUDE):
        here = {
            row.name: sessions
            for row, sessions in zip(rows, found, strict=True)
            if row.setup.counts_as == counts_as and sessions
        }
        if not here:
            continue
        said = f"{budget} tokens" + ("" if counts_as == PLAIN.counts_as else f" as {counts_as} counts")
        print(f"\n{table(said, here)}")
        for n_compactions in COMPACTIONS:
            later = behind(here, n_compactions)
            if any(next(iter(later.values())).values()):
                print(table(f"{said}, behind {n_compactions} of its compactions", later))
        if any(row.is_switched and row.name in here for row in rows):
            later = {name: _behind_the_switch(sessions) for name, sessions in here.items()}
            print(table(f"{said}, behind the switch", later))
        print(times(here))
        ours = {name: s for name, s in here.items() if name not in {row.name for row in rows if row.is_reference}}
        print(f"{said}, by session\n{by_session(ours)}", flush=True)


def _behind_the_switch(sessions: Steps) -> Steps:
    return {name: [step for step in steps if step.is_behind_switch] for name, steps in sessions.items()}


if __name__ == "__main__":
    main()
