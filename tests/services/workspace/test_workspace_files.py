"""A tool reads nothing outside the workspace folder, no secret and nothing ignored, whatever a path says or somebody
swaps meanwhile; and it is told why."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.properties import examples

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.services.workspace import handles as folder_handles
from palimpsest.services.workspace.files import MAX_DEPTH, MAX_FILE_BYTES, MAX_LINKS, Place, PlaceKind, WorkspaceFiles

needs_links = pytest.mark.skipif(not folder_handles.CAN_STEP, reason="needs links, and folders opened step by step")


def write(root: Path, *paths: str, text: str = "inside") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Beside it lies a folder that nobody may see, and one whose name begins as the root's does."""
    write(tmp_path, "outside/secret.txt", "rootless/secret.txt", text="OUTSIDE")
    write(tmp_path, "root/src/a.py", "root/b.txt")
    return tmp_path / "root"


@pytest.fixture(params=[True, False], ids=["stepping", "whole paths"])
def files(request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch) -> WorkspaceFiles:
    """With and without the system's help to open folders step by step."""
    monkeypatch.setattr(folder_handles, "CAN_STEP", request.param and folder_handles.CAN_STEP)
    return WorkspaceFiles(root)


def read(files: WorkspaceFiles, path: str) -> str:
    return files.read(files.locate(path)).decode()


def refused(files: WorkspaceFiles, path: str, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason) as caught:
        read(files, path)
    assert "OUTSIDE" not in str(caught.value)


@pytest.mark.parametrize("path", ["src/a.py", "./src/a.py", "src//a.py", "src/./a.py", "src/a.py/"])
def test_a_path_below_the_folder_is_read(files: WorkspaceFiles, path: str) -> None:
    assert files.locate(path) == Place(("src", "a.py"), PlaceKind.FILE)
    assert read(files, path) == "inside"


def test_an_absolute_path_inside_the_folder_is_read(files: WorkspaceFiles, root: Path) -> None:
    assert read(files, str(root / "src" / "a.py")) == "inside"
    assert files.locate(str(root)) == Place((), PlaceKind.FOLDER)


@needs_links
def test_a_folder_opened_by_a_link_is_known_by_both_its_paths(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    files = WorkspaceFiles(link)
    for path in (link / "b.txt", root / "b.txt", "b.txt"):
        assert read(files, str(path)) == "inside"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("..", r"`\.\.`"),
        ("../outside/secret.txt", r"`\.\.`"),
        ("src/../../outside/secret.txt", r"`\.\.`"),
        ("src/../b.txt", r"`\.\.`"),
        ("missing/../../outside/secret.txt", r"`\.\.`"),
        ("/etc/passwd", "outside"),
        ("/proc/self/environ", "outside"),
        ("/proc/self/root/etc/passwd", "outside"),
        ("//etc/passwd", "outside"),
        ("/dev/zero", "outside"),
        ("~/.bashrc", "home folder"),
        ("~", "home folder"),
        ("file:///etc/passwd", "is a URI"),
        ("FILE:/etc/passwd", "is a URI"),
        ("vscode-remote://host/etc/passwd", "is a URI"),
        ("src\\a.py", "backslash"),
        ("..\\outside\\secret.txt", "backslash"),
        ("b.txt\0.png", "characters"),
        ("b.txt\n", "characters"),
        ("\ud800", "characters"),
        ("a/" * 3000, "longer than"),
        ("x" * 300, "There is no"),
        (".", "is a folder"),
        ("src", "is a folder"),
        ("b.txt/deeper", "There is no"),
        ("nowhere.txt", "There is no"),
        ("nowhere/at/all.txt", "There is no"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths of other systems")
def test_a_path_that_means_nothing_inside_is_refused_with_the_reason(
    files: WorkspaceFiles, path: str, reason: str
) -> None:
    refused(files, path, reason)


def test_a_folder_that_only_begins_like_the_root_is_outside(files: WorkspaceFiles, root: Path) -> None:
    refused(files, f"{root}less/secret.txt", "outside")
    refused(files, f"{root}/../outside/secret.txt", r"`\.\.`")


def test_a_file_of_a_folder_that_is_to_be_made_has_a_place_unless_it_would_be_left_out(
    files: WorkspaceFiles, root: Path
) -> None:
    write(root, ".gitignore", text="made/\n*.log\n")
    write(root, "file.txt")
    assert files.locate("new/deep/a.py") == Place(("new", "deep", "a.py"), PlaceKind.MISSING)
    for path in ("new/made/a.py", "new/a.log", "new/node_modules/a.js"):
        refused(files, path, "ignored")
    refused(files, "new/.git/hooks/a", "never read")
    refused(files, "a/" * MAX_DEPTH + "b", "folders deep")
    with pytest.raises(NotFound):
        files.locate("file.txt/a.py")


@pytest.mark.parametrize("path", ["%2e%2e/outside/secret.txt", "..%2foutside%2fsecret.txt", "src%2Fa.py", "b%2Etxt"])
def test_percent_signs_are_never_decoded(files: WorkspaceFiles, root: Path, path: str) -> None:
    with pytest.raises(NotFound):
        read(files, path)
    write(root, "100%25.txt", text="as it is written")
    assert read(files, "100%25.txt") == "as it is written"


DENIED = (
    ".git/config",
    ".env",
    ".env.local",
    "sub/.env.production",
    "id_rsa",
    "id_ed25519.pub",
    "server.pem",
    "tls.key",
    ".ssh/config",
    ".palimpsest/state",
)


@pytest.mark.parametrize("change", [str, str.upper, str.title], ids=["plain", "upper", "title"])
def test_denied_names_are_refused_in_any_case(files: WorkspaceFiles, root: Path, change: Callable[[str], str]) -> None:
    for path in DENIED:
        write(root, change(path), text="OUTSIDE")
        refused(files, change(path), "never read")


@pytest.mark.parametrize(
    "path",
    [
        ".g\u200cit/config",
        "GIT~1/config",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        ".\uff45nv",
    ],
)
def test_other_spellings_of_a_denied_name_are_refused(files: WorkspaceFiles, path: str) -> None:
    refused(files, path, "never read")


@pytest.mark.parametrize("path", [".env.example", ".gitignore", ".github/ci.yml", "environment.py", "monkey.py"])
def test_names_that_only_look_like_secrets_are_read(files: WorkspaceFiles, root: Path, path: str) -> None:
    write(root, path, text="")
    assert read(files, path) == ""


@pytest.mark.parametrize("path", ["out/a.txt", "keys.txt", "src/keys.txt", "keys.txt/deeper", "sub/own.log", "out"])
def test_what_is_ignored_is_refused_whether_it_is_there_or_not(files: WorkspaceFiles, root: Path, path: str) -> None:
    write(root, "out/a.txt", "keys.txt", "sub/other.txt", text="OUTSIDE")
    write(root, ".gitignore", text="out/\nkeys.txt\n*.log\n")
    write(root, "sub/.gitignore", text="own.*\n")
    refused(files, path, "ignored")


def test_the_deepest_ignore_file_decides(files: WorkspaceFiles, root: Path) -> None:
    write(root, ".gitignore", text="*.log\n")
    write(root, "sub/.gitignore", text="!kept.log\n")
    write(root, "sub/kept.log")
    assert read(files, "sub/kept.log") == "inside"


@pytest.mark.parametrize("folder", ["node_modules", ".venv", "__pycache__", "sub/node_modules/deep"])
def test_folders_of_tools_are_refused(files: WorkspaceFiles, root: Path, folder: str) -> None:
    write(root, f"{folder}/a.py", text="OUTSIDE")
    refused(files, f"{folder}/a.py", "belongs to a tool")


def test_a_virtual_environment_of_any_name_is_refused(files: WorkspaceFiles, root: Path) -> None:
    write(root, "mine/pyvenv.cfg", "mine/a.py", text="OUTSIDE")
    refused(files, "mine/a.py", "virtual environment")


def test_a_name_that_the_folder_does_not_list_is_never_opened(files: WorkspaceFiles, root: Path) -> None:
    """A file system that does not mind case would open an ignored file by another spelling of its name."""
    place = files.locate("B.txt")
    assert place.kind is PlaceKind.MISSING
    write(root, "B.txt")
    with pytest.raises(NotFound):
        files.read(place)


@needs_links
@pytest.mark.parametrize(
    ("link", "target", "asked"),
    [
        ("a.txt", "b.txt", "a.txt"),
        ("deep/a.txt", "../b.txt", "deep/a.txt"),
        ("deep/out-and-in", "../src/../src", "deep/out-and-in/a.py"),
        ("folder", "src/", "folder/a.py"),
        ("absolute", "{root}/src", "absolute/a.py"),
        ("deep/absolute", "{root}/src", "deep/absolute/a.py"),
        ("self", ".", "self/self/self/b.txt"),
    ],
)
def test_a_link_that_stays_inside_is_resolved(root: Path, link: str, target: str, asked: str) -> None:
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(target.format(root=root))
    place = WorkspaceFiles(root).locate(asked)
    assert place.path in ("b.txt", "src/a.py")
    assert read(WorkspaceFiles(root), asked) == "inside"


@needs_links
@pytest.mark.parametrize(
    ("target", "asked", "reason"),
    [
        ("../outside/secret.txt", "link", "leads out"),
        ("../outside", "link/secret.txt", "leads out"),
        ("{root}/../outside", "link/secret.txt", "leads out"),
        ("src/../../outside/secret.txt", "link", "leads out"),
        ("../root/b.txt", "link", "leads out"),
        ("/etc/passwd", "link", "leads out"),
        ("/proc/self/environ", "link", "leads out"),
        ("/", "link/etc/passwd", "leads out"),
        ("link", "link", "too many links"),
        ("link/../b.txt", "link", "too many links"),
        (".git/config", "link", "never read"),
        (".env", "link", "never read"),
        ("ignored.txt", "link", "ignored"),
        ("nowhere", "link", "There is no"),
    ],
)
def test_a_link_to_what_may_not_be_read_is_refused(root: Path, target: str, asked: str, reason: str) -> None:
    write(root, ".git/config", ".env", "ignored.txt", text="OUTSIDE")
    write(root, ".gitignore", text="ignored.txt\n")
    (root / "link").symlink_to(target.format(root=root))
    refused(WorkspaceFiles(root), asked, reason)


@needs_links
def test_a_chain_of_links_is_followed_to_its_end_or_refused(root: Path) -> None:
    (root / "link0").symlink_to("b.txt")
    for i in range(1, MAX_LINKS + 1):
        (root / f"link{i}").symlink_to(f"link{i - 1}")
    files = WorkspaceFiles(root)
    assert read(files, f"link{MAX_LINKS - 1}") == "inside"
    refused(files, f"link{MAX_LINKS}", "too many links")


@needs_links
def test_without_stepping_no_link_is_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_handles, "CAN_STEP", False)
    (root / "link").symlink_to("b.txt")
    refused(WorkspaceFiles(root), "link", "not followed on this system")


@pytest.mark.skipif(not hasattr(os, "link"), reason="needs hard links")
def test_a_file_with_another_hard_link_is_refused(files: WorkspaceFiles, root: Path) -> None:
    os.link(root.parent / "outside" / "secret.txt", root / "mine.txt")
    refused(files, "mine.txt", "several hard links")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(files: WorkspaceFiles, root: Path) -> None:
    os.mkfifo(root / "pipe")
    refused(files, "pipe", "pipe")
    place = files.locate("b.txt")
    (root / "b.txt").unlink()
    os.mkfifo(root / "b.txt")
    with pytest.raises(InvalidRequest, match="not a regular file"):
        files.read(place)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs sockets in folders")
def test_a_socket_is_refused(files: WorkspaceFiles, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # the whole path may be too long for a socket
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("listening")
        refused(files, "listening", "socket")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("path", ["/proc/self/environ", "proc/self/environ", "dev/zero", "/sys/kernel"])
def test_where_the_folder_is_the_whole_system_its_machinery_is_refused(path: str) -> None:
    refused(WorkspaceFiles(Path("/")), path, "belongs to a tool")


def test_a_file_over_the_limit_is_refused(files: WorkspaceFiles, root: Path) -> None:
    with (root / "big.bin").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    refused(files, "big.bin", "larger than 32 MiB")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_file_that_holds_more_than_its_size_says_is_read_whole_and_limited() -> None:
    """As one that grows while it is read: what lies in /proc has size 0."""
    files = WorkspaceFiles(Path("/proc/self"))
    assert b"Threads:" in files.read_below(("status",), 64 * 1024)
    with pytest.raises(OSError, match="larger"):
        files.read_below(("status",), 16)


@needs_links
@pytest.mark.parametrize("swapped", ["src", "src/a.py"])
def test_a_link_put_in_place_after_the_look_is_not_followed(files: WorkspaceFiles, root: Path, swapped: str) -> None:
    write(root.parent, "outside/a.py", text="OUTSIDE")
    place = files.locate("src/a.py")
    (root / swapped).rename(root.parent / "moved")
    (root / swapped).symlink_to(root.parent / "outside" / ("a.py" if swapped != "src" else ""))
    with pytest.raises(InvalidRequest, match="cannot be read"):
        files.read(place)


@needs_links
@pytest.mark.parametrize("swapped", ["", "src", "src/a.py"])
def test_a_link_put_in_place_while_a_path_is_opened_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """The swap comes right before the part that it replaces is opened, the last moment that matters."""
    write(root.parent, "outside/a.py", "outside/src/a.py", text="OUTSIDE")
    place = WorkspaceFiles(root).locate("src/a.py")
    open_for_real, todo = os.open, [root / swapped]

    def open_late(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if todo and path in (str(todo[0]), todo[0].name):
            victim = todo.pop()
            victim.rename(root.parent / "moved")
            victim.symlink_to(root.parent / "outside" / ("a.py" if swapped == "src/a.py" else ""))
        return open_for_real(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_late)
    with pytest.raises(InvalidRequest, match="cannot be read"):
        WorkspaceFiles(root).read(place)
    assert not todo


@needs_links
def test_whoever_swaps_all_the_time_gets_no_byte_from_outside(root: Path) -> None:
    write(root.parent, "outside/a.py", text="OUTSIDE")
    done = threading.Event()
    n_swaps = 0

    def swap() -> None:
        nonlocal n_swaps
        while not done.is_set():
            for one, other in (("src", "real"), ("spare", "src"), ("src", "spare"), ("real", "src")):
                os.rename(root / one, root / other)
            n_swaps += 1

    (root / "spare").symlink_to(root.parent / "outside")
    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[str] = set()
    try:
        for _ in range(300):
            try:
                seen.add(read(WorkspaceFiles(root), "src/a.py"))
            except InvalidRequest:
                seen.add("refused")
            for found in WorkspaceFiles(root).walk():
                assert found.path in ("src", "real", "src/a.py", "real/a.py", "b.txt")
    finally:
        done.set()
        swapping.join(timeout=30)
    assert n_swaps > 0
    assert seen <= {"inside", "refused"}


def paths(files: WorkspaceFiles, *start: str, max_depth: int = 64) -> list[str]:
    return [found.path + "/" * found.is_folder for found in files.walk(start, max_depth=max_depth)]


def test_a_walk_goes_by_depth_and_then_by_name(files: WorkspaceFiles, root: Path) -> None:
    write(root, "a/deep/x.py", "a/y.py")
    assert paths(files) == ["a/", "b.txt", "src/", "a/deep/", "a/y.py", "src/a.py", "a/deep/x.py"]
    assert paths(files, max_depth=1) == ["a/", "b.txt", "src/"]
    assert paths(files, "a", max_depth=1) == ["a/deep/", "a/y.py"]


def test_a_walk_from_below_obeys_the_ignore_files_above(files: WorkspaceFiles, root: Path) -> None:
    write(root, ".gitignore", text="/src/deep/*.log\n")
    write(root, "src/deep/a.log", "src/deep/b.txt")
    assert paths(files, "src", "deep") == ["src/deep/b.txt"]


@needs_links
def test_a_walk_names_only_what_can_be_read(root: Path) -> None:
    write(root, *DENIED, "node_modules/x.js", "ignored.txt", "back\\slash.txt", "two\nlines.txt", "mine/CACHEDIR.TAG")
    write(root, ".gitignore", text="ignored.txt\n")
    (root / "link").symlink_to(root.parent / "outside")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe")
    files = WorkspaceFiles(root)
    assert paths(files) == [".gitignore", "b.txt", "mine/", "src/", "sub/", "src/a.py"]


def test_a_walk_that_is_too_long_ends_and_says_so(files: WorkspaceFiles, root: Path) -> None:
    write(root, *(f"many/{i}/x.txt" for i in range(20)))
    walk = files.walk(max_entries=10)
    assert len(list(walk)) < 30
    assert walk.is_truncated
    whole = files.walk()
    assert len(list(whole)) == 44
    assert not whole.is_truncated


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceFiles:
    base = tmp_path_factory.mktemp("hostile")
    write(base, "outside/a", "outside/src/a", "a", "src/a", text="OUTSIDE")
    write(base, "root/a", "root/src/a", "root/src/b", "root/%2e%2e/a", "root/~a")
    write(base, "root/.git/a", "root/.env", "root/ignored/a", "root/src/.env", text="OUTSIDE")
    write(base, "root/.gitignore", text="ignored\n")
    if folder_handles.CAN_STEP:
        for name, target in {
            "up": "..",
            "out": "../outside",
            "in": "src",
            "src/back": "..",
            "git": ".git",
            "abs": str(base / "outside"),
            "proc": "/proc/self/root",
            "loop": "loop",
        }.items():
            (base / "root" / name).symlink_to(target)
    return WorkspaceFiles(base / "root")


PIECES = st.sampled_from(
    """a b src in out up abs back git .git .GIT .env ignored loop proc .. . ~ %2e%2e %00 .gitignore outside root \\ : \0
    """.split(" ")
)


@examples(150)
@given(path=st.one_of(st.lists(PIECES, max_size=8).map("/".join), st.lists(PIECES).map("".join), st.text()))
@example(path="src/back/src/back/in/b")
def test_no_path_at_all_gets_a_byte_from_outside(hostile: WorkspaceFiles, path: str) -> None:
    for asked in (path, "/" + path, f"{hostile._root}/{path}"):
        try:
            data = read(hostile, asked)
        except InvalidRequest:
            continue
        assert data in ("inside", "ignored\n")
