"""How well the offline provider's finder tells answers from look-alikes, on made-up folders.

    python -m benchmarks.offline_questions [-v] [SET ...]

For each set in `offline_questions/` (by default all of them): how many questions whose answer is one known sentence got
that line among their quotes, how many that nothing answers were declined, and how many *near misses* were: questions
nothing answers although all their subjects stand in the files. -v names what went wrong.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palimpsest.domain.offline.passages import FileSource, Passage
from palimpsest.services.offline.finding import find_passages
from palimpsest.services.offline.folder_text import FolderText

SETS: Final = Path(__file__).with_suffix("")


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, and the line that answers it."""

    question: str
    path: str
    line: int
    """From 1."""
    sentence: str

    def is_quoted_by(self, passages: Sequence[Passage]) -> bool:
        return any(
            passage.source == FileSource(self.path)
            and passage.line <= self.line <= passage.line + passage.text.count("\n")
            for passage in passages
        )


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    files: Mapping[str, str]
    answered: tuple[Answered, ...]
    unanswerable: tuple[str, ...]
    near_misses: tuple[str, ...]

    def write_to(self, root: Path) -> None:
        for path, text in self.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8", newline="\n")


def load_set(path: Path) -> QuestionSet:
    """Raises ValueError where a sentence does not stand in its file."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    files: dict[str, str] = data["files"]
    answered = []
    for entry in data["answered"]:
        before = files[entry["path"]].index(entry["sentence"])
        line = files[entry["path"]].count("\n", 0, before) + 1
        answered.append(Answered(entry["question"], entry["path"], line, entry["sentence"]))
    unanswerable, near_misses = (
        tuple(entry["question"] for entry in data.get(key, ())) for key in ("unanswerable", "near_miss")
    )
    return QuestionSet(data["name"], files, tuple(answered), unanswerable, near_misses)


def _report(questions: QuestionSet, is_verbose: bool) -> None:
    with tempfile.TemporaryDirectory() as root:
        questions.write_to(Path(root))
        folder = FolderText(Path(root))
        missed = [one for one in questions.answered if not one.is_quoted_by(find_passages(one.question, folder, ()))]
        declinable = (*questions.unanswerable, *questions.near_misses)
        quoted = {one: found for one in declinable if (found := find_passages(one, folder, ()))}
    wrong = sum(one in quoted for one in questions.unanswerable)
    near = sum(one in quoted for one in questions.near_misses)
    print(
        f"{questions.name:12} found {len(questions.answered) - len(missed):2} of {len(questions.answered):2}   "
        f"declined {len(questions.unanswerable) - wrong:2} of {len(questions.unanswerable):2}   "
        f"near misses declined {len(questions.near_misses) - near:2} of {len(questions.near_misses):2}"
    )
    if is_verbose:
        for one in missed:
            print(f"    not found: {one.question} ({one.path}:{one.line})")
        for question, found in quoted.items():
            print(f"    not declined: {question} ({found[0].place})")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help="a set's name, or a TOML file of the same form")
    parser.add_argument("-v", "--verbose", action="store_true", help="name the questions that went wrong")
    arguments = parser.parse_args(argv)
    chosen = [path if (path := Path(name)).is_file() else SETS / f"{name}.toml" for name in arguments.sets]
    for path in chosen or sorted(SETS.glob("*.toml")):
        _report(load_set(path), arguments.verbose)


if __name__ == "__main__":
    main()
