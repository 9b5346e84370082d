"""A hub of the tests' own, one for each process of tests."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.hub.lab import Lab, TestTeam, new_hub, owning
from tests.hub.machines import Machine, open_machine
from tests.hub.postgres import running

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
    lab = Lab(hub_address, gate, owner)
    yield lab
    for hub in lab.open_hubs:
        await hub.aclose()


@pytest.fixture
async def team(lab: Lab) -> TestTeam:
    return lab.team(ann="writer", bob="writer")


@pytest.fixture
async def machines(team: TestTeam, tmp_path: Path) -> AsyncIterator[list[Machine]]:
    """Of ann and bob."""
    async with AsyncExitStack() as stack:
        yield [await open_machine(name, team, tmp_path / name, stack) for name in ("ann", "bob")]
