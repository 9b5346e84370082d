"""A count agrees with its noun, and a typing slip differs from another word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import palimpsest
import palimpsest_clients
from palimpsest.wording import counted, nearest

_NOUNS = (
    "answer|attachment|call|conversation|copy|day|edit|exchange|fact|fault|file|folder|hit|line|match|message|pin|place|"
    "problem|row|rule|server|session|step|summary|tool|turn"
)
_PLURAL = re.compile(rf" (?:[a-z]+ )?(?:{_NOUNS.replace('summary', 'summarie').replace('copy', 'copie')})e?s\b")


@pytest.mark.parametrize(
    ("n", "noun", "said"),
    [
        (0, "message", "0 messages"),
        (1, "fact", "1 fact"),
        (2, "summary", "2 summaries"),
        (1, "standing rule", "1 standing rule"),
        (1234, "day", "1,234 days"),
        (3, "match", "3 matches"),
    ],
)
def test_a_count_agrees_with_its_noun(n: int, noun: str, said: str) -> None:
    assert counted(n, noun) == said


def test_the_nearest_comes_first_whatever_its_case_and_nothing_like_it_is_nothing() -> None:
    known = ["claude-opus-5", "claude-sonnet-5", "Gpt-4o"]
    assert nearest("claude-sonet-5", known)[0] == "claude-sonnet-5"
    assert nearest("gpt-40", known) == ["Gpt-4o"]
    assert nearest("frobnicator", known) == []


def _counts_of_their_own(tree: ast.AST) -> Iterator[int]:
    """Lines with a number in front of a plural, in texts that are put together. A constant is never 1."""
    for node in ast.walk(tree):
        for value, behind in zip(node.values, node.values[1:], strict=False) if isinstance(node, ast.JoinedStr) else ():
            if isinstance(value, ast.FormattedValue) and isinstance(behind, ast.Constant):
                names = [each.id for each in ast.walk(value) if isinstance(each, ast.Name)]
                is_number = value.format_spec is not None or any(_is_number(each) for each in ast.walk(value.value))
                is_constant = any(name.isupper() for name in names)
                if is_number and not is_constant and _PLURAL.match(str(behind.value)):
                    yield value.lineno


def _is_number(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name == "len" or bool(re.match(r"n$|n_|limit$|count$", name)) or name.endswith(("_count", "_items"))


def test_no_text_counts_on_its_own() -> None:
    found = []
    for package in (palimpsest, palimpsest_clients):
        root = Path(package.__file__ or "").parent
        for path in sorted(root.rglob("*.py")):
            if "fake" not in path.parts:
                lines = _counts_of_their_own(ast.parse(path.read_text(encoding="utf-8")))
                found += [f"{path.relative_to(root)}:{line}" for line in lines]
    assert found == [], "say it with `wording.counted`"


def test_a_count_that_is_not_agreed_would_be_found() -> None:
    (line,) = _counts_of_their_own(ast.parse('f"{len(facts)} facts were removed"'))
    assert line == 1
    assert not list(_counts_of_their_own(ast.parse('f"at most {MAX_FACTS} facts"')))
