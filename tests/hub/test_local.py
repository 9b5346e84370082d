"""A hub of one's own: made, started, reached and stopped without an administrator."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo
from tests.hub.postgres import fast_place, other_user

from palimpsest.cli.hub import _how_to_reach
from palimpsest.cli.main import main
from palimpsest_hub import migration
from palimpsest_hub.client import Hub
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.inspection import examine
from palimpsest_hub.local import LocalHub, programs


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a user who is not root, and the process is that user meanwhile, who may not read the checkout."""
    if sys.platform == "win32":
        pytest.skip("A hub of one's own needs a socket and users.")
    if next(programs(), None) is None:
        pytest.skip("There is no PostgreSQL here: install the package postgresql.")
    user = other_user()
    place = Path(tempfile.mkdtemp(prefix="hub", dir=fast_place()))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        if user is not None:
            os.chown(place, user.pw_uid, user.pw_gid)
            readable = shutil.copytree(Path(migration.__file__).with_name("migrations"), place / "migrations")
            monkeypatch.setattr(migration, "_MIGRATIONS", readable)
            stack.callback(os.setegid, os.getegid())
            os.setegid(user.pw_gid)
            stack.callback(os.seteuid, os.geteuid())
            os.seteuid(user.pw_uid)
        yield place


async def test_it_is_made_started_reached_and_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    local = LocalHub(folder / "own")
    command = ["hub", "--folder", str(local.folder)]
    assert main([*command, "local", "status"]) == 1
    try:
        assert main([*command, "local", "start"]) == 0
        assert capsys.readouterr().out.endswith(started := "\n".join(_how_to_reach(local)) + "\n")
        assert (local.start(), local.is_running()) == (False, True)
        assert main([*command, "local", "status"]) == 0
        assert capsys.readouterr().out == f"The hub runs.\n{started}"
        assert not any(each.is_trouble for each in examine(local.admin_address))
        async with Hub(local.address) as hub:
            (team,) = await hub.teams()
            assert team.role == "admin"
            me = await hub.me()
        assert local.stop()
        assert not local.stop()
        assert main([*command, "doctor"]) == 1
        assert "`palimpsest hub local start` starts it" in capsys.readouterr().err
        assert local.start()
        async with Hub(local.address, token=local.token_file.read_text().strip()) as hub:
            assert await hub.me() == me
        async with Hub(make_conninfo(local.address, passfile="/dev/null")) as hub:
            with pytest.raises(HubRefused, match="password"):
                await hub.me()
        for path in (local.folder, local.passfile, local.admin_passfile, local.token_file, local.socket):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    finally:
        assert main([*command, "local", "stop"]) == 0
    assert not local.is_running()


def test_it_never_runs_as_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    with pytest.raises(HubRefused, match="does not run as root"):
        LocalHub(tmp_path / "own").start()
    assert not (tmp_path / "own").exists()


def test_what_is_missing_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    with pytest.raises(HubRefused, match="too long for a socket"):
        LocalHub(tmp_path / ("x" * 100)).start()
    monkeypatch.setattr("palimpsest_hub.local._INSTALLED", ())
    monkeypatch.setattr("palimpsest_hub.local._PACKAGES", {})
    monkeypatch.setenv("PATH", str(tmp_path))
    place = Path(tempfile.mkdtemp(prefix="hub"))
    try:
        with pytest.raises(HubRefused, match="apt install postgresql"):
            LocalHub(place / "own").start()
    finally:
        shutil.rmtree(place)
