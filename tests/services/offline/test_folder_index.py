"""What is searched is what a person would call the files of a folder, as they are now: no secrets, no tools' folders,
nothing from outside it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from palimpsest.domain.deny_list import is_denied
from palimpsest.domain.offline.places import Found
from palimpsest.domain.offline.question import search_terms
from palimpsest.services.offline import folder_index
from palimpsest.services.offline.folder_index import MAX_FILE_BYTES, FolderIndex
from palimpsest.services.workspace import handles as folder_handles
from palimpsest.storage.text_index import Identity, TextIndex


def write(root: Path, **files: str) -> None:
    """`a__b_md` means `a/b.md`."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def search(index: FolderIndex, question: str = "needle") -> Found:
    return index.search(search_terms(question), threading.Event())


def paths(root: Path) -> list[str]:
    """The paths of the files that hold the word, at most five, in order."""
    return sorted(place.path or "" for place in search(FolderIndex(root)).places)


needs_links = pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs symbolic links")


def test_ignore_files_apply_to_their_folder_and_the_deepest_decides(tmp_path: Path) -> None:
    write(
        tmp_path,
        a_log="needle",
        sub__a_log="needle",
        sub__b_log="needle",
        sub__c_txt="needle",
        c_txt="needle",
        other__a_log="needle",
    )
    (tmp_path / ".gitignore").write_text("# needle\n*.log\n/c.txt\n")
    (tmp_path / "sub" / ".gitignore").write_text("# needle\n!a.log\n")
    assert paths(tmp_path) == [".gitignore", "sub/.gitignore", "sub/a.log", "sub/c.txt"]


def test_nothing_comes_back_below_an_ignored_folder(tmp_path: Path) -> None:
    write(
        tmp_path, build__keep_log="needle", build__deep__keep_log="needle", src__build__a_py="needle", keep_log="needle"
    )
    (tmp_path / ".gitignore").write_text("# needle\nbuild/\n!keep.log\n!build/keep.log\n")
    assert paths(tmp_path) == [".gitignore", "keep.log"]


def test_a_pattern_with_a_slash_is_anchored_at_its_ignore_file(tmp_path: Path) -> None:
    write(tmp_path, sub__out__a_txt="needle", sub__deep__out__b_txt="needle", out__c_txt="needle")
    (tmp_path / "sub" / ".gitignore").write_text("# needle\n/out\n")
    assert paths(tmp_path) == ["out/c.txt", "sub/.gitignore", "sub/deep/out/b.txt"]


@pytest.mark.parametrize("folder", [".git", "node_modules", ".venv", "__pycache__", ".mypy_cache", ".tox"])
def test_folders_of_tools_are_left_out_at_any_depth(tmp_path: Path, folder: str) -> None:
    for parent in (tmp_path / folder, tmp_path / "sub" / folder / "deep"):
        parent.mkdir(parents=True)
        (parent / "a.py").write_text("needle")
    write(tmp_path, b_py="needle")
    assert paths(tmp_path) == ["b.py"]


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "CACHEDIR.TAG"])
def test_a_virtual_environment_or_cache_of_any_name_is_left_out(tmp_path: Path, marker: str) -> None:
    write(tmp_path, mine__a_py="needle", b_py="needle")
    (tmp_path / "mine" / marker).write_text("needle")
    assert paths(tmp_path) == ["b.py"]


@pytest.mark.parametrize(
    "name",
    """.env .env.local .ENV server.pem id_rsa id_ed25519.pub tls.key .netrc .npmrc credentials credentials.json
    credentials-prod.json secrets.yaml service_account.json""".split(),
)
def test_names_that_hold_secrets_are_never_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / name).write_text("needle=1")
    write(tmp_path, env_md="needle", keys_py="needle", secret_py="needle")
    assert paths(tmp_path) == ["env.md", "keys.py", "secret.py"]
    assert is_denied(f"sub/{name}")
    assert is_denied(f"C:\\sub\\{name.upper()}")


def test_everything_in_a_folder_of_secrets_is_denied() -> None:
    assert is_denied(".ssh/config")
    assert is_denied("home/.aws/config")
    assert not is_denied("src/environment.py")


def test_a_private_key_under_another_name_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, deploy_txt="-----BEGIN OPENSSH PRIVATE KEY-----\nneedle\n", a_txt="needle")
    assert paths(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("data", [b"needle\0text", b"\xff\xfen\0e\0", b"needle caf\xe9", b""])
def test_what_is_not_text_is_left_out(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbfneedle with a mark")
    found = search(FolderIndex(tmp_path))
    assert [(place.label, place.lines) for place in found.places] == [("b.txt:1", ("needle with a mark",))]
    assert found.n_files == 1


def test_a_file_over_the_limit_is_left_out(tmp_path: Path) -> None:
    text = "needle\n" + "x" * MAX_FILE_BYTES
    write(tmp_path, big_txt=text[: MAX_FILE_BYTES + 1], fits_txt=text[:MAX_FILE_BYTES])
    assert paths(tmp_path) == ["fits.txt"]


@pytest.mark.parametrize(("limit", "value"), [("MAX_FILES", 2), ("MAX_TOTAL_BYTES", 16), ("MAX_ENTRIES", 2)])
def test_of_a_folder_that_is_too_large_a_part_is_searched_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    write(tmp_path, a_txt="needle", b_txt="needle", sub__c_txt="needle")
    monkeypatch.setattr(folder_index, limit, value)
    assert paths(tmp_path) == ["a.txt", "b.txt"]
    assert search(FolderIndex(tmp_path)).is_partial


def test_a_folder_that_just_fits_is_searched_whole_whatever_else_lies_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a_txt="needle", c_txt="needle")
    (tmp_path / "b.png").write_bytes(b"\0" * 100)
    monkeypatch.setattr(folder_index, "MAX_FILES", 2)
    monkeypatch.setattr(folder_index, "MAX_TOTAL_BYTES", 112)
    index = FolderIndex(tmp_path)
    for _ in range(2):
        found = search(index)
        assert (len(found.places), found.is_partial) == (2, False)


def test_what_becomes_too_much_is_found_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a_txt="needle", b_txt="needle")
    index = FolderIndex(tmp_path)
    assert len(search(index).places) == 2
    monkeypatch.setattr(folder_index, "MAX_FILES", 1)
    found = search(index)
    assert (found.n_files, len(found.places), found.is_partial) == (1, 1, True)


@needs_links
def test_links_are_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, a_txt="needle mine")
    write(outside, secret_txt="needle theirs")
    (root / "file.txt").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    assert paths(root) == ["a.txt"]


@needs_links
def test_a_folder_reached_by_a_link_can_be_the_root(tmp_path: Path) -> None:
    write(tmp_path / "real", a_txt="needle mine")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert paths(tmp_path / "link") == ["a.txt"]


@needs_links
@pytest.mark.parametrize("swapped", ["sub", "sub/a.txt"])
def test_a_link_put_in_place_after_the_look_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, sub__a_txt="needle mine")
    write(outside, a_txt="needle theirs")
    index = FolderIndex(root)
    read = index._read

    def swap_then_read(parts: tuple[str, ...]) -> str | None:
        if not (tmp_path / "moved").exists():
            (root / swapped).rename(tmp_path / "moved")
            (root / swapped).symlink_to(outside if swapped == "sub" else outside / "a.txt")
        return read(parts)

    monkeypatch.setattr(index, "_read", swap_then_read)
    assert search(index).places == ()


@needs_links
@pytest.mark.parametrize("can_step", [True, False])
def test_a_link_on_the_way_is_refused_with_and_without_stepping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_step: bool
) -> None:
    monkeypatch.setattr(folder_handles, "CAN_STEP", can_step)
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, real__a_txt="needle mine")
    write(outside, a_txt="needle theirs")
    (root / "sub").symlink_to(outside)
    assert paths(root) == ["real/a.txt"]
    with pytest.raises(OSError, match=r"sub"):
        folder_handles.open_below(str(root), ("sub", "a.txt"), folder_handles.Kind.FILE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_stop_the_reader(tmp_path: Path) -> None:
    write(tmp_path, a_txt="needle")
    os.mkfifo(tmp_path / "pipe.txt")
    assert paths(tmp_path) == ["a.txt"]


def test_a_changed_file_is_indexed_anew_and_an_unchanged_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a_txt="old needle", b_txt="same needle")
    index = FolderIndex(tmp_path)
    search(index)
    indexed: list[str] = []
    put = TextIndex.put

    def counting(own: TextIndex, path: str, identity: Identity, text: str | None) -> None:
        indexed.append(path)
        put(own, path, identity, text)

    monkeypatch.setattr(TextIndex, "put", counting)
    write(tmp_path, a_txt="a newer needle")
    assert {place.lines for place in search(index).places} == {("a newer needle",), ("same needle",)}
    assert indexed == ["a.txt"]


def test_a_file_that_was_rewritten_with_its_size_and_its_time_of_modification_is_indexed_anew(tmp_path: Path) -> None:
    write(tmp_path, a_txt="the harbor")
    before = (tmp_path / "a.txt").stat()
    index = FolderIndex(tmp_path)
    assert search(index, "harbor").places
    after = before
    while after.st_ctime_ns == before.st_ctime_ns:  # the clock of a file system may be coarse
        (tmp_path / "a.txt").write_text("the garden", "utf-8")
        os.utime(tmp_path / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
        after = (tmp_path / "a.txt").stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert [place.lines for place in search(index, "garden").places] == [("the garden",)]


def test_files_that_go_away_are_gone(tmp_path: Path) -> None:
    write(tmp_path, a_txt="needle", b_txt="needle")
    index = FolderIndex(tmp_path)
    assert search(index).n_files == 2
    (tmp_path / "a.txt").unlink()
    assert [place.label for place in search(index).places] == ["b.txt:1"]
    assert search(FolderIndex(tmp_path / "nowhere")) == Found((), 0)


@pytest.mark.parametrize("change", ["delete", "rewrite", "lines above"])
def test_a_file_that_changes_between_the_search_and_the_quote_is_not_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    write(tmp_path, a_txt="needle", b_txt="needle in hay")
    index = FolderIndex(tmp_path)
    marked_lines = TextIndex.marked_lines

    def change_then_mark(own: TextIndex, *asked: object) -> list[str]:
        if change == "delete":
            (tmp_path / "a.txt").unlink(missing_ok=True)
        else:
            write(tmp_path, a_txt="other" if change == "rewrite" else "one more line\nneedle")
        return marked_lines(own, *asked)  # type: ignore[arg-type]

    monkeypatch.setattr(TextIndex, "marked_lines", change_then_mark)
    assert [place.label for place in search(index).places] == ["b.txt:1"]


def test_a_search_that_is_given_up_ends_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a_txt="needle", b_txt="needle", c_txt="needle")
    index = FolderIndex(tmp_path)
    is_given_up, read, opened = threading.Event(), index._read, list[tuple[str, ...]]()

    def read_one(parts: tuple[str, ...]) -> str | None:
        opened.append(parts)
        is_given_up.set()
        return read(parts)

    monkeypatch.setattr(index, "_read", read_one)
    assert index.search(search_terms("needle"), is_given_up) == Found((), 1, is_partial=False)
    assert [place.path for place in search(index).places] == ["a.txt", "b.txt", "c.txt"]
    assert opened[:3] == [("a.txt",), ("b.txt",), ("c.txt",)]


def test_two_threads_may_search_at_once(tmp_path: Path) -> None:
    write(tmp_path, **{f"f{i}_txt": "needle " * i for i in range(1, 60)})
    index = FolderIndex(tmp_path)
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(search(index).n_files)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert results == [59] * 4


def test_a_quote_stands_under_the_line_it_begins_at(tmp_path: Path) -> None:
    write(tmp_path, **{"src__a_py": "\n" * 57 + "def needle():\r\n    return 1\r\n"})
    (place,) = search(FolderIndex(tmp_path)).places
    assert (place.label, place.lines) == ("src/a.py:58", ("def needle():", "    return 1"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wo wird der HimmelSpeicher geleert?", "himmel.py"),
        ("où est la réponse?", "reponse.md"),
        ("服务器如何重新連接\uff1f", "net.txt"),
        ("How is the sky store cleared?", None),
    ],
)
def test_a_question_in_any_language_finds_its_words(tmp_path: Path, question: str, expected: str | None) -> None:
    write(tmp_path, himmel_py="class HimmelSpeicher:\n    pass\n", reponse_md="La réponse.\n", net_txt="它會重新連接\n")
    found = [place.path for place in search(FolderIndex(tmp_path), question).places]
    assert found[:1] == [expected] if expected else found == []
