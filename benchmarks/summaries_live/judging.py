"""What a judge is shown of a summary, and what is read of its answer."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.driving.sessions import WrittenSummary

from palimpsest.domain.context.summaries.by_model import behind_gutter, transcript

RUBRIC: Final = (Path(__file__).parent / "rubric.md").read_text(encoding="utf-8")
CRITERIA: Final = tuple(re.findall(r"^- (\w+):", RUBRIC, re.M))
BEST: Final = 2
_OBJECT = re.compile(r"\{.*\}", re.S)


@dataclass(frozen=True, slots=True)
class Judgment:
    """Of one summary: points by criterion, 0 to 2."""

    points: Mapping[str, int]


def request_about(summary: WrittenSummary) -> str:
    """What the judge is asked, behind the rubric: the originals as a summarizer is shown them, and the summary."""
    return f"{transcript(summary.originals)}\n\n{behind_gutter('The summary:', summary.text)}"


def read_answer(text: str) -> Judgment | None:
    """None where the answer does not give every criterion its points."""
    found = _OBJECT.search(text)
    try:
        answer = json.loads(found[0]) if found else None
    except ValueError:
        return None
    if not isinstance(answer, dict):
        return None
    points = {name: answer.get(name) for name in CRITERIA}
    if not all(type(value) is int and 0 <= value <= BEST for value in points.values()):
        return None
    return Judgment({name: value for name, value in points.items() if isinstance(value, int)})


def spread(summaries: Sequence[WrittenSummary], most: int) -> list[WrittenSummary]:
    """At most so many, evenly from the first to the last."""
    if len(summaries) <= most:
        return list(summaries)
    return [summaries[i * (len(summaries) - 1) // max(most - 1, 1)] for i in range(most)]


def table(rows: Mapping[str, Sequence[Judgment | None]]) -> str:
    """The mean points of each row in percent of the best, and how many answers could be read."""
    lines = [f"{'':26} {' '.join(f'{name:>9}' for name in CRITERIA)}   read  unread"]
    for name, judgments in rows.items():
        read = [each for each in judgments if each is not None]
        means = (_percent([each.points[criterion] for each in read]) for criterion in CRITERIA)
        lines.append(f"{name:26.26} {' '.join(means)} {len(read):6} {len(judgments) - len(read):7}")
    return "\n".join(lines)


def _percent(points: Sequence[int]) -> str:
    return f"{100 * statistics.fmean(points) / BEST:9.0f}" if points else f"{'-':>9}"
