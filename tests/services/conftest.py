"""Folder sessions for the tests of services, closed after the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.services.scripted import Action, Bench, Opener, open_bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens benches, each with a store of its own: in `tmp_path / "0"`, `"1"`, …"""
    opened: list[Bench] = []

    async def open_one(replies: list[list[Action]], **options: object) -> Bench:
        opened.append(await open_bench(tmp_path / str(len(opened)), replies, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield open_one
    for each in opened:
        await each.session.folder.close()
