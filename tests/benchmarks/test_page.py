"""The page of the benchmarks says of each figure what was measured, and whether it met its target."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmarks import page
from benchmarks.__main__ import NAMES
from benchmarks.figures import Figure, alone, beside, number, sentence

WHERE = {
    "date": "2026-11-28",
    "commit": "abc",
    "system": "Linux",
    "python": "3.11.7",
    "processor": "A processor",
    "cores": 2,
    "memory GiB": 24,
    "packages": {"pygls": "2.1.1"},
}
PAIRS = [(100.0, 40.0), (200.0, 120.0), (100.0, 50.0)]


def test_a_ratio_is_the_median_of_pairs() -> None:
    figure = beside("an answer", PAIRS, "a bare server", 0.6)

    assert figure.value == 0.5
    assert figure.is_met
    assert (
        sentence(figure) == "50 ms (40-120), beside 100 ms (100-200) of a bare server: 0.5 x, target at most 0.6, met"
    )


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [
        (beside("x", PAIRS, "y", 0.4), False),
        (beside("x", PAIRS, "y", None), None),
        (alone("x", [2_100.0], 2_000, "a second", is_least=True), True),
        (alone("x", [1_900.0], 2_000, "a second", is_least=True), False),
        (alone("x", [0.0], 0), True),
    ],
)
def test_a_verdict_needs_a_target(figure: Figure, verdict: bool | None) -> None:
    assert figure.is_met is verdict


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.0333, "0.033"), (1, "1"), (1.5, "1.5"), (12.345, "12.3"), (99.96, "100"), (1234.5, "1,234")],
)
def test_numbers_have_three_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(page, "README", tmp_path / "README.md")
    return tmp_path


def test_what_is_kept_comes_back(kept: Path) -> None:
    figures = [beside("a", PAIRS, "b", 0.4, growth=[(10, 1.0), (1000, 2.0)]), alone("c", [1.0], 2, "MiB")]

    page.keep(WHERE, {"one": figures[::-1]})
    page.keep(WHERE, {"one": figures})

    assert page.kept()["one"][1] == figures
    (plot,) = (kept / "results").glob("*.svg")
    assert plot.read_text().lstrip().startswith("<svg")
    assert "http" not in json.loads((kept / "results" / "one.json").read_text())["measured"]


def test_the_page_takes_the_place_of_the_last_one(kept: Path) -> None:
    (kept / "README.md").write_text(f"Before.\n\n{page.BEGIN}\nold\n{page.END}\n\nBehind.\n")
    page.keep(WHERE, {"two": [alone("second", [1.0], None)]})
    page.keep(WHERE, {"one": [beside("first", PAIRS, "b", 0.4)]})

    page.write_readme(["one", "two", "not yet measured"])

    text = (kept / "README.md").read_text()
    assert text.startswith("Before.\n")
    assert text.endswith("Behind.\n")
    assert "old" not in text
    assert text.index("| first | 50 ms (40-120) | b: 100 ms (100-200) | 0.5 | ≤ 0.4 | **missed** |") < text.index(
        "second"
    )


MACHINE = "Measured on A processor with 2 cores and 24 GiB, Linux, Python 3.11.7 (pygls 2.1.1)"
ONE, TWO = {"one": [alone("first", [1.0], None)]}, {"two": [alone("second", [1.0], None)]}


@pytest.mark.usefixtures("kept")
def test_one_line_names_the_machine_and_the_commit() -> None:
    page.keep(WHERE, ONE)
    page.keep(WHERE, TWO)

    assert page.page(["one", "two"]).startswith(f"{MACHINE}, 2026-11-28 at abc. Medians")
    assert "\n`two`:\n" in page.page(["one", "two"])


@pytest.mark.usefixtures("kept")
def test_a_table_says_what_is_not_that_of_the_others() -> None:
    page.keep(WHERE, ONE)
    page.keep(WHERE | {"commit": "def", "processor": "Another", page.OTHERS: 0.42}, TWO)

    text = page.page(["one", "two"])

    assert text.startswith(f"{MACHINE}. Medians")
    assert "\n`one`, 2026-11-28 at abc:\n" in text
    assert (
        "\n`two`, 2026-11-28 at def, Another with 2 cores and 24 GiB, Linux, Python 3.11.7 (pygls 2.1.1), "
        "while other work took 0.4 of 2 cores:\n"
    ) in text


@pytest.mark.usefixtures("kept")
def test_a_text_gets_the_figures_between_its_marks() -> None:
    figures = [beside("memory after a chat", PAIRS, "b", 0.4, "MiB"), beside("memory", [(2.0, 8.0)], "the least", None)]
    page.keep(WHERE, {"one": figures})
    asked = ("ours of memory after", "theirs of memory after", "ratio of memory", "ratio of memory beside the least")
    marks = ", ".join(f"<!-- {each} in one -->old<!-- end -->" for each in asked)

    text = page.filled(marks)

    assert re.sub("<!--.*?-->", "", text) == "50 MiB, 100 MiB, 0.5, 4"
    assert page.filled(text) == text
    with pytest.raises(ValueError, match="No figure of one begins with 'speed'"):
        page.filled("<!-- ours of speed in one -->1<!-- end -->")


@pytest.mark.parametrize("file", page.TEXTS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_what_texts_say_was_measured(file: Path) -> None:
    """`python -m benchmarks --keep` writes the page and these texts together."""
    text = file.read_text("utf-8")

    assert text.count("<!-- end -->") > 0
    assert page.filled(text) == text


def test_the_page_in_the_readme_is_that_of_what_is_kept() -> None:
    assert page.page(NAMES) in page.README.read_text("utf-8")
