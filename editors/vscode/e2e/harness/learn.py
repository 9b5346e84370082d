"""Stores a fact about a function of a file, as the librarian does when it learns one: FOLDER PATH FUNCTION STATEMENT."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.hub.checkouts import Checkout
from tests.hub.lab import TestTeam

from palimpsest.app.compose import load_folders
from palimpsest.domain.facts.fact import Place


async def learn(folder: Path, path: str, function: str, statement: str) -> None:
    folders = await asyncio.to_thread(load_folders, os.environ)
    try:
        nobodys: TestTeam = None  # type: ignore[assignment] # what is noted is shared later, by the user
        await Checkout(folders, folder, folder, nobodys).note(statement, Place(path, symbol=function))
    finally:
        await folders.close()


asyncio.run(learn(Path(sys.argv[1]), *sys.argv[2:]))
