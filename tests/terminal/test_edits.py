"""An edit is made in files whole or not at all, to the character, and never over what somebody wrote meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.lsp.runtime.documents import split_lines
from palimpsest.terminal import exchange
from palimpsest.terminal.edits import Edits

Json = dict[str, Any]
MARK = b"\xef\xbb\xbf"
ANYWHERE = pytest.mark.skipif(os.name == "nt", reason="Needs links and modes as on POSIX.")


class Desk:
    """A folder, and what its server asks for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.edits = Edits(root)

    def apply(self, *changes: Json, computed_from: dict[str, str]) -> str | None:
        """The reason why the edit was not made; None when it was."""
        digests = {self.uri(name): hashlib.sha256(text.encode()).hexdigest() for name, text in computed_from.items()}
        params = {"edit": {"documentChanges": list(changes)}, "palimpsest": {"digests": digests}}
        answer = asyncio.run(self.edits.apply(params))
        assert answer["applied"] is ("failureReason" not in answer)
        return answer.get("failureReason")

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def changed(self, name: str, text: str, *replacements: tuple[int, int, str]) -> Json:
        """The replacements of [start, end) of a text, as the server sends them."""
        edits = [
            {"range": {"start": position(text, start), "end": position(text, end)}, "newText": new}
            for start, end, new in replacements
        ]
        return {"textDocument": {"uri": self.uri(name), "version": None}, "edits": edits}

    def created(self, name: str) -> Json:
        options = {"overwrite": False, "ignoreIfExists": False}
        return {"kind": "create", "uri": self.uri(name), "options": options}

    def deleted(self, name: str) -> Json:
        return {"kind": "delete", "uri": self.uri(name), "options": {"ignoreIfNotExists": True}}

    def replace(self, name: str, old: str, new: str, *, computed_from: str | None = None) -> str | None:
        text = computed_from or (self.root / name).read_bytes().removeprefix(MARK).decode()
        start = text.index(old)
        change = self.changed(name, text, (start, start + len(old), new))
        return self.apply(change, computed_from={name: text})

    def state(self) -> dict[str, bytes]:
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in self.root.rglob("*.*")}


def position(text: str, offset: int) -> Json:
    lines = split_lines(text[:offset])
    if lines and not lines[-1].endswith(("\n", "\r")):
        return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}
    return {"line": len(lines), "character": 0}


@contextmanager
def happening_before(name: str, event: Callable[[], object]) -> Iterator[None]:
    """Something happens before this function of `os` is called the first time."""
    real, events = getattr(os, name), [event]

    def called(*arguments: Any, **more: Any) -> Any:
        if events:
            events.pop()()
        return real(*arguments, **more)

    with mock.patch.object(os, name, called):
        yield


@contextmanager
def taking_places(event: Callable[[Path], object]) -> Iterator[None]:
    """The event happens each time right before a text takes the place of another, with its path."""
    real = exchange.swap

    def called(one: Path, other: Path) -> bool:
        event(other)
        return real(one, other)

    with mock.patch.object(exchange, "swap", called):
        yield


@pytest.fixture(params=["exchange", "replace"])
def desk(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """With files that change places in one moment, and on a system that cannot do that."""
    if request.param == "replace":
        monkeypatch.setattr(exchange, "swap", lambda new, path: False)
    root = tmp_path / "a folder é #1"
    root.mkdir()
    return Desk(root)


PIECES = st.sampled_from(["a", "é", "😀", "\n", "\r\n", "\r", "\u2028", "\f", " ", "word"])


@given(st.data())
def test_positions_count_as_the_protocol_does(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(PIECES, max_size=20))).replace("\r\r\n", "\r\n")
    inside = {at + 1 for at in range(len(text)) if text.startswith("\r\n", at)}
    allowed = st.sampled_from([at for at in range(len(text) + 1) if at not in inside])
    cuts = sorted(data.draw(st.lists(allowed, min_size=2, max_size=6, unique=True) if text else st.just([0, 0])))
    replacements = [
        (start, end, data.draw(st.sampled_from(["", "X", "new\n", "😀"])))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    has_mark = data.draw(st.booleans())
    desk = Desk(tmp_path_factory.mktemp("folder").resolve())
    mark = MARK if has_mark else b""
    (desk.root / "a.txt").write_bytes(mark + text.encode())
    assert desk.apply(desk.changed("a.txt", text, *reversed(replacements)), computed_from={"a.txt": text}) is None
    wanted, end = "", 0
    for start, stop, new in replacements:
        wanted, end = wanted + text[end:start] + new, stop
    assert desk.state() == {"a.txt": mark + (wanted + text[end:]).encode()}


@ANYWHERE
def test_a_file_keeps_its_mode_and_nothing_is_left_beside_it(desk: Desk) -> None:
    path = desk.root / "run.sh"
    path.write_bytes(b"echo one")
    path.chmod(0o750)
    os.utime(path, (1, 1))
    assert desk.replace("run.sh", "one", "two") is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert path.stat().st_mtime > 1
    assert [each.name for each in desk.root.iterdir()] == ["run.sh"]


def test_another_encoding_is_left_as_it_is(desk: Desk) -> None:
    for data in ("größe".encode("latin-1"), "größe".encode("utf-16"), b"\0\xff"):
        (desk.root / "a.txt").write_bytes(data)
        refused = desk.replace("a.txt", "e", "E", computed_from="größe")
        assert refused == "a.txt is not UTF-8 text, so it is not changed."
        assert desk.state() == {"a.txt": data}


def test_new_files_are_made_and_removed(desk: Desk) -> None:
    new = [desk.created("new é.py"), desk.changed("new é.py", "", (0, 0, "one\n"))]
    assert desk.apply(*new, computed_from={}) is None
    assert desk.state() == {"new é.py": b"one\n"}
    usual = desk.root / "usual"
    usual.touch()
    assert (desk.root / "new é.py").stat().st_mode == usual.stat().st_mode
    assert "has changed meanwhile" in (desk.apply(*new, computed_from={}) or "")
    assert "has changed meanwhile" in (desk.apply(desk.deleted("new é.py"), computed_from={"new é.py": "two\n"}) or "")
    assert desk.apply(desk.deleted("new é.py"), computed_from={"new é.py": "one\n"}) is None
    assert desk.apply(desk.deleted("new é.py"), computed_from={"new é.py": "one\n"}) is None
    assert desk.state() == {}


def test_a_new_file_brings_the_folders_that_it_lies_in(desk: Desk) -> None:
    new = [desk.created("src/new/a.py"), desk.changed("src/new/a.py", "", (0, 0, "one\n"))]
    with mock.patch.object(exchange, "swap", side_effect=OSError(28, "No space left on device")):
        assert "No space left" in (desk.apply(*new, computed_from={}) or "")
    assert list(desk.root.iterdir()) == []

    assert desk.apply(*new, computed_from={}) is None
    assert desk.state() == {"src/new/a.py": b"one\n"}


def test_what_was_written_since_the_question_is_not_overwritten(desk: Desk) -> None:
    path = desk.root / "a.py"
    path.write_text("one\nmine\n")
    assert desk.replace("a.py", "one", "1", computed_from="one\n") == (
        "a.py has changed meanwhile, so nothing was written. Read it again."
    )
    params = {"edit": {"documentChanges": [desk.changed("a.py", "one\nmine\n", (0, 3, "1"))]}}
    assert "has changed" in asyncio.run(desk.edits.apply(params))["failureReason"], "no digest was given"
    with happening_before("utime", lambda: path.write_text("at the last moment\n")):
        assert "has changed meanwhile" in (desk.replace("a.py", "one", "1") or "")
    if os.name != "nt":
        events = [lambda: path.write_text("after the last look\n")]
        with taking_places(lambda _: events and events.pop()()):
            assert "has changed meanwhile" in (desk.replace("a.py", "last", "1") or "")
        assert desk.state() == {"a.py": b"after the last look\n"}
    with happening_before("utime", path.unlink):
        assert "cannot be written" in (desk.replace("a.py", "last", "1") or "")
    assert desk.state() == {}, "a file that its user removed is not made again"


def test_a_file_that_is_saved_right_before_it_is_removed_stays(desk: Desk) -> None:
    path, saved = desk.root / "a.py", desk.root.parent / "saved"

    def save() -> None:
        saved.write_text("mine\n")
        saved.replace(path)

    for event in (save, lambda: path.write_text("mine\n")):
        path.write_text("one\n")
        with happening_before("replace", event):
            refused = desk.apply(desk.deleted("a.py"), computed_from={"a.py": "one\n"})
        assert "has changed meanwhile" in (refused or "")
        assert desk.state() == {"a.py": b"mine\n"}
        assert [each.name for each in desk.root.iterdir()] == ["a.py"]


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="Needs files that change places in one moment.")
def test_a_file_that_is_saved_by_another_one_in_its_place_right_before_an_edit_is_given_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path.resolve())
    path, saved = desk.root / "a.py", tmp_path / "saved"
    saves: list[str] = []

    def save(_: Path) -> None:
        if saves:
            saved.write_text(saves.pop())
            saved.replace(path)

    for newer in ([], ["saved again\n"]):
        path.write_text("one\n")
        saves[:] = [*newer, "saved\n"]
        with taking_places(save):
            assert "has changed meanwhile" in (desk.replace("a.py", "one", "1") or "")
        assert desk.state() == {"a.py": (newer[0] if newer else "saved\n").encode()}
        assert [each.name for each in desk.root.iterdir()] == ["a.py"]
    path.write_text("one\n")
    with taking_places(lambda _: path.unlink()):
        assert "cannot be written" in (desk.replace("a.py", "one", "1") or "")
    assert desk.state() == {}, "a file that its user removed is not made again"


def test_a_name_that_is_taken_at_the_last_moment_stays_with_who_took_it(desk: Desk) -> None:
    path = desk.root / "new.py"
    new = [desk.created("new.py"), desk.changed("new.py", "", (0, 0, "one\n"))]
    for moment in ("access", "utime"):
        with happening_before(moment, lambda: path.write_text("mine\n")):
            assert "has changed meanwhile" in (desk.apply(*new, computed_from={}) or "")
        assert desk.state() == {"new.py": b"mine\n"}
        path.unlink()


def test_of_several_files_all_are_changed_or_none(desk: Desk) -> None:
    before = {"a.py": "one\n", "b.py": "one\n", "c.py": "one\n"}
    for name, text in before.items():
        (desk.root / name).write_text(text)
    was = desk.state()

    def change() -> str | None:
        return desk.apply(
            desk.changed("a.py", "one\n", (0, 3, "1")),
            desk.created("new.py"),
            desk.changed("new.py", "", (0, 0, "new\n")),
            desk.deleted("b.py"),
            desk.changed("c.py", "one\n", (0, 3, "1")),
            computed_from=before,
        )

    def full(path: Path) -> None:
        if path.name == "c.py":
            raise OSError(28, "No space left on device")

    with taking_places(full):
        assert change() == "c.py cannot be written: No space left on device. Nothing was changed."
    assert desk.state() == was

    def full_while_somebody_types(path: Path) -> None:
        if path.name == "c.py":
            (desk.root / "a.py").write_text("1\nmine\n")
        full(path)

    with taking_places(full_while_somebody_types):
        assert "a.py had been written already and could not be put back." in (change() or "")
    assert desk.state() == was | {"a.py": b"1\nmine\n"}
    (desk.root / "a.py").write_text("one\n")
    assert change() is None
    assert desk.state() == {"a.py": b"1\n", "new.py": b"new\n", "c.py": b"1\n"}


@ANYWHERE
def test_links_are_written_through_inside_the_folder_and_never_out_of_it(desk: Desk, tmp_path: Path) -> None:
    (desk.root / "real.py").write_text("one\n")
    (desk.root / "link.py").symlink_to("real.py")
    outside = tmp_path / "outside.py"
    outside.write_text("one\n")
    (desk.root / "out.py").symlink_to(outside)
    (desk.root / "away").symlink_to(tmp_path)
    assert desk.replace("link.py", "one", "1") is None
    assert (desk.root / "link.py").is_symlink()
    assert (desk.root / "real.py").read_text() == "1\n"
    for name in ("out.py", "away/outside.py", "../outside.py"):
        assert "lies outside the folder" in (desk.replace(name, "one", "1", computed_from="one\n") or "")
        assert "lies outside the folder" in (desk.apply(desk.deleted(name), computed_from={name: "one\n"}) or "")
    assert "lies outside" in (desk.apply(desk.created("away/new.py"), computed_from={}) or "")
    assert desk.apply(desk.deleted("link.py"), computed_from={"link.py": "1\n"}) == (
        "A link leads to real.py, so it is not removed."
    )
    assert outside.read_text() == "one\n"
    inner = desk.root / "inner"
    inner.mkdir()
    (inner / "outside.py").write_text("one\n")

    def swap() -> None:
        inner.rename(desk.root / "moved")
        (desk.root / "inner").symlink_to(tmp_path)

    with happening_before("access", swap):
        assert desk.replace("inner/outside.py", "one", "1") is not None
    assert outside.read_text() == "one\n"


@ANYWHERE
def test_what_is_no_file_of_its_own_is_left(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("one\n")
    os.link(tmp_path / "other.py", desk.root / "twice.py")
    os.mkfifo(desk.root / "pipe.py")
    (desk.root / "folder.py").mkdir()
    assert "hard links" in (desk.replace("twice.py", "one", "1", computed_from="one\n") or "")
    for name in ("pipe.py", "folder.py"):
        assert "no regular file" in (desk.replace(name, "one", "1", computed_from="one\n") or "")
        assert "no regular file" in (desk.apply(desk.deleted(name), computed_from={}) or "")
    assert "cannot be written" in (desk.apply(desk.created("twice.py/new.py"), computed_from={}) or "")


def test_a_read_only_file_is_left(desk: Desk) -> None:
    (desk.root / "a.py").write_text("one\n")
    with mock.patch.object(os, "access", lambda path, mode: mode != os.W_OK):  # root may write everything
        assert desk.replace("a.py", "one", "1") == "a.py is read-only, so it is not changed."


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "rename", "oldUri": "x", "newUri": "y"},
        {"kind": "copy", "uri": "ROOT/a.py"},
        {"textDocument": {"uri": "untitled:a.py"}, "edits": []},
        {"textDocument": {"uri": "file://elsewhere/a.py"}, "edits": []},
        {"textDocument": {"uri": "ROOT/a.py"}, "edits": [{"range": {}, "newText": ""}]},
        {"textDocument": {"uri": "ROOT/a.py"}, "edits": 5},
        {"kind": "delete", "uri": "ROOT/\udc80.py"},
        *(
            {
                "textDocument": {"uri": "ROOT/a.py"},
                "edits": [
                    {"range": {"start": {"line": a, "character": b}, "end": {"line": 0, "character": c}}, "newText": ""}
                    for a, b, c in places
                ],
            }
            for places in ([(-1, 0, 0)], [(0, -1, 0)], [(0, 2, 1)], [(0, 0, 2), (0, 1, 3)])
        ),
    ],
)
def test_what_does_not_fit_is_refused(desk: Desk, change: Json) -> None:
    (desk.root / "a.py").write_text("one\n")

    def here(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: here(each) for key, each in value.items()}
        return value.replace("ROOT", desk.root.as_uri()) if isinstance(value, str) else value

    assert desk.apply(here(change), computed_from={"a.py": "one\n"}) is not None
    assert desk.state() == {"a.py": b"one\n"}


async def test_one_edit_after_the_other_and_what_is_stopped_before_it_begins_is_not_made(desk: Desk) -> None:
    text = "0"
    (desk.root / "a.py").write_text(text)
    asked = []
    for number in range(1, 21):
        digest = hashlib.sha256(str(number - 1).encode()).hexdigest()
        change = desk.changed("a.py", str(number - 1), (0, len(str(number - 1)), str(number)))
        params = {"edit": {"documentChanges": [change]}, "palimpsest": {"digests": {desk.uri("a.py"): digest}}}
        asked.append(asyncio.ensure_future(desk.edits.apply(params)))
    await asyncio.sleep(0)
    asked[-1].cancel()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert answers[:-1] == [{"applied": True}] * 19
    assert isinstance(answers[-1], asyncio.CancelledError)
    assert (desk.root / "a.py").read_text() in ("19", "20")
