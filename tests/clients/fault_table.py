"""Faults x clients: what each client makes of whatever can go wrong. `python -m tests.clients.fault_table` prints it.

Each cell is one real call over loopback. What the cells must be stands in `test_fault_table`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol
from unittest.mock import patch
from urllib.parse import urlsplit

import httpx
import tenacity
from tests.clients.contexts import collect, context, user
from tests.waiting import WAIT_S

from palimpsest.app.model_clients import client_class
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.models.provider import StreamEvent
from palimpsest.domain.models.providers import FORMATS, PROVIDERS
from palimpsest_clients import http
from palimpsest_clients.fake.dialect import Dialect
from palimpsest_clients.fake.replies import Reply, Usage
from palimpsest_clients.fake.server import DIALECTS, FakeModels
from palimpsest_clients.fake.service import Sent, as_json
from palimpsest_clients.retry import RetryPolicy

KEY = "sk-fake-0123456789"
ATTEMPTS = 2
SILENCE_S = 0.2


class Client(Protocol):
    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]: ...

    async def aclose(self) -> None: ...


def _built(wire: str, url: str, retry: RetryPolicy) -> Client:
    entry = next(each for each in PROVIDERS if wire in (each.format, each.compatible_format))
    place = f"{url}{urlsplit(entry.address).path}"
    return client_class(wire)(KEY if entry.takes_key else None, place, retry=retry)


BUILD: Mapping[str, Callable[[str, RetryPolicy], Client]] = {wire: partial(_built, wire) for wire in FORMATS}
"""A client of each format, for the address of a fake."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The outcome of one call."""

    kind: ErrorKind
    is_retried: bool
    message: str


@dataclass(frozen=True, slots=True)
class _Counting(RetryPolicy):
    attempted: list[int] = field(default_factory=list)

    def retrying(self) -> tenacity.AsyncRetrying:
        counting = RetryPolicy.retrying(self)
        return counting.copy(before=lambda state: self.attempted.append(state.attempt_number))


def _refused(status: int, headers: Mapping[str, str] | None = None) -> Callable[[Dialect], Sent]:
    return lambda dialect: as_json(dialect.error(status, "scripted failure"), status, headers)


def _overflow(dialect: Dialect) -> Sent:
    return as_json(dialect.too_long(210_000, 200_000), 400)


def _events(dialect: Dialect) -> list[bytes]:
    return list(dialect.events({"model": "model-x"}, Usage(10), Reply("One two three.")))


def _with_first_delta(dialect: Dialect) -> list[bytes]:
    """The events up to the one that holds the first of the text."""
    events = _events(dialect)
    n_before = next(n for n, event in enumerate(events) if b"One" in event)
    return events[: n_before + 1]


def _error_before_delta(dialect: Dialect) -> Sent:
    return Sent((dialect.stream_error(),), dialect.content_type)


def _error_behind_delta(dialect: Dialect) -> Sent:
    return Sent((*_with_first_delta(dialect), dialect.stream_error()), dialect.content_type)


def _stop_before_delta(dialect: Dialect) -> Sent:
    first = _events(dialect)[0]
    return Sent((first[: len(first) // 2],), dialect.content_type, then="drop")


def _stop_mid_event(dialect: Dialect) -> Sent:
    events = _events(dialect)
    shown = _with_first_delta(dialect)
    following = events[len(shown)]
    return Sent((*shown, following[: len(following) // 2]), dialect.content_type, then="drop")


def _end_mid_answer(dialect: Dialect) -> Sent:
    return Sent(tuple(_with_first_delta(dialect)), dialect.content_type)


def _silence(dialect: Dialect) -> Sent:
    return Sent((), dialect.content_type, then="stall")


def _silence_behind_delta(dialect: Dialect) -> Sent:
    return Sent(tuple(_with_first_delta(dialect)), dialect.content_type, then="stall")


def _garbage(dialect: Dialect) -> Sent:
    is_lines = "ndjson" in dialect.content_type
    return Sent((b"<<< \xff >>>\n" if is_lines else b"data: <<< \xff >>>\n\n",), dialect.content_type)


def _wrong_type(_: Dialect) -> Sent:
    return Sent((b"<html>Welcome to the hotel's network</html>",), "text/html")


SCRIPTED: Mapping[str, Callable[[Dialect], Sent]] = {
    "401": _refused(401),
    "402": _refused(402),
    "403": _refused(403),
    "404": _refused(404),
    "408": _refused(408),
    "413": _refused(413),
    "429": _refused(429),
    "429, retry-after 0": _refused(429, {"retry-after": "0"}),
    "429, retry-after 3600": _refused(429, {"retry-after": "3600"}),
    "500": _refused(500),
    "503": _refused(503),
    "529": _refused(529),
    "overflow": _overflow,
    "error after 200": _error_before_delta,
    "error behind a delta": _error_behind_delta,
    "stop mid-event": _stop_before_delta,
    "stop mid-event behind a delta": _stop_mid_event,
    "end without the end": _end_mid_answer,
    "silence": _silence,
    "silence behind a delta": _silence_behind_delta,
    "garbage": _garbage,
    "wrong content type": _wrong_type,
}
"""By fault, what is sent instead of an answer."""
NO_TLS, UNTRUSTED, PROXY = "no TLS there", "certificate not trusted", "proxy refuses"
FAULTS = (*SCRIPTED, NO_TLS, UNTRUSTED, PROXY)


async def cell(fault: str, dialect: Dialect) -> Cell:
    """Makes the call. Raises FileNotFoundError when a certificate is needed and there is no openssl to make it."""
    async with AsyncExitStack() as stack:
        stack.enter_context(_short_silence())
        if fault == UNTRUSTED:
            url = await stack.enter_async_context(_untrusted())
        elif fault == NO_TLS:
            url = await stack.enter_async_context(_hanging_up(None))
        else:
            fake = await stack.enter_async_context(FakeModels())
            url = fake.url
            if fault == PROXY:
                stack.enter_context(patch.dict(os.environ, {"HTTPS_PROXY": url}))
                url = "https://service.test"
            else:
                fake.script += [SCRIPTED[fault](dialect)] * ATTEMPTS
        policy = _Counting(attempts=ATTEMPTS, backoff_s=0.001)
        client = await stack.enter_async_context(aclosing(BUILD[dialect.name](url, policy)))
        async with asyncio.timeout(WAIT_S):
            answer = await collect(client.stream(context(user("Hi"))))
        assert answer.error is not None, f"{fault}, {dialect.name}: the call went well"
        return Cell(answer.error.kind, len(policy.attempted) > 1, str(answer.error))


@contextmanager
def _short_silence() -> Iterator[None]:
    with patch.object(http, "TIMEOUT", httpx.Timeout(10, read=SILENCE_S)):
        yield


@asynccontextmanager
async def _untrusted() -> AsyncIterator[str]:
    """The address of a service whose certificate nobody signed but itself."""
    with tempfile.TemporaryDirectory() as directory:
        key, certificate = Path(directory, "key.pem"), Path(directory, "certificate.pem")
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
        command += ["-keyout", str(key), "-out", str(certificate)]
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, timeout=30)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
    async with _hanging_up(tls) as url:
        yield url


@asynccontextmanager
async def _hanging_up(tls: ssl.SSLContext | None) -> AsyncIterator[str]:
    """The address of what says something that is not TLS, or not HTTP, and goes."""

    def go(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"Hello, I am a teapot.\r\n")
        writer.close()

    server = await asyncio.start_server(go, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _print_table() -> None:
    for fault in FAULTS:
        for dialect in DIALECTS:
            with contextlib.suppress(FileNotFoundError):
                found = await cell(fault, dialect)
                retried = "again" if found.is_retried else "once"
                row = f"{fault:30} {dialect.name:10} {found.kind.value:17} {retried:6} {found.message}"
                sys.stdout.write(f"{row}\n")


if __name__ == "__main__":
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        for each in (name, name.lower()):
            os.environ.pop(each, None)
    asyncio.run(_print_table())
