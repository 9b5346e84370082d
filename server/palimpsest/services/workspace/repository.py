"""Asks git about a folder: what it says about itself, and which repository it is of.

A repository decides which programs git runs, so ask only in a trusted folder. Nothing is fetched, whatever the
repository says.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from palimpsest.domain.sharing.repository import RepositoryIdentity, normalized_remote
from palimpsest.machine import machine

_TIMEOUT_S: Final = 3
QUIET: Final = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
KEPT: Final = ("PATH", "HOME", "SYSTEMROOT")


def first_commit(root: Path, environ: Mapping[str, str]) -> str:
    """The least of the commits without parents; empty when there is none, no repository and no git. Blocks. Raises
    TimeoutError where looking takes too long."""
    commits = _ask(root, environ, "rev-list", "--max-parents=0", "HEAD")
    return min((commits or "").split(), default="")


def identify(root: Path, environ: Mapping[str, str]) -> RepositoryIdentity | None:
    """The repository of a folder; None when it is of none, or there is no git. A part that cannot be known is empty.
    Blocks."""
    try:
        told = _ask(root, environ, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository", "--show-prefix")
        is_inside, is_shallow, subfolder = (told or "").split("\n")[:3]
        url = _ask(root, environ, "remote", "get-url", "origin") or _only_remote(root, environ)
    except (TimeoutError, ValueError):
        return None
    if is_inside != "true" or not subfolder.isprintable():
        return None
    try:
        commit = "" if is_shallow == "true" else first_commit(root, environ)
    except TimeoutError:
        commit = ""
    return RepositoryIdentity(commit, normalized_remote(url), subfolder.strip("/"))


def _only_remote(root: Path, environ: Mapping[str, str]) -> str:
    names = (_ask(root, environ, "remote") or "").splitlines()
    return (_ask(root, environ, "remote", "get-url", "--", names[0]) or "") if len(names) == 1 else ""


def _ask(root: Path, environ: Mapping[str, str], *words: str) -> str | None:
    """The output of git; None when it fails. Raises TimeoutError."""
    git = shutil.which("git", path=environ.get("PATH"))
    if git is None:
        return None
    kept = {name: environ[name] for name in KEPT if name in environ}
    try:
        found = machine.run_program(
            [git, "-C", str(root), *words],
            env=kept | QUIET,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    except (OSError, subprocess.SubprocessError):
        return None
    said: bytes = found.stdout
    return said.decode("utf-8", "replace")
