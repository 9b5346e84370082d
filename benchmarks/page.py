"""The page of `make bench`: every figure as a row, kept as JSON, as plots, and in the README."""

from __future__ import annotations

import json
import platform
import re
import statistics
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
TEXTS: Final = (ROOT / "benchmarks" / "README.md", ROOT / "docs" / "comparison.md")
"""Have single figures between marks, see `filled`."""
BEGIN: Final = "<!-- figures of `make bench` -->"
END: Final = "<!-- end of the figures -->"
_MARK: Final = re.compile(
    r"(?P<begin><!-- (?P<field>ours|theirs|ratio) of (?P<what>[^>]+?)(?: beside (?P<beside>[^>]+?))? in (?P<name>\w+)"
    r" -->)"
    r".*?(?P<end><!-- end -->)"
)
_PACKAGES: Final = ("pygls", "lsprotocol", "peewee", "httpx", "tiktoken", "langchain-core")


_CODE: Final = ("server", "clients", "hub", "benchmarks/*.py")
"""What a measurement is of."""


def machine() -> dict[str, Any]:
    """Where and with what it is measured now; nothing that names the machine or its user."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _git("rev-parse", "--short", "HEAD") + (", changed" if _git("status", "--short", *_CODE) else ""),
        "system": platform.system(),
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": psutil.cpu_count(),
        "memory GiB": round(psutil.virtual_memory().total / 2**30),
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


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
        for plotted in RESULTS.glob(f"{name}-*.svg"):
            plotted.unlink()
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


def page(names: Sequence[str]) -> str:
    """As Markdown: a line that names the machine, then a table of each benchmark that is kept, in this order. The day
    and the commit stand in the first line when they are the same for all, else over each table; so does a machine that
    is not that of most."""
    found = [(name, *kept_ones) for name in names if (kept_ones := kept().get(name)) is not None]
    wheres = [where for _, where, _ in found]
    usual = statistics.mode(map(_machine, wheres))
    days = set(map(_day, wheres))
    first = ", ".join([f"Measured on {usual}", *(days if len(days) == 1 else ())])
    lines = [f"{first}. Medians, with the least and the most."]
    for name, where, figures in found:
        over = [f"`{name}`"]
        over += [_day(where)] if len(days) > 1 else []
        over += [_machine(where)] if _machine(where) != usual else []
        if OTHERS in where:
            over.append(f"while other work took {where[OTHERS]:.1f} of {where['cores']} cores")
        lines += ["", ", ".join(over) + ":", "", *_HEAD, *map(row, figures)]
    return "\n".join(lines)


_HEAD: Final = ("| what | ours | beside | ratio | target | |", "|---|---|---|---|---|---|")
OTHERS: Final = "other work"
"""The field of the processor time that others took while it was measured, in cores. Not known of older results."""


def _machine(where: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in where["packages"].items())
    return (
        f"{where['processor']} with {where['cores']} cores and {where['memory GiB']} GiB, {where['system']}, "
        f"Python {where['python']} ({versions})"
    )


def _day(where: Mapping[str, Any]) -> str:
    return f"{where['date']} at {where['commit']}"


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
    _write(README, f"{text[:start]}\n\n{page(names)}\n\n{text[end:]}")


def write_texts() -> None:
    """Puts the figures into the other texts that name some."""
    for file in TEXTS:
        _write(file, filled(file.read_text("utf-8")))


def filled(text: str) -> str:
    """With what is kept between its marks, such as `<!-- ratio of memory behind the first list in startup -->2.3<!--
    end -->`: of the first figure of that benchmark whose words begin so, and the name of its reference, where the mark
    has one (`ratio of price beside LangChain in price`). Raises ValueError where there is none."""
    found = kept()

    def fill(mark: re.Match[str]) -> str:
        what, beside, (_, figures) = mark["what"], mark["beside"] or "", found.get(mark["name"], ({}, []))
        fitting = (each for each in figures if each.what.startswith(what) and each.reference.startswith(beside))
        figure = next(fitting, None)
        if figure is None:
            raise ValueError(f"No figure of {mark['name']} begins with {what!r}.")
        spread = figure.theirs if mark["field"] == "theirs" else figure.ours
        if spread is None:
            raise ValueError(f"Nothing stands beside {what!r}.")
        value = number(figure.value) if mark["field"] == "ratio" else f"{number(spread.median)} {figure.unit}".rstrip()
        return f"{mark['begin']}{value}{mark['end']}"

    return _MARK.sub(fill, text)


def _write(file: Path, text: str) -> None:
    """Whole or not at all, whenever it is interrupted."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text, "utf-8")
    new.replace(file)
