"""Which repository a folder is of, as git tells it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.git import git, needs_git

from palimpsest.domain.sharing.repository import RepositoryIdentity
from palimpsest.services.workspace.repository import identify

pytestmark = needs_git


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}


def make(root: Path, *remotes: str) -> str:
    """A repository with one commit, whose id is returned."""
    (root / "svc").mkdir(parents=True)
    (root / "svc" / "a.py").write_text("a = 1\n", encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    for number, url in enumerate(remotes):
        git(root, "remote", "add", "origin" if not number else f"other{number}", url)
    return git(root, "rev-parse", "HEAD").strip()


def test_a_subfolder_of_a_clone(tmp_path: Path, environ: Mapping[str, str]) -> None:
    first = make(tmp_path / "one", "git@example.org:ann/app.git", "https://example.org/bob/app")
    git(tmp_path / "one", "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", str(tmp_path / "one"), "two")
    assert identify(tmp_path / "one", environ) == RepositoryIdentity(first, "example.org/ann/app", "")
    assert identify(tmp_path / "one" / "svc", environ) == RepositoryIdentity(first, "example.org/ann/app", "svc")
    # A clone of a place on this machine has the same first commit, and tells nothing of the place.
    assert identify(tmp_path / "two", environ) == RepositoryIdentity(first, "", "")


def test_a_remote_of_another_name_counts_when_it_is_the_only_one(tmp_path: Path, environ: Mapping[str, str]) -> None:
    first = make(tmp_path / "one", "https://example.org/app")
    git(tmp_path / "one", "remote", "rename", "origin", "upstream")
    assert identify(tmp_path / "one", environ) == RepositoryIdentity(first, "example.org/app", "")
    git(tmp_path / "one", "remote", "add", "mine", "https://example.org/mine")
    assert identify(tmp_path / "one", environ) == RepositoryIdentity(first, "", "")


def test_a_shallow_clone_does_not_know_its_first_commit(tmp_path: Path, environ: Mapping[str, str]) -> None:
    make(tmp_path / "one")
    git(tmp_path / "one", "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", (tmp_path / "one").as_uri(), "two")
    git(tmp_path / "two", "remote", "set-url", "origin", "https://example.org/app")
    assert identify(tmp_path / "two", environ) == RepositoryIdentity("", "example.org/app", "")


def test_a_folder_of_no_repository(tmp_path: Path, environ: Mapping[str, str]) -> None:
    assert identify(tmp_path, {**environ, "PATH": str(tmp_path)}) is None
    (tmp_path / ".git").write_text("gitdir: nowhere\n", encoding="utf-8")
    assert identify(tmp_path, environ) is None
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    assert identify(bare, environ) is None


def test_no_commit_and_no_remote_is_told_as_nothing_known(tmp_path: Path, environ: Mapping[str, str]) -> None:
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "-q")
    found = identify(root, environ)
    assert found is not None
    assert found.is_empty
