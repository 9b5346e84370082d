"""The empty places where a release is installed: the Pythons of this machine, and homes with nothing in them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MINORS: Final = (11, 12, 13, 14)
"""Of the versions of Python 3 that a release is for."""
_OF_THE_INDEX: Final = re.compile(r"(PIP|UV|SSL|NPM)_.*|.*_(CA_BUNDLE|CA_CERTS|PROXY|proxy)|NO_PROXY|no_proxy")
"""Variables that say how a package index is reached; nothing else of the caller's environment is handed on."""
_TIMEOUT_S: Final = 900


class CheckFailed(Exception):
    """A sentence about what is wrong with the release."""


@dataclass(frozen=True, slots=True)
class Place:
    """A home of its own, and the variables of programs that run there."""

    home: Path
    environ: Mapping[str, str]

    @property
    def bin(self) -> Path:
        """Where pipx and uv put programs."""
        return self.home / ".local" / "bin"

    def run(self, *command: str | Path, typed: str = "", folder: Path | None = None) -> str:
        """What the command prints to stdout. Raises CheckFailed, with its last lines, unless its exit code is 0."""
        words = [str(word) for word in command]
        done = subprocess.run(
            words,
            input=typed,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=folder or self.home,
            env=dict(self.environ),
            timeout=_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).splitlines()[-20:]
            raise CheckFailed("\n    ".join([f"`{' '.join(words)}` ended with {done.returncode}:", *lines]))
        return done.stdout


def empty_place(folder: Path, *, caches: Path) -> Place:
    """A home without a file. pip and uv find there the index that the caller's are set up for, and share `caches`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    of_the_index = {name: value for name, value in os.environ.items() if _OF_THE_INDEX.fullmatch(name)}
    own = {
        "HOME": str(folder),
        "PATH": os.pathsep.join([str(folder / ".local" / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "PIP_CACHE_DIR": str(caches / "pip"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_CACHE_DIR": str(caches / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
    }
    return Place(folder, {**of_the_index, **_index(), **own})


def _index() -> dict[str, str]:
    """The caller's own settings of pip, and the same index for uv."""
    config = Path.home() / ".config" / "pip" / "pip.conf"
    found = {"PIP_CONFIG_FILE": str(config)} if config.is_file() else {}
    asked = [sys.executable, "-I", "-m", "pip", "config", "get", "global.index-url"]
    index = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return found | ({"UV_DEFAULT_INDEX": index} if index else {})


def pythons() -> dict[int, Path]:
    """The bare Pythons of this machine, by minor version: those in PATH, then those that pyenv has."""
    found: dict[int, Path] = {}
    for minor in MINORS:
        python = next((each for each in _candidates(minor) if _is_bare_python(each, minor)), None)
        if python is not None:
            found[minor] = python
    return found


def _candidates(minor: int) -> Iterator[Path]:
    if (named := shutil.which(f"python3.{minor}")) is not None:
        yield Path(named)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python3"))


def _is_bare_python(path: Path, minor: int) -> bool:
    """Whether it runs (a shim of pyenv may not), is of that version, no environment, and can make environments."""
    program = "import ensurepip, sys, venv; print(sys.version_info[1], sys.prefix == sys.base_prefix)"
    done = subprocess.run([str(path), "-I", "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.split() == [str(minor), "True"]
