"""An interrupt is heard at once, whatever the loop waits for and whichever thread the system tells it to."""

from __future__ import annotations

import asyncio
import signal
import threading

from tests.waiting import WAIT_S

from palimpsest.terminal.interrupts import Interrupts


async def test_an_interrupt_that_another_thread_is_told_of_wakes_the_loop() -> None:
    counts: list[int] = []
    heard = asyncio.Event()

    def act(count: int) -> None:
        counts.append(count)
        heard.set()

    def tell_this_thread() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts, interrupts.calling(act):
        sender = threading.Timer(0.05, tell_this_thread)  # behind the moment in which the loop begins to wait
        sender.start()
        async with asyncio.timeout(WAIT_S):
            await heard.wait()
        sender.join()
    assert counts == [1]
    assert signal.getsignal(signal.SIGINT) is before
