"""Calls on a thread of the store run one after the other in the order they were asked for, heard of or not."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator

import pytest
from tests.waiting import WAIT_S

from palimpsest.domain.errors import StoreError
from palimpsest.machine.call_thread import CallThread


@pytest.fixture
async def thread() -> AsyncIterator[CallThread]:
    made = CallThread("tested")
    yield made
    await asyncio.to_thread(made.end, lambda: None)


async def test_calls_run_in_order_on_the_one_thread(thread: CallThread) -> None:
    ran: list[tuple[int, str]] = []
    futures = [thread.run(lambda n=n: ran.append((n, threading.current_thread().name))) for n in range(200)]  # type: ignore[misc]
    await asyncio.wait_for(asyncio.gather(*futures), WAIT_S)
    assert ran == [(n, "tested") for n in range(200)]


async def test_a_call_that_fails_is_heard_of_where_it_was_asked_for(thread: CallThread) -> None:
    def fail() -> None:
        raise ZeroDivisionError("this one")

    failed, following = thread.run(fail), thread.run(lambda: "works")
    with pytest.raises(ZeroDivisionError, match="this one"):
        await asyncio.wait_for(failed, WAIT_S)
    assert await asyncio.wait_for(following, WAIT_S) == "works"


async def test_a_result_is_let_go_of_before_the_next_call_comes(thread: CallThread) -> None:
    class Large:
        pass

    released = asyncio.Event()
    loop = asyncio.get_running_loop()

    def make() -> Large:
        made = Large()
        weakref.finalize(made, loop.call_soon_threadsafe, released.set)
        return made

    assert isinstance(await asyncio.wait_for(thread.run(make), WAIT_S), Large)
    await asyncio.wait_for(released.wait(), WAIT_S)


async def test_a_call_that_nobody_waits_for_is_carried_out(thread: CallThread) -> None:
    may_go, ran = threading.Event(), list[str]()

    def slow() -> None:
        may_go.wait(WAIT_S)
        ran.append("slow")

    first, second = thread.run(slow), thread.run(lambda: ran.append("second"))
    first.cancel()
    second.cancel()
    may_go.set()
    await asyncio.wait_for(thread.run(lambda: None), WAIT_S)
    assert ran == ["slow", "second"]


async def test_the_end_comes_behind_everything_asked_for() -> None:
    thread, ran = CallThread("ending"), list[int | str]()
    futures = [thread.run(lambda n=n: ran.append(n)) for n in range(50)]  # type: ignore[misc]
    await asyncio.wait_for(asyncio.to_thread(thread.end, lambda: ran.append("last")), WAIT_S)
    assert ran == [*range(50), "last"]
    await asyncio.wait_for(asyncio.gather(*futures), WAIT_S)


async def test_a_call_after_the_end_is_refused_instead_of_waiting_for_ever() -> None:
    thread = CallThread("ended")
    await asyncio.to_thread(thread.end, lambda: None)
    with pytest.raises(StoreError, match="The store is closed"):
        thread.run(lambda: None)


def test_a_loop_that_has_ended_does_not_stop_the_thread() -> None:
    thread, may_go, ran = CallThread("outliving"), threading.Event(), list[str]()

    def slow() -> None:
        may_go.wait(WAIT_S)
        ran.append("slow")

    async def leave() -> None:
        thread.run(slow)

    asyncio.run(leave())
    may_go.set()
    thread.end(lambda: ran.append("last"))
    assert ran == ["slow", "last"]
