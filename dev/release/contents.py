"""The comparison of what a part of a release holds with the list in contents.toml."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

LIST: Final = Path(__file__).with_name("contents.toml")


def listed(part: str) -> list[str]:
    """The patterns of one part, each without alternatives in braces."""
    patterns = tomllib.loads(LIST.read_text("utf-8"))[part]["names"]
    return [single for pattern in patterns for single in _singles(pattern)]


def differences(names: Collection[str], patterns: Collection[str], tracked: Collection[str] = ()) -> list[str]:
    """What is wrong with the contents `names`, as lines: a name that no pattern allows, a pattern that nothing matches,
    and, in the top folders of `tracked`, what git keeps and is missing, and what git does not keep and is there."""
    expressions = {pattern: _expression(pattern) for pattern in patterns}
    unexpected = [name for name in sorted(names) if not any(each.fullmatch(name) for each in expressions.values())]
    unmatched = [pattern for pattern, each in expressions.items() if not any(each.fullmatch(name) for name in names)]
    forgotten = sorted(set(tracked) - set(names))
    folders = {name.partition("/")[0] for name in tracked}
    strays = sorted(name for name in names if name.partition("/")[0] in folders and name not in tracked)
    return [
        *(f"{name} does not belong there" for name in unexpected),
        *(f"{pattern} is missing" for pattern in unmatched),
        *(f"{name} is in git and missing there" for name in forgotten),
        *(f"{name} is there and not in git" for name in strays if name not in unexpected),
    ]


def _singles(pattern: str) -> Iterator[str]:
    """The pattern with each alternative of its braces in turn."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        yield pattern
        return
    for alternative in found[1].split(","):
        yield from _singles(pattern[: found.start()] + alternative + pattern[found.end() :])


def _expression(pattern: str) -> re.Pattern[str]:
    """Of `**`, of `*`, which stops at a slash, and of what `fnmatch` knows besides."""
    pieces = re.split(r"(\*\*|\*)", pattern)
    stars = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(stars.get(piece) or _plain(piece) for piece in pieces))


def _plain(piece: str) -> str:
    return fnmatch.translate(piece).removeprefix("(?s:").removesuffix(r")\Z").removesuffix(r")\z")
