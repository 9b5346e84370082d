"""A member's machine that follows a shared conversation: `python -m benchmarks.hub.follower CONVERSATION`, in its home.

Prints `ready`, then a line for each piece of text: how many milliseconds ago it was written by the model's service.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from palimpsest.app.compose import load_folders
from palimpsest.domain.messages import ConversationId
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Scope
from palimpsest.services.sharing.following import Following


async def follow(conversation_id: ConversationId) -> None:
    folders = await asyncio.to_thread(load_folders, os.environ)
    session = await folders.get(Path(os.environ["HOME"]))
    await run_command(Scope(session, None), f"/shared {conversation_id[:8]}")
    assert session.sharing is not None
    print("ready", flush=True)
    async for shown in Following(session.sharing, conversation_id).shown():
        now = time.perf_counter_ns()
        for word in "".join(each.text for each in shown).split():
            print(f"{(now - int(word)) / 1e6:.3f}", flush=True)


if __name__ == "__main__":
    asyncio.run(follow(ConversationId(sys.argv[1])))
