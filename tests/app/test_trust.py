"""A folder is trusted when its user has said so and not taken it back, and in no other case."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from palimpsest.app.trusted_folders import TrustedFolders, trusted_folders
from palimpsest.cli.main import main
from palimpsest.domain.errors import InvalidRequest


@pytest.fixture
def trusted(tmp_path: Path) -> TrustedFolders:
    return TrustedFolders(tmp_path / "data" / "trusted")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "made up folder é"
    root.mkdir()
    return root


def test_no_folder_is_trusted_before_it_was_said(trusted: TrustedFolders, folder: Path) -> None:
    assert folder not in trusted
    assert trusted.roots() == []
    assert not trusted.remove(folder)
    assert not trusted.directory.exists()


def test_trust_is_for_a_folder_and_not_for_those_in_it_or_around_it(trusted: TrustedFolders, folder: Path) -> None:
    trusted.add(folder)
    trusted.add(folder)
    assert folder in trusted
    assert folder / "inner" not in trusted
    assert folder.parent not in trusted
    assert trusted.roots() == [folder]


def test_what_was_revoked_is_not_trusted(trusted: TrustedFolders, folder: Path, tmp_path: Path) -> None:
    trusted.add(folder)
    trusted.add(tmp_path)
    assert trusted.remove(folder)
    assert folder not in trusted
    assert trusted.roots() == [tmp_path]


def test_nobody_else_can_read_or_write_the_list(trusted: TrustedFolders, folder: Path) -> None:
    trusted.add(folder)
    assert stat.S_IMODE(trusted.directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in trusted.directory.iterdir()} == {0o600}


def test_an_entry_that_is_not_whole_or_about_another_folder_trusts_nothing(
    trusted: TrustedFolders, folder: Path
) -> None:
    trusted.add(folder)
    (entry,) = trusted.directory.iterdir()
    for content in (b"", os.fsencode(folder)[:-1], os.fsencode(folder.parent)):
        entry.write_bytes(content)
        assert folder not in trusted
        assert folder.parent not in trusted
        assert trusted.roots() == []


def test_a_name_that_is_no_text_can_be_trusted(trusted: TrustedFolders, tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n"))
    trusted.add(root)
    assert root in trusted
    assert trusted.roots() == [root]


def test_what_cannot_be_written_down_is_said(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidRequest, match="could not be stored"):
        TrustedFolders(tmp_path / "file" / "trusted").add(folder)


# ------------------------------------------------------------------------------------------------------ the command


@pytest.fixture
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.mark.usefixtures("_own_home")
def test_the_command_trusts_shows_and_revokes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert main(["trust", str(link)]) == 0
    assert capsys.readouterr().out == f"{folder} is trusted from the next time it is opened.\n"
    assert folder in trusted_folders()
    assert main(["trust", "--list"]) == 0
    assert capsys.readouterr().out == f"{folder}\n"
    assert main(["trust", "--revoke", str(folder)]) == 0
    assert main(["trust", "--revoke", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder} is no longer trusted.\n{folder} was not trusted.\n"
    assert folder not in trusted_folders()


@pytest.mark.usefixtures("_own_home")
def test_without_a_name_the_command_is_about_the_folder_it_runs_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert main(["trust"]) == 0
    assert trusted_folders().roots() == [folder]


@pytest.mark.usefixtures("_own_home")
def test_what_is_no_folder_is_not_trusted_and_one_that_is_gone_can_be_revoked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trust", str(folder / "none")]) == 1
    assert capsys.readouterr().err == f"palimpsest: {folder / 'none'} is not a folder.\n"
    main(["trust", str(folder)])
    folder.rmdir()
    assert main(["trust", "--revoke", str(folder)]) == 0
    assert trusted_folders().roots() == []
