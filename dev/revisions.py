"""The files of a commit, read from git without a checkout."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from dev import ROOT


def files_at(commit: str, folders: Sequence[str]) -> dict[str, str]:
    """The Python files below some folders of the repository, by path, as text."""
    paths = [path for path in _git("ls-tree", "-r", "--name-only", commit, "--", *folders) if path.endswith(".py")]
    texts: dict[str, str] = {}
    told = "".join(f"{commit}:{path}\n" for path in paths)
    answer = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=ROOT, input=told.encode(), capture_output=True, check=True
    ).stdout
    at = 0
    for path in paths:
        head_end = answer.index(b"\n", at)
        size = int(answer[at:head_end].split()[-1])
        texts[path] = answer[head_end + 1 : head_end + 1 + size].decode()
        at = head_end + 1 + size + 1
    return texts


def _git(*arguments: str) -> list[str]:
    told = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True, text=True)
    return told.stdout.splitlines()
