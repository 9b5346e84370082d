"""The model's service in a process of its own: `python -m tests.faults.provider [pause in ms]`.

Prints its address; ends when its stdin does. What it answers stands in what it is asked (`script`).
"""

from __future__ import annotations

import asyncio
import sys
from typing import SupportsIndex

from tests.clients.fake_provider import FakeProvider, Fault, Raw, Reply
from tests.faults.script import reply_to


class _Scripts(list["Reply | Fault | Raw"]):
    """In place of a fixed list of answers: the one that the request just received asks for."""

    def __init__(self, provider: FakeProvider) -> None:
        super().__init__()
        self._provider = provider

    def __bool__(self) -> bool:
        return True

    def pop(self, _index: SupportsIndex = -1) -> Reply | Fault | Raw:
        body = self._provider.requests[-1].body
        self._provider.requests.clear()
        return reply_to(body)


class ScriptedProvider(FakeProvider):
    def __init__(self, pause_s: float) -> None:
        super().__init__(limit_tokens=10_000_000)
        self._pause_s = pause_s
        """After each event, as a model has them: so that most are journaled one by one."""
        self.script = _Scripts(self)

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        await super()._write(writer, data)
        await asyncio.sleep(self._pause_s)


async def _main() -> None:
    async with ScriptedProvider(float(sys.argv[1]) / 1000 if sys.argv[1:] else 0) as provider:
        sys.stdout.write(provider.url + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())
