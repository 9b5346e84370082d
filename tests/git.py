"""Runs git in a test's folder: no configuration of the machine or the user, no hooks, no questions, no network."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

needs_git: Final = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

_LONGEST_S: Final = 60


def git(root: Path, *words: str, given: str = "", fine: tuple[int, ...] = (0,)) -> str:
    """Runs `git WORDS` in a folder with `given` as its input and returns what it writes. Fails on any exit code but the
    `fine` ones, and after a minute."""
    done = subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", f"core.hooksPath={os.devnull}", *words],
        cwd=root,
        env=_environment(root),
        input=given,
        capture_output=True,
        text=True,
        timeout=_LONGEST_S,
        check=False,
    )
    assert done.returncode in fine, done.stderr
    return done.stdout


def _environment(root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "file",
        "LC_ALL": "C",
    }
