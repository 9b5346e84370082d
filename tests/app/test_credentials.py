"""A stored key can be read by its user alone and by later servers, and what is said about keys never quotes one."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import pty
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from tests.clients.fake_gemini import KEY as GEMINI_KEY
from tests.clients.fake_gemini import FakeGemini
from tests.lsp.rawlsp import environment

from palimpsest.app.model_clients import check_key
from palimpsest.app.stored_keys import StoredKeys, environment_keys, find_keyring, stored_keys
from palimpsest.cli.main import main
from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.services.models.keys import Keys, KeySource

KEY, OTHER = "sk-planted-000111", "sk-other-222333"
NO_KEYRING = "keyring.backends.null.Keyring"
"""Keeps the keyring of whoever runs the tests out of them, where the package is installed."""


class Ring:
    """A keyring. `gets`, `sets` and `deletes` are called before it does anything."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self.gets: Callable[[], object] = lambda: None
        self.sets: Callable[[], object] = lambda: None
        self.deletes: Callable[[], object] = lambda: None

    def get_password(self, service: str, username: str) -> str | None:
        self.gets()
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.sets()
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self.deletes()
        del self.held[service, username]


def refuse() -> None:
    raise RuntimeError(f"locked; it was {KEY}")


@pytest.fixture
def in_files(tmp_path: Path) -> StoredKeys:
    return StoredKeys(tmp_path / "data" / "keys", lambda: None)


def keyring_of(ring: Ring | None, tmp_path: Path) -> StoredKeys:
    return StoredKeys(tmp_path / "data" / "keys", lambda: ring)


# ------------------------------------------------------------------------------------------------------------ storing


def test_a_file_holds_a_key_for_its_user_alone_and_the_user_is_told(in_files: StoredKeys) -> None:
    assert in_files.read() == {}
    assert not in_files.directory.exists()
    told = in_files.write("openai", KEY)
    (path,) = in_files.directory.iterdir()
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert str(path) in told
    assert "no keyring" in told
    in_files.write("openai", OTHER)
    in_files.write("gemini", KEY)
    assert in_files.read() == {"openai": OTHER, "gemini": KEY}
    assert (in_files.remove("openai"), in_files.remove("openai")) == (True, False)
    assert in_files.read() == {"gemini": KEY}


def test_what_a_keyring_holds_is_in_no_file(tmp_path: Path) -> None:
    ring = Ring()
    keys = keyring_of(ring, tmp_path)
    assert KEY not in keys.write("openai", KEY)
    assert KEY not in "".join(each.read_text() for each in keys.directory.iterdir())
    assert keys.read() == {"openai": KEY}
    assert keys.remove("openai")
    assert (ring.held, keys.read()) == ({}, {})


@pytest.mark.parametrize("fault", ["sets", "gets"])
def test_a_key_the_keyring_does_not_take_is_kept_in_a_file(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ring = Ring()
    setattr(ring, fault, refuse)
    keys = keyring_of(ring, tmp_path)
    assert "which only you can read" in keys.write("openai", KEY)
    assert keys.read() == {"openai": KEY}
    assert KEY not in caplog.text


def test_a_keyring_that_fails_hangs_or_is_gone_leaves_one_key_out_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ring, never = Ring(), threading.Event()
    keyring_of(None, tmp_path).write("gemini", OTHER)
    keyring_of(ring, tmp_path).write("openai", KEY)
    for now, gets in ((ring, refuse), (None, refuse), (ring, lambda: never.wait(60))):
        caplog.clear()
        ring.gets = gets
        keys = StoredKeys(tmp_path / "data" / "keys", lambda now=now: now, read_s=0.01)  # type: ignore[misc]  # mypy cannot infer a default's type here
        assert keys.read() == {"gemini": OTHER}
        assert "palimpsest login openai" in caplog.text
        assert KEY not in caplog.text
    never.set()


def test_a_key_that_the_keyring_does_not_give_up_is_not_said_to_be_removed(tmp_path: Path) -> None:
    ring = Ring()
    keys = keyring_of(ring, tmp_path)
    keys.write("openai", KEY)
    ring.deletes = refuse
    with pytest.raises(InvalidRequest, match="still in the system's keyring") as caught:
        keys.remove("openai")
    assert KEY not in str(caught.value)
    assert keys.read() == {"openai": KEY}


@pytest.mark.parametrize("written", ["", "{", "[1]", "{}", f'"{KEY}"'])
def test_a_file_that_cannot_be_understood_is_left_out_and_can_be_removed(
    in_files: StoredKeys, written: str, caplog: pytest.LogCaptureFixture
) -> None:
    in_files.write("openai", KEY)
    in_files.write("gemini", OTHER)
    (in_files.directory / "openai.json").write_text(written)
    assert in_files.read() == {"gemini": OTHER}
    assert "palimpsest login openai" in caplog.text
    assert KEY not in caplog.text
    assert in_files.remove("openai")


def test_a_key_that_cannot_be_written_is_an_error_that_does_not_quote_it(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    with pytest.raises(InvalidRequest, match="could not be stored") as caught:
        keyring_of(None, tmp_path).write("openai", KEY)
    assert KEY not in str(caught.value)
    assert keyring_of(None, tmp_path).read() == {}


@pytest.mark.parametrize(("priority", "is_used"), [(5, True), (1, True), (0.5, False), (0, False), (-1, False)])
def test_only_a_keyring_that_is_safe_and_works_is_used(
    monkeypatch: pytest.MonkeyPatch, priority: float, is_used: bool
) -> None:
    package, backend = ModuleType("keyring"), SimpleNamespace(priority=priority)
    package.get_keyring = lambda: backend  # type: ignore[attr-defined]  # a stand-in for the package
    monkeypatch.setitem(sys.modules, "keyring", package)
    assert find_keyring() is (backend if is_used else None)
    package.get_keyring = refuse  # type: ignore[attr-defined]
    assert find_keyring() is None
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert find_keyring() is None, "the package is not installed"


# ---------------------------------------------------------------------------------------------------- which one counts


async def test_the_environment_counts_before_an_editor_and_an_editor_before_the_store(in_files: StoredKeys) -> None:
    in_files.write("openai", KEY)
    keys = Keys({"anthropic": KEY}, in_files, check_key)
    keys.load()
    assert (keys.get("openai"), keys.source("openai")) == (KEY, KeySource.STORED)
    assert (await keys.set("openai", f" {OTHER}\n", stores=False)).source is KeySource.EDITOR
    assert keys.get("openai") == OTHER
    assert in_files.read() == {"openai": KEY}, "what is not to be stored is not"
    taken_back = await keys.set("openai", None, stores=False)
    assert (taken_back.source, keys.get("openai")) == (KeySource.STORED, KEY)
    assert "stored" in taken_back.sentence
    shadowed = await keys.set("anthropic", OTHER, stores=False)
    assert (shadowed.source, keys.get("anthropic")) == (KeySource.ENVIRONMENT, KEY)
    assert "ANTHROPIC_API_KEY" in shadowed.sentence
    assert (await keys.set("openai", OTHER, stores=True)).source is KeySource.STORED
    assert in_files.read() == {"openai": OTHER}
    removed = await keys.set("openai", None, stores=True)
    assert (removed.source, keys.get("openai"), in_files.read()) == (None, None, {})


@pytest.mark.parametrize(
    ("provider", "key"),
    [("openai", ""), ("openai", f"{KEY} {KEY}"), ("openai", f"{KEY}é"), (KEY, KEY), ("ollama", KEY)],
)
async def test_what_cannot_be_a_key_changes_nothing_and_is_not_quoted(
    in_files: StoredKeys, provider: str, key: str
) -> None:
    keys = Keys({}, in_files, check_key)
    await keys.set("openai", OTHER, stores=False)
    with pytest.raises(PalimpsestError) as caught:
        await keys.set(provider, key, stores=True)
    assert KEY not in str(caught.value)
    assert (keys.get("openai"), in_files.read()) == (OTHER, {})


def test_a_variable_that_is_empty_holds_no_key() -> None:
    environ = {"ANTHROPIC_API_KEY": "", "GEMINI_API_KEY": "", "GOOGLE_API_KEY": KEY, "OPENAI_API_KEY": OTHER}
    assert environment_keys(environ) == {"gemini": KEY, "openai": OTHER}


def test_no_representation_shows_a_key(in_files: StoredKeys) -> None:
    in_files.write("openai", KEY)
    keys = Keys({"gemini": KEY}, in_files, check_key)
    keys.load()
    assert KEY not in repr(keys)


# ---------------------------------------------------------------------------------------------------- the command line


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", NO_KEYRING)


@pytest.mark.usefixtures("at_home")
async def test_login_stores_a_key_that_its_service_takes_and_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def log_in(typed: str) -> int:
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{typed}\n"))
        return await asyncio.to_thread(main, ["login", "gemini"])

    async with FakeGemini() as fake:
        monkeypatch.setenv("GEMINI_BASE_URL", fake.url)
        assert await log_in(KEY) == 1
        assert stored_keys().read() == {}
        assert await log_in("") == 1
        assert await log_in(GEMINI_KEY) == 0
        assert {each.method for each in fake.asked} == {"GET"}, "trying a key costs nothing"
    assert stored_keys().read() == {"gemini": GEMINI_KEY}
    written = "".join(capsys.readouterr())
    assert "did not accept the key" in written
    assert KEY not in written
    assert GEMINI_KEY not in written
    assert main(["logout", "gemini"]) == 0
    assert stored_keys().read() == {}


@pytest.mark.usefixtures("at_home")
def test_a_key_in_place_of_the_provider_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["login", KEY]), main(["logout", KEY])) == (1, 1)
    written = "".join(capsys.readouterr())
    assert "anthropic, openai, gemini" in written
    assert KEY not in written


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo terminal is POSIX")
def test_a_key_that_is_typed_is_not_shown(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    variables = {
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "OPENAI_BASE_URL": "http://127.0.0.1:9",
        "PYTHON_KEYRING_BACKEND": NO_KEYRING,
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "palimpsest", "login", "openai"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(**variables),
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"Key for openai: " not in shown:
        shown += os.read(ours, 1024)
    os.write(ours, f"{KEY}\n".encode())
    try:
        while data := os.read(ours, 1024):
            shown += data
    except OSError:  # Linux: the other end is closed
        pass
    finally:
        os.close(ours)
    assert process.wait(60) == 0, shown
    assert KEY.encode() not in shown
    assert KEY in (tmp_path / "palimpsest" / "keys" / "openai.json").read_text()


# ------------------------------------------------------------------------------------------ what other processes do


def test_a_key_that_another_process_stores_or_removes_counts_from_the_next_look_on(in_files: StoredKeys) -> None:
    keys = Keys({}, in_files, check_key)
    keys.load()
    other = StoredKeys(in_files.directory, lambda: None)
    other.write("openai", KEY)
    assert (keys.reload(), keys.get("openai"), keys.reload()) == (True, KEY, False)
    other.write("openai", OTHER)
    assert (keys.reload(), keys.get("openai")) == (True, OTHER)
    assert other.remove("openai")
    assert (keys.reload(), keys.get("openai")) == (True, None)


def test_a_keyring_is_not_asked_while_nothing_was_written(tmp_path: Path) -> None:
    ring = Ring()
    keys = Keys({}, keyring_of(ring, tmp_path), check_key)
    keys.store.write("openai", KEY)
    keys.load()
    ring.gets = refuse
    assert not keys.reload()
    assert keys.get("openai") == KEY
