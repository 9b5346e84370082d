"""The conventions of CONTRIBUTING.md about tests: each asserts something, none sleeps, and none mocks our own parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
TREES: Final = {path: ast.parse(path.read_text("utf-8")) for path in sorted(TESTS.rglob("*.py"))}
FUNCTIONS: Final[dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]]] = {}
for _tree in TREES.values():
    for _node in ast.walk(_tree):
        if isinstance(_node, ast.FunctionDef | ast.AsyncFunctionDef):
            FUNCTIONS.setdefault(_node.name, []).append(_node)


def called(node: ast.AST) -> Iterator[str]:
    """The names of the functions and methods that are called."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            yield each.func.attr if isinstance(each.func, ast.Attribute) else getattr(each.func, "id", "")


def asserts(node: ast.AST, *, depth: int = 3) -> bool:
    """Whether something can fail in a function, or in a function of the tests that it calls."""
    if any(isinstance(each, ast.Assert | ast.Raise) for each in ast.walk(node)):
        return True
    names = set(called(node))
    if names & {"raises", "fail"}:
        return True
    return depth > 0 and any(asserts(found, depth=depth - 1) for name in names for found in FUNCTIONS.get(name, ()))


def sleeps(node: ast.AST) -> bool:
    """Whether something sleeps; `asyncio.sleep(0)` only lets others run."""
    return any(
        isinstance(each, ast.Call)
        and ast.unparse(each.func) in ("time.sleep", "asyncio.sleep", "sleep")
        and ast.unparse(each.args[0]) != "0"
        for each in ast.walk(node)
    )


def written() -> list[tuple[str, ast.AST]]:
    """All test functions, with the place of each."""
    return [
        (f"{path.relative_to(TESTS).as_posix()}::{node.name}", node)
        for path, tree in TREES.items()
        if path.name.startswith("test_")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def test_every_test_asserts_something() -> None:
    assert [place for place, test in written() if not asserts(test)] == []


def test_no_test_sleeps_but_where_time_is_simulated() -> None:
    assert [place for place, test in written() if not place.startswith("simulation/") and sleeps(test)] == []


def test_nothing_is_mocked() -> None:
    mocks = {"Mock", "MagicMock", "AsyncMock", "create_autospec"}
    assert [path.name for path, tree in TREES.items() if mocks & set(called(tree))] == []
