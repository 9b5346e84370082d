"""The ignored files of a folder: those that its `.gitignore` files name, and folders that belong to tools."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from palimpsest.services.workspace.ignore_patterns import IgnorePatterns, read_patterns

IGNORE_FILE: Final = ".gitignore"

SKIPPED_FOLDERS: Final = frozenset(
    (
        ".bzr",
        ".cache",
        ".eggs",
        ".git",
        ".gradle",
        ".hg",
        ".hypothesis",
        ".import_linter_cache",
        ".jj",
        ".mypy_cache",
        ".next",
        ".nox",
        ".nuxt",
        ".parcel-cache",
        ".pnpm-store",
        ".pytest_cache",
        ".ruff_cache",
        ".svelte-kit",
        ".svn",
        ".terraform",
        ".tox",
        ".turbo",
        ".venv",
        ".yarn",
        "__pycache__",
        "bower_components",
        "node_modules",
        "site-packages",
        "venv",
    )
)
"""Names of folders that belong to tools. They are ignored whatever `.gitignore` says, like folders with MARKERS."""
MARKERS: Final = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))
"""The names of files that mark a folder as a virtual environment or a cache."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files on the path to one folder."""

    _files: tuple[tuple[int, IgnorePatterns], ...] = ()
    """The depth of each ignore file and its patterns; deepest first."""

    def deeper(self, n_parts: int, text: str) -> IgnoreRules:
        """These rules, with those of the ignore file in the folder at depth `n_parts`."""
        return IgnoreRules(((n_parts, _patterns(text)), *self._files))

    @property
    def refused(self) -> tuple[int, ...]:
        """The numbers of lines, from 1, of the deepest ignore file that are not used: too long, or too many."""
        return self._files[0][1].refused if self._files else ()

    def leave_out(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Whether the entry at `parts` is ignored. Its folder must not be: nothing below an ignored folder comes back.

        The deepest ignore file with a matching pattern decides, as in git.
        """
        if is_folder and parts[-1] in SKIPPED_FOLDERS:
            return True
        for n_parts, patterns in self._files:
            verdict = patterns.verdict(parts[n_parts:], is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


def is_marked(names: Collection[str]) -> bool:
    """Whether a folder with these names is a virtual environment or a cache."""
    return not MARKERS.isdisjoint(names)


@lru_cache(maxsize=256)
def _patterns(text: str) -> IgnorePatterns:
    return read_patterns(text)
