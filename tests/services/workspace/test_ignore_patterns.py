"""What a `.gitignore` file leaves out is what git leaves out, and no file of patterns takes long to match."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from tests.git import git, needs_git

from palimpsest.services.workspace.ignore import IgnoreRules
from palimpsest.services.workspace.ignore_patterns import MAX_PATTERN_CHARACTERS, MAX_PATTERNS, read_patterns

_PIECES = r"a b ab * ? ** / / [ab] [!a] [a-b] \* \a . [[:alpha:]] []b] [".split()
_NAMES = ["a", "b", "ab", "ba", "aab", "a.b", "*", ".a", "[", "]b"]


def _tree(root: Path, chance: random.Random) -> list[tuple[str, ...]]:
    """Some folders and files three deep; a folder before what lies in it."""
    found: list[tuple[str, ...]] = []

    def fill(parts: tuple[str, ...]) -> None:
        for name in _NAMES:
            path = (*parts, name)
            if len(path) < 3 and chance.random() < 0.5:
                root.joinpath(*path).mkdir()
                found.append(path)
                fill(path)
            else:
                root.joinpath(*path).touch()
                found.append(path)

    fill(())
    return found


def _pattern(chance: random.Random) -> str:
    start = chance.choice(["", "", "", "!", "/", "**/", "#"])
    end = chance.choice(["", "", "", "/", "/**", " ", r"\ ", "\r"])
    return start + "".join(chance.choices(_PIECES, k=chance.randint(1, 5))) + end


def _is_left_out(rules: IgnoreRules, root: Path, path: tuple[str, ...]) -> bool:
    above = [path[:n] for n in range(1, len(path))]
    return any(rules.leave_out(each, is_folder=True) for each in above) or rules.leave_out(
        path, is_folder=root.joinpath(*path).is_dir()
    )


def _ignored_by_git(root: Path, paths: list[tuple[str, ...]]) -> set[str]:
    asked = "\0".join("/".join(path) for path in paths)
    said = git(root, "check-ignore", "--no-index", "-z", "--stdin", given=asked, fine=(0, 1))
    return {path for path in said.split("\0") if path}


@needs_git
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path) -> None:
    chance = random.Random(17)
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q")
    paths = _tree(root, chance)
    for number in range(250):
        # git takes `a**/b` for `a` and then `**/b`, which is not what its manual says of stars beside other characters
        lines = [line for line in (_pattern(chance) for _ in range(3)) if not re.search(r"[^*/!]\*\*+(/|\\/|$)", line)]
        lines += ["/**", "!*/"] * (number % 10 == 0)
        (root / ".gitignore").write_bytes("\n".join(lines).encode())
        rules = IgnoreRules().deeper(0, "\n".join(lines))
        ours = {"/".join(path) for path in paths if _is_left_out(rules, root, path)}
        assert ours == _ignored_by_git(root, paths), lines


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["*a" * 400 + "b", "/" + "**/a/" * 190 + "b", "*" * 900 + "b", "a?*" * 300 + "b"])
def test_no_pattern_goes_back_over_its_stars(pattern: str) -> None:
    patterns = read_patterns(pattern)
    assert patterns.refused == ()
    assert patterns.verdict((*("a",) * 60, "a" * 255), is_folder=False) is None


def test_what_is_too_long_or_too_many_is_named_and_the_rest_holds() -> None:
    text = "\n".join(["x" * (MAX_PATTERN_CHARACTERS + 1), *["*.b?"] * MAX_PATTERNS, "*.c", "plain"])
    patterns = read_patterns(text)
    assert patterns.refused == (1, MAX_PATTERNS + 2)
    assert patterns.verdict(("a.bb",), is_folder=False) is True
    assert patterns.verdict(("a.c",), is_folder=False) is None
    assert patterns.verdict(("plain",), is_folder=False) is True
