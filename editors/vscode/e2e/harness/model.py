"""`palimpsest fake-provider` at a chosen pace, for tests of the extension. Arguments: a script, deltas a second."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from pathlib import Path

from palimpsest_clients.fake.replies import Reply
from palimpsest_clients.fake.script import read_script
from palimpsest_clients.fake.server import FakeModels

DELTA_CHARACTERS = 4_000


async def serve(script: Path, per_second: float) -> None:
    async with FakeModels(pause_s=1 / per_second) as fake:
        for step in read_script(script.read_text(encoding="utf-8").split("\n")):
            if isinstance(step, Reply):
                step = dataclasses.replace(step, n_pieces=max(3, len(step.text) // DELTA_CHARACTERS))
            fake.replies.append(step)
        print(fake.url, flush=True)
        await asyncio.Event().wait()


asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2])))
