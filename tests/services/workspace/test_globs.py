"""Globs mean what people mean by them, and none takes long."""

from __future__ import annotations

import pytest

from palimpsest.services.workspace.globs import Glob


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", "a.py src/a.py a/b/c.py", "a.pyc a.py/b"),
        ("a.py", "a.py src/a.py", "src/a.py/b ba.py"),
        ("/a.py", "a.py", "src/a.py"),
        ("src/*.py", "src/a.py", "a.py src/deep/a.py x/src/a.py"),
        ("./src/*.py", "src/a.py", "a.py"),
        ("src/**", "src/a.py src/deep/a.py", "a.py"),
        ("src/**/a.py", "src/a.py src/x/a.py src/x/y/a.py", "a.py src/b.py"),
        ("**/test_*", "test_a a/b/test_a", "a/test_/b atest_"),
        ("**/a/**/b", "a/b x/a/b a/x/y/b", "a b b/a"),
        ("*.{ts,tsx}", "a.ts x/a.tsx", "a.t a.tsxx"),
        ("{a,b/c}/*.{x,y}", "a/1.x b/c/1.y", "b/1.x c/1.x"),
        ("[ab]?.py", "a1.py x/b2.py", "c1.py a.py"),
        ("*.PY", "a.PY", "a.py"),
    ],
)
def test_a_glob_matches(pattern: str, matching: str, others: str) -> None:
    glob = Glob(pattern)
    assert [path for path in matching.split() if not glob.matches(tuple(path.split("/")))] == []
    assert [path for path in others.split() if glob.matches(tuple(path.split("/")))] == []


@pytest.mark.timeout(20)
def test_no_glob_goes_back_over_its_stars() -> None:
    assert not Glob("*a" * 100 + "b").matches(("a" * 250,))
    assert not Glob("**/a/" * 100 + "b").matches(("a",) * 60)
