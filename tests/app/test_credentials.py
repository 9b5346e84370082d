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
from palimpsest.app.stored_keys import StoredKeys, find_keyring, stored_keys
from palimpsest.cli.main import main
from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.domain.models.providers import BY_NAME, ProviderEntry
from palimpsest.services.models.keys import Key, Keys, KeySource, find_entry

KEY, OTHER = "sk-planted-000111", "sk-other-222333"
OPENAI, ANTHROPIC = BY_NAME["openai"], BY_NAME["anthropic"]
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


def given(text: str, entry: ProviderEntry = OPENAI) -> Key:
    return Key(text, entry.origin)


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
    told = in_files.write("openai", given(KEY))
    (path,) = in_files.directory.iterdir()
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert str(path) in told
    assert "no keyring" in told
    in_files.write("openai", given(OTHER))
    in_files.write("gemini", given(KEY))
    assert in_files.read() == {"openai": given(OTHER), "gemini": given(KEY)}
    assert (in_files.remove("openai"), in_files.remove("openai")) == (True, False)
    assert in_files.read() == {"gemini": given(KEY)}


def test_what_a_keyring_holds_is_in_no_file(tmp_path: Path) -> None:
    ring = Ring()
    keys = keyring_of(ring, tmp_path)
    assert KEY not in keys.write("openai", given(KEY))
    assert KEY not in "".join(each.read_text() for each in keys.directory.iterdir())
    assert keys.read() == {"openai": given(KEY)}
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
    assert "which only you can read" in keys.write("openai", given(KEY))
    assert keys.read() == {"openai": given(KEY)}
    assert KEY not in caplog.text


def test_a_keyring_that_fails_hangs_or_is_gone_leaves_one_key_out_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ring, never = Ring(), threading.Event()
    keyring_of(None, tmp_path).write("gemini", given(OTHER))
    keyring_of(ring, tmp_path).write("openai", given(KEY))
    for now, gets in ((ring, refuse), (None, refuse), (ring, lambda: never.wait(60))):
        caplog.clear()
        ring.gets = gets
        keys = StoredKeys(tmp_path / "data" / "keys", lambda now=now: now, read_s=0.01)  # type: ignore[misc]  # mypy cannot infer a default's type here
        assert keys.read() == {"gemini": given(OTHER)}
        assert "palimpsest login openai" in caplog.text
        assert KEY not in caplog.text
    never.set()


def test_a_key_that_the_keyring_does_not_give_up_is_not_said_to_be_removed(tmp_path: Path) -> None:
    ring = Ring()
    keys = keyring_of(ring, tmp_path)
    keys.write("openai", given(KEY))
    ring.deletes = refuse
    with pytest.raises(InvalidRequest, match="still in the system's keyring") as caught:
        keys.remove("openai")
    assert KEY not in str(caught.value)
    assert keys.read() == {"openai": given(KEY)}


@pytest.mark.parametrize("written", ["", "{", "[1]", "{}", f'"{KEY}"'])
def test_a_file_that_cannot_be_understood_is_left_out_and_can_be_removed(
    in_files: StoredKeys, written: str, caplog: pytest.LogCaptureFixture
) -> None:
    in_files.write("openai", given(KEY))
    in_files.write("gemini", given(OTHER))
    (in_files.directory / "openai.json").write_text(written)
    assert in_files.read() == {"gemini": given(OTHER)}
    assert "palimpsest login openai" in caplog.text
    assert KEY not in caplog.text
    assert in_files.remove("openai")


def test_a_key_that_cannot_be_written_is_an_error_that_does_not_quote_it(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    with pytest.raises(InvalidRequest, match="could not be stored") as caught:
        keyring_of(None, tmp_path).write("openai", given(KEY))
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
    in_files.write("openai", given(KEY))
    keys = Keys({"ANTHROPIC_API_KEY": KEY}, in_files, check_key)
    keys.load()
    assert (keys.get(OPENAI), keys.source(OPENAI)) == (KEY, KeySource.STORED)
    assert (await keys.set(OPENAI, f" {OTHER}\n", stores=False)).source is KeySource.EDITOR
    assert keys.get(OPENAI) == OTHER
    assert in_files.read() == {"openai": given(KEY)}, "what is not to be stored is not"
    taken_back = await keys.set(OPENAI, None, stores=False)
    assert (taken_back.source, keys.get(OPENAI)) == (KeySource.STORED, KEY)
    assert "stored" in taken_back.sentence
    shadowed = await keys.set(ANTHROPIC, OTHER, stores=False)
    assert (shadowed.source, keys.get(ANTHROPIC)) == (KeySource.ENVIRONMENT, KEY)
    assert "ANTHROPIC_API_KEY" in shadowed.sentence
    assert (await keys.set(OPENAI, OTHER, stores=True)).source is KeySource.STORED
    assert in_files.read() == {"openai": given(OTHER)}
    removed = await keys.set(OPENAI, None, stores=True)
    assert (removed.source, keys.get(OPENAI), in_files.read()) == (None, None, {})


@pytest.mark.parametrize(
    ("provider", "key"),
    [("openai", ""), ("openai", f"{KEY} {KEY}"), ("openai", f"{KEY}é"), (KEY, KEY), ("ollama", KEY)],
)
async def test_what_cannot_be_a_key_changes_nothing_and_is_not_quoted(
    in_files: StoredKeys, provider: str, key: str
) -> None:
    keys = Keys({}, in_files, check_key)
    await keys.set(OPENAI, OTHER, stores=False)
    with pytest.raises(PalimpsestError) as caught:
        await keys.set(find_entry(BY_NAME, provider), key, stores=True)
    assert KEY not in str(caught.value)
    assert (keys.get(OPENAI), in_files.read()) == (OTHER, {})


def test_a_variable_that_is_empty_holds_no_key(in_files: StoredKeys) -> None:
    environ = {"ANTHROPIC_API_KEY": "", "GEMINI_API_KEY": "", "GOOGLE_API_KEY": KEY, "OPENAI_API_KEY": OTHER}
    keys = Keys(environ, in_files, check_key)
    found = {name: key for name, entry in BY_NAME.items() if (key := keys.get(entry)) is not None}
    assert found == {"gemini": KEY, "openai": OTHER}


def test_no_representation_shows_a_key(in_files: StoredKeys) -> None:
    in_files.write("openai", given(KEY))
    keys = Keys({"GEMINI_API_KEY": KEY}, in_files, check_key)
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
        assert stored_keys().read() == {"gemini": Key(GEMINI_KEY, fake.url)}
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
    other.write("openai", given(KEY))
    assert (keys.reload(), keys.get(OPENAI), keys.reload()) == (True, KEY, False)
    other.write("openai", given(OTHER))
    assert (keys.reload(), keys.get(OPENAI)) == (True, OTHER)
    assert other.remove("openai")
    assert (keys.reload(), keys.get(OPENAI)) == (True, None)


def test_a_keyring_is_not_asked_while_nothing_was_written(tmp_path: Path) -> None:
    ring = Ring()
    keys = Keys({}, keyring_of(ring, tmp_path), check_key)
    keys.store.write("openai", given(KEY))
    keys.load()
    ring.gets = refuse
    assert not keys.reload()
    assert keys.get(OPENAI) == KEY
