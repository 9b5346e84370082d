"""What git says has changed in a folder: since the last commit, staged, or by one commit.

A repository can name programs that git runs, so ask only in a trusted folder; and even there none is run that shows
changes (pagers, external diffs, text conversions, filters, checks of signatures, watchers of files). Paths with the
name of a secret are left out. Nothing is fetched.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palimpsest.domain.deny_list import holds_private_key, is_denied
from palimpsest.domain.errors import InvalidRequest
from palimpsest.machine import machine
from palimpsest.services.workspace.repository import KEPT, QUIET
from palimpsest.wording import counted

MAX_BYTES: Final = 256 * 1024
"""The most bytes of changes; the rest is cut off, and a line says so."""
MAX_FILES: Final = 2_000
MAX_COMMITS: Final = 20
"""The most commits that are offered to be mentioned."""
_TIMEOUT_S: Final = 10
_MAX_NAMES: Final = 4 * 1024 * 1024
_SETTINGS: Final = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "diff.external="),
)
_SHOW: Final = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--ignore-submodules=dirty",
    "--submodule=short",  # else git is run in the submodule, by what is configured there
    "--relative",
)
_MARKS: Final = (re.compile(rb"(?m)^[ +-]"), re.compile(rb"(?m)^[ +-]{2}"))
"""What stands in front of the lines of a file, also of one with conflicts."""
_REVISION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./^~@{}+-]{0,199}")


@dataclass(frozen=True, slots=True)
class Changes:
    text: str
    left_out: tuple[str, ...] = ()
    """Sentences about what is not in the text."""


def changes(root: Path, environ: Mapping[str, str], what: str) -> Changes:
    """The changes in the folder: `diff` (not staged), `staged`, or those of a commit, by any name that git knows for
    it. Blocks. Raises InvalidRequest, with the reason."""
    git = _Git(root, environ).without_filters()
    if what in ("diff", "staged"):
        asked: tuple[str, ...] = ("diff", *(("--cached",) if what == "staged" else ()), *_SHOW)
    else:
        asked = ("show", "-m", "--first-parent", "--format=fuller", *_SHOW, git.commit(what))
    named = [*asked, "--name-only", "-z", *(("--format=",) if asked[0] == "show" else ())]
    paths = [path for path in git.ask(named, _MAX_NAMES).text.lstrip("\n").split("\0") if path]
    shown = [path for path in paths if not is_denied(path)][:MAX_FILES]
    left_out = []
    if n_hidden := sum(map(is_denied, paths)):
        left_out.append(f"Not shown, because of a name like that of a secret: {counted(n_hidden, 'file')}.")
    if len(paths) - n_hidden > len(shown):
        left_out.append(f"Only the first {len(shown):,} of {counted(len(paths) - n_hidden, 'changed file')} are shown.")
    if asked[0] == "diff" and not shown:
        raise InvalidRequest(" ".join(["There are no such changes in this folder.", *left_out]))
    found = git.ask([*asked, "--", *shown] if shown else [*asked, "--no-patch"], MAX_BYTES)
    if any(holds_private_key(re.sub(mark, b"", found.text.encode())) for mark in _MARKS):
        raise InvalidRequest("The changes hold a private key. They are not read.")
    return Changes(found.text, (*left_out, *found.left_out))


def recent_commits(root: Path, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """The short ids of the newest commits of the folder, each with its subject; empty where git has nothing to say.
    Blocks."""
    words = ["log", f"--max-count={MAX_COMMITS}", "--no-color", "--format=%h%x09%s", "--", "."]
    try:
        said = _Git(root, environ).ask(words, 64 * 1024).text
    except InvalidRequest:
        return []
    parts = [line.partition("\t") for line in said.splitlines()]
    return [(name, subject[:100]) for name, _, subject in parts if name]


@dataclass(frozen=True, slots=True)
class _Git:
    root: Path
    environ: Mapping[str, str]
    more: tuple[str, ...] = ()
    """Further options of git itself."""

    def without_filters(self) -> _Git:
        """Runs no filter that the repository names: files are compared as they are. Raises InvalidRequest in a folder
        that is not in the working tree of a repository, since git would then show files of elsewhere."""
        none = "This folder is in no working tree of a git repository."
        if self.ask(["rev-parse", "--is-inside-work-tree"], 1024, or_else=none).text.strip() != "true":
            raise InvalidRequest(none)
        listed = self.ask(["config", "--list", "--show-scope", "--name-only", "-z"], _MAX_NAMES).text.split("\0")
        filters = {
            name.rpartition(".")[0]
            for scope, name in zip(listed[::2], listed[1::2], strict=False)
            if scope in ("local", "worktree") and name.startswith("filter.")
        }
        if any("=" in each or not each.isprintable() for each in filters):
            raise InvalidRequest("This repository configures a filter with an odd name, so git is not asked.")
        off = ("clean=", "process=", "required=false")
        return replace(
            self, more=tuple(word for each in sorted(filters) for key in off for word in ("-c", f"{each}.{key}"))
        )

    def commit(self, name: str) -> str:
        """The full id of a commit."""
        if _REVISION.fullmatch(name) is None or ".." in name:
            raise InvalidRequest(f"{name[:60]!r} is no name of a commit. Write @git:diff, @git:staged or @git:COMMIT.")
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        return self.ask(words, 1024, or_else=f"git knows no commit {name[:60]!r} here.").text.strip()

    def ask(self, words: Sequence[str], most: int, or_else: str = "") -> Changes:
        """What git writes, cut to `most` bytes. Raises InvalidRequest, with `or_else` where git fails."""
        program = shutil.which("git", path=self.environ.get("PATH"))
        if program is None:
            raise InvalidRequest("git is not installed, or not in the PATH of Palimpsest.")
        kept = {name: self.environ[name] for name in KEPT if name in self.environ}
        # Into a file: what git writes has no bound, and memory has.
        with tempfile.TemporaryFile() as out:
            try:
                done = machine.run_program(
                    [
                        program,
                        "--no-pager",
                        "--literal-pathspecs",
                        *_SETTINGS,
                        *self.more,
                        "-C",
                        str(self.root),
                        *words,
                    ],
                    env=kept | QUIET,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.PIPE,
                    timeout=_TIMEOUT_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise InvalidRequest(f"git took longer than {_TIMEOUT_S} seconds, so it was stopped.") from None
            except OSError as error:
                raise InvalidRequest(f"git cannot be started: {error.strerror or error}.") from None
            if done.returncode != 0:
                said = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
                raise InvalidRequest(or_else or f"git says: {said or 'nothing, and failed'}")
            size = out.seek(0, 2)
            out.seek(0)
            text = out.read(most).decode("utf-8", "replace")
        if size <= most:
            return Changes(text)
        sentence = f"The changes have {size:,} bytes, and only the first {most:,} are here."
        return Changes(f"{text}\n[Cut here: {sentence}]\n", (sentence,))
