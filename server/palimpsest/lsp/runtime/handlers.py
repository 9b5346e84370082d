"""The ways to run a handler: at once, as a coroutine, in a thread, or as one of pygls' built-in features.

Nothing here waits. A result that takes time is returned as an awaitable, which its caller may cancel.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from pygls.feature_manager import is_thread_function
from pygls.server import JsonRPCServer

Failure = (Exception, asyncio.CancelledError)
"""The exceptions that a handler may end with."""


def call(handler: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], server: JsonRPCServer) -> Any:
    """The handler's result, or an awaitable of it."""
    if is_thread_function(handler):  # type: ignore[no-untyped-call]
        work = functools.partial(contextvars.copy_context().run, handler, *args, **kwargs)
        return asyncio.get_running_loop().run_in_executor(server.thread_pool, work)
    if inspect.isgeneratorfunction(handler):
        steps = handler(*args, **kwargs)
        return _advance(steps, functools.partial(steps.send, None), server)
    return handler(*args, **kwargs)


def _advance(steps: Generator[Any, Any, Any], resume: Callable[[], Any], server: JsonRPCServer) -> Any:
    """Runs a built-in feature: a generator that yields calls of our handlers, and returns its result."""
    try:
        while True:
            handler, args, kwargs = resume()
            try:
                value = call(handler, args or (), kwargs or {}, server)
            except Failure as error:
                resume = functools.partial(steps.throw, error)
                continue
            if inspect.isawaitable(value):
                return _advance_later(steps, value, server)
            resume = functools.partial(steps.send, value)
    except StopIteration as stop:
        return stop.value


async def _advance_later(steps: Generator[Any, Any, Any], waiting: Awaitable[Any], server: JsonRPCServer) -> Any:
    try:
        resume = functools.partial(steps.send, await waiting)
    except Failure as error:
        resume = functools.partial(steps.throw, error)
    outcome = _advance(steps, resume, server)
    return await outcome if inspect.isawaitable(outcome) else outcome
