"""`palimpsest fake-provider` at a chosen pace, for tests of the extension.

Arguments: a script of answers, deltas a second, characters a delta of those answers.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from pathlib import Path

from palimpsest_clients.fake.replies import Reply
from palimpsest_clients.fake.script import read_script
from palimpsest_clients.fake.server import FakeModels


async def serve(script: Path, per_second: float, characters: int) -> None:
    async with FakeModels(pause_s=1 / per_second) as fake:
        for step in read_script(script.read_text(encoding="utf-8").split("\n")):
            if isinstance(step, Reply):
                step = dataclasses.replace(step, n_pieces=max(3, len(step.text) // characters))
            fake.replies.append(step)
        print(fake.url, flush=True)
        # A line is a question for what was charged; no more come when the input ends.
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps([dataclasses.asdict(each) for each in fake.charged]), flush=True)
        await asyncio.Event().wait()


asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
