"""git tells what has changed in a trusted folder, and runs no program that the repository names for showing it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.git import git, needs_git

from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.workspace import git_changes
from palimpsest.services.workspace.git_changes import changes, recent_commits

pytestmark = needs_git
ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo" / "part ü"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    (folder / ".env").write_text("KEY=before\n")
    (folder.parent / "outside.txt").write_text("out\n")
    git(folder.parent, "add", "-A", "-f")
    git(folder.parent, "commit", "-qm", "First")
    return folder


def test_what_is_not_staged_and_what_is_staged(root: Path) -> None:
    (root / "a.txt").write_text("two\n")
    (root / ".env").write_text("KEY=zqxsecret\n")
    (root.parent / "outside.txt").write_text("zqxoutside\n")
    found = changes(root, ENVIRON, "diff")
    assert "-one\n+two\n" in found.text
    assert "zqx" not in found.text
    assert found.left_out == ("Not shown, because of a name like that of a secret: 1 file.",)
    git(root.parent, "add", "part ü/a.txt")
    with pytest.raises(InvalidRequest, match="no such changes"):
        changes(root, ENVIRON, "diff")
    assert "+two" in changes(root, ENVIRON, "staged").text


def test_a_commit_by_any_name(root: Path) -> None:
    (root / "a.txt").write_text("two\n")
    git(root.parent, "commit", "-qam", "Say two")
    first = git(root.parent, "rev-parse", "HEAD~1").strip()
    assert "Say two" in changes(root, ENVIRON, "HEAD").text
    for name in (first, first[:8], "HEAD~1", "HEAD^"):
        found = changes(root, ENVIRON, name)
        assert "First" in found.text
        assert "+one" in found.text
        assert "KEY" not in found.text
        assert "outside" not in found.text


@pytest.mark.parametrize("name", ["nowhere", "--output=x", "HEAD..HEAD", "a b", ":/First", "HEAD:a.txt", ""])
def test_what_names_no_commit_is_refused(root: Path, name: str) -> None:
    with pytest.raises(InvalidRequest):
        changes(root, ENVIRON, name)
    assert not (root / "x").exists()


def test_no_program_of_the_repository_is_run(root: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    script.chmod(0o755)
    for setting in (
        *("diff.external", "core.pager", "pager.diff", "pager.show", "core.fsmonitor", "diff.x.textconv"),
        *("diff.x.command", "gpg.program", "core.sshCommand"),
    ):
        git(root.parent, "config", setting, str(script))
    git(root.parent, "config", "log.showSignature", "true")
    (root / ".gitattributes").write_text("*.txt diff=x\n")
    (root / "a.txt").write_text("two\n")
    assert "+two" in changes(root, ENVIRON, "diff").text
    assert "First" in changes(root, ENVIRON, "HEAD").text
    assert not ran.exists()


@pytest.mark.parametrize("key", ["clean", "process"])
def test_no_filter_of_the_repository_is_run(root: Path, tmp_path: Path, key: str) -> None:
    ran = tmp_path / "ran"
    git(root.parent, "config", f"filter.a.b.{key}", f"touch '{ran}'; cat")
    git(root.parent, "config", "filter.a.b.required", "true")
    (root / ".gitattributes").write_text("*.txt filter=a.b\n")
    (root / "a.txt").write_text("two\n")
    assert "+two" in changes(root, ENVIRON, "diff").text
    assert not ran.exists()


def test_a_filter_that_cannot_be_switched_off_is_not_risked(root: Path) -> None:
    git(root.parent, "config", "filter.a=b.clean", "cat")
    with pytest.raises(InvalidRequest, match="odd name"):
        changes(root, ENVIRON, "diff")


def test_a_working_tree_elsewhere_is_not_shown(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "part ü").mkdir(parents=True)
    (elsewhere / "part ü" / "a.txt").write_text("zqxelsewhere\n")
    git(root.parent, "config", "core.worktree", str(elsewhere))
    with pytest.raises(InvalidRequest, match="no working tree"):
        changes(root, ENVIRON, "diff")


def test_a_submodule_is_named_and_not_asked(root: Path) -> None:
    module = root / "module"
    module.mkdir()
    git(module, "init", "-q")
    git(module, "commit", "-q", "--allow-empty", "-m", "zqxbefore")
    git(root.parent, "config", "diff.submodule", "log")
    git(root.parent, "add", "part ü/module")
    git(module, "commit", "-q", "--allow-empty", "-m", "zqxafter")
    found = changes(root, ENVIRON, "diff").text
    assert "+Subproject commit" in found
    assert "zqx" not in found


def test_the_newest_commits_are_offered(root: Path, tmp_path: Path) -> None:
    (root / "a.txt").write_text("two\n")
    git(root.parent, "commit", "-qam", "Say\ttwo")
    assert [subject for _, subject in recent_commits(root, ENVIRON)] == ["Say\ttwo", "First"]
    assert recent_commits(tmp_path / "none", ENVIRON) == []


def test_many_bytes_are_cut_with_a_sentence(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_changes, "MAX_BYTES", 200)
    (root / "a.txt").write_text("two\n" * 1_000)
    found = changes(root, ENVIRON, "diff")
    assert len(found.text) < 400
    assert "[Cut here: The changes have " in found.text


def test_a_private_key_is_not_read(root: Path) -> None:
    (root / "a.txt").write_text("-----BEGIN RSA PRIVATE KEY-----\nabc\n")
    with pytest.raises(InvalidRequest, match="private key"):
        changes(root, ENVIRON, "diff")


def test_a_private_key_in_a_conflict_is_not_read(root: Path) -> None:
    (root / "a.txt").write_text("mine\n")
    git(root.parent, "commit", "-qam", "Mine")
    git(root.parent, "checkout", "-q", "-b", "other", "HEAD~")
    (root / "a.txt").write_text("-----BEGIN RSA PRIVATE KEY-----\nabc\n")
    git(root.parent, "commit", "-qam", "Theirs")
    git(root.parent, "merge", "-q", "@{-1}", fine=(1,))
    with pytest.raises(InvalidRequest, match="private key"):
        changes(root, ENVIRON, "diff")


def test_outside_a_repository_git_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    with pytest.raises(InvalidRequest, match="no working tree"):
        changes(folder, ENVIRON | {"GIT_CEILING_DIRECTORIES": str(tmp_path)}, "diff")
