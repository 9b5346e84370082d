"""Connections of our client with programs, for the tests of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.services.mcp.connection import Connection
from palimpsest.services.tools.run_command import scrubbed

WAIT_S = 60.0
ODD = Path(__file__).with_name("odd_server.py")


def odd(notes: Path, *habits: str, **more: Any) -> ServerConfig:
    """The odd server, with its notes in a folder."""
    return program(notes, sys.executable, "-I", str(ODD), str(notes), *habits, **more)


def program(folder: Path, *command: str, **more: Any) -> ServerConfig:
    env = {**scrubbed(os.environ), **more.pop("env", {})}
    return ServerConfig("one", command=command, env=env, cwd=str(folder), **more)


@contextlib.asynccontextmanager
async def connected(config: ServerConfig) -> AsyncIterator[Connection]:
    from palimpsest.mcp_client.connection import connect

    async with asyncio.timeout(WAIT_S), connect(config) as connection:
        yield connection


def ignore(_line: str) -> None:
    """For progress that no test looks at."""


def noted(notes: Path, name: str) -> list[str]:
    path = notes / name
    return path.read_text().split() if path.exists() else []


def lives(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not holds():
            await asyncio.to_thread(psutil.pids)  # some time of a thread, and none of the loop
