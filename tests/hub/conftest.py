"""A hub of the tests' own, one for each process of tests."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.git import git
from tests.hub.checkouts import CODE, REMOTE, Checkout, Open
from tests.hub.lab import Lab, TestTeam, new_hub, owning
from tests.hub.machines import Machine, open_machine
from tests.hub.postgres import running
from tests.lsp.in_process import in_environment
from tests.lsp.real_server import home

from palimpsest.app.compose import load_folders
from palimpsest.domain.sharing.log import FORMAT
from palimpsest_hub import administration
from palimpsest_hub.local import programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of the superuser of a fresh PostgreSQL."""
    if sys.platform == "win32":
        pytest.skip("These tests start PostgreSQL on a socket, and become another user for it.")
    if next(programs(), None) is None:
        pytest.skip("There is no PostgreSQL here: install the package postgresql.")
    with running() as address:
        yield address


@pytest.fixture(scope="session")
def hub_address(postgres: str) -> str:
    """A hub that was set up by the owner of its database, who may create roles and is no superuser."""
    return new_hub(postgres)


@pytest.fixture(scope="session")
def gate(hub_address: str) -> administration.Login:
    return administration.make_login(hub_address, "gate", None)


@pytest.fixture(scope="session")
def owner(hub_address: str) -> Iterator[psycopg.Connection[Any]]:
    with owning(hub_address) as connection:
        yield connection


@pytest.fixture
async def lab(hub_address: str, gate: administration.Login, owner: psycopg.Connection[Any]) -> AsyncIterator[Lab]:
    """All tests of a process share the hub, and some restore it: each begins with one that never was."""
    owner.execute("UPDATE hub.incarnation SET restored_at = NULL")
    lab = Lab(hub_address, gate, owner)
    yield lab
    for hub in lab.open_hubs:
        await hub.aclose()


@pytest.fixture
def newer_hub(owner: psycopg.Connection[Any]) -> Iterator[None]:
    """The hub is as one that a newer version of the product has set up."""
    form = "CREATE OR REPLACE FUNCTION hub.newest_format() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT {}'"
    form += " SET search_path = pg_catalog, pg_temp"
    owner.execute(form.format(FORMAT + 1))
    yield
    owner.execute(form.format(FORMAT))


@pytest.fixture
async def team(lab: Lab) -> TestTeam:
    return lab.team(ann="writer", bob="writer")


@pytest.fixture
async def machines(team: TestTeam, tmp_path: Path) -> AsyncIterator[list[Machine]]:
    """Of ann and bob."""
    async with AsyncExitStack() as stack:
        yield [await open_machine(name, team, tmp_path / name, stack) for name in ("ann", "bob")]


# Checkouts of one repository, for tests of shared facts.


@pytest.fixture
def birds(lab: Lab) -> TestTeam:
    """The team of those who share facts."""
    return lab.team(ann="writer", bob="writer", rita="reader")


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    root = tmp_path / "origin"
    (root / "svc").mkdir(parents=True)
    (root / "svc" / "bird.py").write_text(CODE, encoding="utf-8")
    (root / "top.py").write_text("top = 1\n", encoding="utf-8")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
async def checkout(lab: Lab, birds: TestTeam, origin: Path, tmp_path: Path) -> AsyncIterator[Open]:
    address = make_conninfo(lab.admin, user=lab.gate.name, password=lab.gate.password)
    async with AsyncExitStack() as stack:

        async def make(
            name: str, subfolder: str = "", of: TestTeam = birds, is_trusted: bool = True, machine: str = "laptop"
        ) -> Checkout:
            top = tmp_path / f"{name} of {of.number} at {machine}" / "heron"
            if not top.exists():
                top.parent.mkdir()
                git(tmp_path, "clone", "-q", str(origin), str(top))
                git(top, "remote", "set-url", "origin", REMOTE)
            root = top / subfolder if subfolder else top
            hub = {
                "PALIMPSEST_HUB_URL": address,
                "PALIMPSEST_HUB_TOKEN": of.tokens[name],
                "PALIMPSEST_HUB_TEAM": of.name,
                "PALIMPSEST_HUB_FACTS": "true",
                "PALIMPSEST_HUB_POLL_S": "3600",  # a test looks by itself
                "PALIMPSEST_MODEL": "offline",
            }
            with in_environment(**home(top.parent, **hub)) as environ:
                folders = await asyncio.to_thread(load_folders, environ)
                stack.push_async_callback(folders.close)
                session = await folders.get(root)
            session.folder.trust.is_trusted = is_trusted
            return Checkout(folders, top, root, of)

        yield make


@pytest.fixture
async def both(checkout: Open) -> Sequence[Checkout]:
    """Ann's and Bob's, both sharing."""
    ann, bob = await checkout("ann"), await checkout("bob")
    await ann.share()
    await bob.share()
    return ann, bob
