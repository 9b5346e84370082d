"""`palimpsest fake-provider` at a chosen pace, for tests of the extension.

Arguments: a script of answers, deltas a second, characters a delta of those answers.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

from palimpsest_clients.fake.replies import Reply
from palimpsest_clients.fake.script import read_script
from palimpsest_clients.fake.server import FakeModels
from PIL import Image


async def serve(script: Path, per_second: float, characters: int) -> None:
    async with FakeModels(pause_s=1 / per_second) as fake:
        for step in read_script(script.read_text(encoding="utf-8").split("\n")):
            if isinstance(step, Reply):
                step = dataclasses.replace(step, n_pieces=max(3, len(step.text) // characters))
            fake.replies.append(step)
        print(fake.url, flush=True)
        # Each line asks for something; no more come when the input ends.
        while order := await asyncio.to_thread(sys.stdin.readline):
            told = {"charged": lambda: [dataclasses.asdict(each) for each in fake.charged], "asked": lambda: len(fake.bodies), "pictures": lambda: pictures_of(fake.bodies[-1])}
            print(json.dumps(told[order.strip()]()), flush=True)
        await asyncio.Event().wait()


def pictures_of(body: Any) -> list[dict[str, Any]]:
    """The pictures of a request, decoded: the format, the size, and the color in the middle."""
    found = []
    for data in re.findall(r"data:image/[a-z]+;base64,([A-Za-z0-9+/=]+)", json.dumps(body)):
        with Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as picture:
            middle = picture.convert("RGB").getpixel((picture.width // 2, picture.height // 2))
            found.append({"format": picture.format, "width": picture.width, "height": picture.height, "middle": middle})
    return found


asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
