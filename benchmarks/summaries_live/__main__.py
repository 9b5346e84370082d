"""How good summaries by a real model are, on recorded sessions.

    python -m benchmarks.summaries_live SESSION ... --writer MODEL --judge MODEL [--budget 16000] [--steps 40]
        [--summaries 4] [--constraints FILE]

Replays each session twice through the real engine: without a model, and with MODEL as the writer of summaries
(`summarization.kind = hybrid`). Prints the measures of `benchmarks.sessions` for both, then what the judge gives the
summaries of both by `rubric.md`, in percent of the best: at most --summaries of each session. MODEL is a name of the
catalog or PROVIDER/NAME; the keys come from the variables that the server reads (docs/providers.md). It calls models
some dozen times for each session, and costs what they cost. The recordings are sent to the models' services.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.conversation import Setup
from benchmarks.driving.sessions import SessionSystem, WrittenSummary
from benchmarks.sessions.measures import Cost
from benchmarks.sessions.recording import Session, load, load_constraints
from benchmarks.sessions.replay import Step, plan, replay
from benchmarks.sessions.systems import vocabularies
from benchmarks.sessions.tables import table as measures_table
from benchmarks.summaries_live.judging import RUBRIC, Judgment, read_answer, request_about, spread, table

from palimpsest.app.model_clients import ModelClient, build_client
from palimpsest.data import load_model_table
from palimpsest.domain.context.prepared import OverLimit, PreparedContext
from palimpsest.domain.models.limits import Model, compute_budget
from palimpsest.domain.models.provider import Provider, StreamEvent
from palimpsest.domain.models.providers import BY_NAME, configured
from palimpsest.services.models.helper import HelpingModel
from palimpsest.services.models.tokenizers import load_tokenizer

_TOPIC: Final = "judging"


@dataclass(frozen=True, slots=True)
class OneClientEach:
    """A client for each request: every replay has an event loop of its own, and connections belong to one."""

    name: str
    make: Callable[[], ModelClient]

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        client = self.make()
        try:
            async with aclosing(client.stream(context)) as events:
                async for event in events:
                    yield event
        finally:
            await client.aclose()


def find_model(name: str) -> Model:
    table = load_model_table()
    return table.find(name) or table.unknown(name)


def provider_of(model: Model, environ: Mapping[str, str]) -> Provider:
    """Raises SystemExit, naming the variables, where there is no key."""
    entry = BY_NAME.get(model.provider)
    if entry is None:
        raise SystemExit(f"There is no provider for {model.name}. Write PROVIDER/NAME.")
    entry = configured({}, environ)[entry.name]
    key = next((environ[each] for each in entry.key_variables if environ.get(each)), None)
    if key is None:
        raise SystemExit(f"{model.name} needs a key in {' or '.join(entry.key_variables) or 'no variable'}.")
    return OneClientEach(entry.name, lambda: build_client(entry, key))


@dataclass(frozen=True, slots=True)
class Replayed:
    steps: list[Step]
    summaries: list[WrittenSummary]


def replayed(session: Session, setup: Setup, budget: int, most_steps: int) -> Replayed | None:
    """None for a session that fits the budget."""
    cost = Cost(load_tokenizer("cl100k_base", vocabularies()).count)
    planned = plan(session, budget, most_steps, cost)
    if planned is None:
        return None
    system = SessionSystem(budget, setup)
    try:
        return Replayed(replay(session, planned, system, budget, cost), system.summaries())
    finally:
        system.close()


async def judged(judge: HelpingModel, summaries: Sequence[WrittenSummary]) -> list[Judgment | None]:
    """None for an answer that cannot be read, and for a part too long for the judge. Raises ProviderError."""
    found: list[Judgment | None] = []
    for summary in summaries:
        try:
            reply = await judge.ask(RUBRIC, request_about(summary), _TOPIC)
        except OverLimit:
            found.append(None)
            continue
        found.append(read_answer(reply.text))
    return found


def report(
    sessions: Sequence[Session], setups: Mapping[str, Setup], judge: HelpingModel, budget: int, steps: int, most: int
) -> str:
    """Both tables. Raises ProviderError where the judge fails."""
    measured: dict[str, dict[str, list[Step]]] = {name: {} for name in setups}
    points: dict[str, list[Judgment | None]] = {name: [] for name in setups}
    for session in sessions:
        for name, setup in setups.items():
            if (found := replayed(session, setup, budget, steps)) is not None:
                measured[name][session.name] = found.steps
                points[name] += asyncio.run(judged(judge, spread(found.summaries, most)))
    return f"{measures_table(f'{budget} tokens', measured)}\n\nby the rubric\n{table(points)}"


def judge_with(model: Model, provider: Provider) -> HelpingModel:
    return HelpingModel(
        provider, model, compute_budget(model.limits), load_tokenizer(model.tokenizer, vocabularies()).count
    )


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.summaries_live")
    parser.add_argument("sessions", nargs="+", type=Path)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--budget", type=int, default=16_000)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--summaries", type=int, default=4)
    parser.add_argument("--constraints", type=Path)
    arguments = parser.parse_args(words)
    writer, judge = find_model(arguments.writer), find_model(arguments.judge)
    by_writer = Setup(recalls=True, summaries_by=provider_of(writer, os.environ), writer=writer)
    judging = judge_with(judge, provider_of(judge, os.environ))
    constraints = load_constraints(arguments.constraints) if arguments.constraints else ()
    sessions = [load(path, constraints) for path in arguments.sessions]
    setups = {"without a model": Setup(recalls=True), writer.name: by_writer}
    print(report(sessions, setups, judging, arguments.budget, arguments.steps, arguments.summaries))


if __name__ == "__main__":
    main()
