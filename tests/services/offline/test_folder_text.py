"""A folder's text is what a person would call its files: no secrets, no tools' folders, nothing from outside it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from palimpsest.domain.deny_list import is_denied
from palimpsest.domain.offline.passages import FileSource
from palimpsest.services.offline import folder_text
from palimpsest.services.offline.folder_text import MAX_FILE_BYTES, FolderText
from palimpsest.services.workspace import files as workspace_files
from palimpsest.services.workspace import handles as folder_handles
from palimpsest.services.workspace.files import Found


def write(root: Path, **files: str) -> None:
    """`a__b_md` stands for `a/b.md`."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def paths(root: Path) -> list[str]:
    return [text.source.path for text in FolderText(root).read().files if isinstance(text.source, FileSource)]


needs_links = pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs symbolic links")


def test_files_come_nearest_the_root_first_with_their_exact_text(tmp_path: Path) -> None:
    write(tmp_path, z_md="é\r\nx", src__b_py="b", src__a_py="a", src__deep__c_py="c")
    files = FolderText(tmp_path).read()
    assert [(text.source, text.text) for text in files.files] == [
        (FileSource("z.md"), "é\r\nx"),
        (FileSource("src/a.py"), "a"),
        (FileSource("src/b.py"), "b"),
        (FileSource("src/deep/c.py"), "c"),
    ]
    assert not files.is_truncated


def test_ignore_files_apply_to_their_folder_and_the_deepest_decides(tmp_path: Path) -> None:
    write(tmp_path, a_log="x", sub__a_log="x", sub__b_log="x", sub__c_txt="x", c_txt="x", other__a_log="x")
    (tmp_path / ".gitignore").write_text("*.log\n/c.txt\n")
    (tmp_path / "sub" / ".gitignore").write_text("!a.log\n")
    assert paths(tmp_path) == [".gitignore", "sub/.gitignore", "sub/a.log", "sub/c.txt"]


def test_nothing_comes_back_below_an_ignored_folder(tmp_path: Path) -> None:
    write(tmp_path, build__keep_log="x", build__deep__keep_log="x", src__build__a_py="x", keep_log="x")
    (tmp_path / ".gitignore").write_text("build/\n!keep.log\n!build/keep.log\n")
    assert paths(tmp_path) == [".gitignore", "keep.log"]


def test_a_pattern_with_a_slash_is_anchored_at_its_ignore_file(tmp_path: Path) -> None:
    write(tmp_path, sub__out__a_txt="x", sub__deep__out__b_txt="x", out__c_txt="x")
    (tmp_path / "sub" / ".gitignore").write_text("/out\n")
    assert paths(tmp_path) == ["out/c.txt", "sub/.gitignore", "sub/deep/out/b.txt"]


@pytest.mark.parametrize("folder", [".git", "node_modules", ".venv", "__pycache__", ".mypy_cache", ".tox"])
def test_folders_of_tools_are_left_out_at_any_depth(tmp_path: Path, folder: str) -> None:
    for parent in (tmp_path / folder, tmp_path / "sub" / folder / "deep"):
        parent.mkdir(parents=True)
        (parent / "a.py").write_text("x")
    write(tmp_path, b_py="x")
    assert paths(tmp_path) == ["b.py"]


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "CACHEDIR.TAG"])
def test_a_virtual_environment_or_cache_of_any_name_is_left_out(tmp_path: Path, marker: str) -> None:
    write(tmp_path, mine__a_py="x", b_py="x")
    (tmp_path / "mine" / marker).write_text("x")
    assert paths(tmp_path) == ["b.py"]


@pytest.mark.parametrize(
    "name",
    """.env .env.local .ENV server.pem id_rsa id_ed25519.pub tls.key .netrc .npmrc credentials credentials.json
    credentials-prod.json secrets.yaml service_account.json""".split(),
)
def test_names_that_hold_secrets_are_never_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / name).write_text("A_KEY=1")
    write(tmp_path, env_md="how to set the environment", keys_py="x", secret_py="x")
    assert paths(tmp_path) == ["env.md", "keys.py", "secret.py"]
    assert is_denied(f"sub/{name}")
    assert is_denied(f"C:\\sub\\{name.upper()}")


def test_everything_in_a_folder_of_secrets_is_denied() -> None:
    assert is_denied(".ssh/config")
    assert is_denied("home/.aws/config")
    assert not is_denied("src/environment.py")


def test_a_private_key_under_another_name_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, deploy_txt="-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n", a_txt="x")
    assert paths(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("data", [b"text\0text", b"\xff\xfe\x41\x00", b"caf\xe9", b""])
def test_what_is_not_text_is_left_out(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbfwith a mark")
    assert [text.text for text in FolderText(tmp_path).read().files] == ["with a mark"]


def test_a_file_over_the_limit_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, big_txt="x" * (MAX_FILE_BYTES + 1), fits_txt="x" * MAX_FILE_BYTES)
    assert paths(tmp_path) == ["fits.txt"]


@pytest.mark.parametrize(("limit", "value"), [("MAX_FILES", 2), ("MAX_TOTAL_BYTES", 25), ("MAX_ENTRIES", 2)])
def test_a_folder_that_is_too_large_is_cut_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    write(tmp_path, a_txt="x" * 10, b_txt="x" * 10, sub__c_txt="x" * 10)
    monkeypatch.setattr(folder_text, limit, value)
    files = FolderText(tmp_path).read()
    assert [text.source for text in files.files] == [FileSource("a.txt"), FileSource("b.txt")]
    assert files.is_truncated


def test_a_folder_that_just_fits_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a_txt="x" * 10, b_txt="x" * 10)
    monkeypatch.setattr(folder_text, "MAX_FILES", 2)
    monkeypatch.setattr(folder_text, "MAX_TOTAL_BYTES", 20)
    files = FolderText(tmp_path).read()
    assert (len(files.files), files.is_truncated) == (2, False)


@needs_links
def test_links_are_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, a_txt="mine")
    write(outside, secret_txt="theirs")
    (root / "file.txt").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    assert paths(root) == ["a.txt"]


@needs_links
def test_a_folder_reached_by_a_link_can_be_the_root(tmp_path: Path) -> None:
    write(tmp_path / "real", a_txt="mine")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert paths(tmp_path / "link") == ["a.txt"]


@needs_links
@pytest.mark.parametrize("swapped", ["sub", "sub/a.txt"])
def test_a_link_put_in_place_after_the_look_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, sub__a_txt="mine")
    write(outside, a_txt="theirs")
    reader = FolderText(root)
    text_of = reader._text

    def swap_then_read(found: Found) -> object:
        (root / swapped).rename(tmp_path / "moved")
        (root / swapped).symlink_to(outside if swapped == "sub" else outside / "a.txt")
        return text_of(found)

    monkeypatch.setattr(reader, "_text", swap_then_read)
    assert reader.read().files == ()


@needs_links
@pytest.mark.parametrize("can_step", [True, False])
def test_a_link_on_the_way_is_refused_with_and_without_stepping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_step: bool
) -> None:
    monkeypatch.setattr(folder_handles, "CAN_STEP", can_step)
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, real__a_txt="mine")
    write(outside, a_txt="theirs")
    (root / "sub").symlink_to(outside)
    assert [text.text for text in FolderText(root).read().files] == ["mine"]
    with pytest.raises(OSError, match=r"sub"):
        folder_handles.open_below(str(root), ("sub", "a.txt"), folder_handles.Kind.FILE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_stop_the_reader(tmp_path: Path) -> None:
    write(tmp_path, a_txt="x")
    os.mkfifo(tmp_path / "pipe.txt")
    assert paths(tmp_path) == ["a.txt"]


def test_a_changed_file_is_read_anew_and_an_unchanged_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a_txt="old", b_txt="same")
    reader = FolderText(tmp_path)
    reader.read()
    opened: list[tuple[str, ...]] = []
    open_file = folder_handles.open_below

    def counting(root: str, parts: tuple[str, ...], kind: folder_handles.Kind) -> int:
        opened.append(parts)
        return open_file(root, parts, kind)

    monkeypatch.setattr(workspace_files, "open_below", counting)
    write(tmp_path, a_txt="newer")
    assert [text.text for text in reader.read().files] == ["newer", "same"]
    assert ("a.txt",) in opened
    assert ("b.txt",) not in opened


def test_files_that_go_away_are_gone(tmp_path: Path) -> None:
    write(tmp_path, a_txt="x", b_txt="y")
    reader = FolderText(tmp_path)
    assert len(reader.read().files) == 2
    (tmp_path / "a.txt").unlink()
    assert [text.text for text in reader.read().files] == ["y"]
    assert FolderText(tmp_path / "nowhere").read().files == ()


def test_two_threads_may_read_at_once(tmp_path: Path) -> None:
    write(tmp_path, **{f"f{i}_txt": "x" * i for i in range(1, 60)})
    reader = FolderText(tmp_path)
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(len(reader.read().files))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert results == [59] * 4
