"""The page of `make bench`: every figure as a row, kept as JSON, as plots, and in the README."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil
import pygal
from benchmarks.figures import Figure, Spread, number

ROOT: Final = Path(__file__).parent.parent
RESULTS: Final = ROOT / "benchmarks" / "results"
README: Final = ROOT / "README.md"
BEGIN: Final = "<!-- figures of `make bench` -->"
END: Final = "<!-- end of the figures -->"
_PACKAGES: Final = ("pygls", "lsprotocol", "peewee", "httpx", "tiktoken", "langchain-core")


def machine() -> dict[str, Any]:
    """Where and with what it was measured; nothing that names the machine or its user."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "system": platform.system(),
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": psutil.cpu_count(),
        "memory GiB": round(psutil.virtual_memory().total / 2**30),
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def to_json(found: Mapping[str, Sequence[Figure]]) -> dict[str, Any]:
    return {name: [asdict(figure) for figure in figures] for name, figures in found.items()}


def from_json(found: Mapping[str, Any]) -> dict[str, list[Figure]]:
    return {name: [_figure(**each) for each in figures] for name, figures in found.items()}


def _figure(ours: dict[str, float], theirs: dict[str, float] | None, growth: list[list[float]], **rest: Any) -> Figure:
    points = tuple((size, value) for size, value in growth)
    return Figure(ours=Spread(**ours), theirs=None if theirs is None else Spread(**theirs), growth=points, **rest)


def keep(where: Mapping[str, Any], found: Mapping[str, Sequence[Figure]]) -> None:
    """Writes the figures as JSON, and a plot of each that grows; other figures that are kept there stay as they are."""
    RESULTS.mkdir(exist_ok=True)
    for name, figures in found.items():
        content = {"measured": where, "figures": to_json({name: figures})[name]}
        _write(RESULTS / f"{name}.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        for index, figure in enumerate(figures):
            if figure.growth:
                (RESULTS / f"{name}-{index}.svg").write_text(plot(figure), "utf-8")


def kept() -> dict[str, tuple[dict[str, Any], list[Figure]]]:
    """By benchmark: where it was measured, and what."""
    found = {}
    for file in sorted(RESULTS.glob("*.json")):
        content = json.loads(file.read_text("utf-8"))
        found[file.stem] = (content["measured"], from_json({"": content["figures"]})[""])
    return found


def plot(figure: Figure) -> str:
    """How it grows, as SVG: a point for each size, from nothing upward."""
    values = [value for _, value in figure.growth]
    chart = pygal.Line(
        title=figure.what, y_title=figure.unit, show_legend=False, range=(0, 1.2 * max(values)), width=640, height=320,
        js=(), no_prefix=True, disable_xml_declaration=True,
    )  # fmt: skip
    chart.x_labels = [f"{size:,.0f}" for size, _ in figure.growth]
    chart.add(figure.what, values)
    return str(chart.render(is_unicode=True))


def table(names: Sequence[str]) -> str:
    """The page, as Markdown, of the benchmarks in this order as far as they are kept."""
    found = kept()
    lines = ["| what | ours | beside | ratio | target | |", "|---|---|---|---|---|---|"]
    places = set()
    for name in names:
        if name in found:
            where, figures = found[name]
            places.add((where["date"], where["commit"]))
            lines += [row(figure) for figure in figures]
    measured = ", ".join(f"{date} at {commit}" for date, commit in sorted(places))
    return "\n".join([f"Measured {measured}; medians, with the least and the most.", "", *lines])


def row(figure: Figure) -> str:
    target = "" if figure.target is None else f"{'≥' if figure.is_least else '≤'} {number(figure.target)}"
    verdict = {True: "met", False: "**missed**", None: ""}[figure.is_met]
    cells = [
        figure.what,
        _cell(figure.ours, figure.unit),
        "" if not figure.reference else f"{figure.reference}: {_cell(figure.theirs, figure.unit)}",
        number(figure.value) if figure.theirs is not None else "",
        target,
        ": ".join(filter(None, (verdict, figure.note))),
    ]
    return f"| {' | '.join(cells)} |"


def _cell(spread: Spread | None, unit: str) -> str:
    if spread is None:
        return "not installed"
    text = f"{number(spread.median)} {unit}".rstrip()
    return text if spread.least == spread.most else f"{text} ({number(spread.least)}-{number(spread.most)})"


def write_readme(names: Sequence[str]) -> None:
    """Puts the page between its marks. Raises ValueError where they are missing."""
    text = README.read_text("utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    _write(README, f"{text[:start]}\n\n{table(names)}\n\n{text[end:]}")


def _write(file: Path, text: str) -> None:
    """Whole or not at all, whenever it is interrupted."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text, "utf-8")
    new.replace(file)
