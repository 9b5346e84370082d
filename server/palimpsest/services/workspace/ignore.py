"""What of a folder is left out: what its `.gitignore` files say, and folders that belong to tools."""

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
"""Folders that tools own, whatever `.gitignore` says. Also left out: folders marked by MARKERS."""
MARKERS: Final = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))
"""A folder with a file of this name is a virtual environment or a cache."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files that lead to one folder."""

    _files: tuple[tuple[int, IgnorePatterns], ...] = ()
    """How many parts lead to each ignore file, and what it says; deepest first."""

    def deeper(self, n_parts: int, text: str) -> IgnoreRules:
        """These rules, and those of the ignore file in the folder that `n_parts` parts lead to."""
        return IgnoreRules(((n_parts, _patterns(text)), *self._files))

    @property
    def refused(self) -> tuple[int, ...]:
        """The lines of the deepest ignore file, from 1, that are too long or too many to be used."""
        return self._files[0][1].refused if self._files else ()

    def leave_out(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Whether the entry at `parts` is left out. Its folder must not be: nothing comes back below one that is.

        The deepest ignore file that has something to say decides, as with git.
        """
        if is_folder and parts[-1] in SKIPPED_FOLDERS:
            return True
        for n_parts, patterns in self._files:
            verdict = patterns.verdict(parts[n_parts:], is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


def is_marked(names: Collection[str]) -> bool:
    """Whether a folder that holds these names is a virtual environment or a cache."""
    return not MARKERS.isdisjoint(names)


@lru_cache(maxsize=256)
def _patterns(text: str) -> IgnorePatterns:
    return read_patterns(text)
