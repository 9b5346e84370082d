"""One model service over HTTP: requests, event streams, retries, and a `ProviderError` for every foreign error.

Only this module knows httpx-sse, and only it and `pages` httpx; none of their types leaves it. `faults` decides what a
service's refusal means. The connection stays open between calls, so the owner of a client closes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

import httpx
import tenacity
import truststore
from httpx_sse import EventSource

from palimpsest.domain import foreign_json
from palimpsest.domain.errors import NO_HANDLES, ErrorDetail, ErrorKind, ProviderError, is_out_of_handles
from palimpsest.domain.models.provider import Counted, Finished, Pause, StreamEvent, TokenUsage
from palimpsest.domain.models.providers import BY_NAME
from palimpsest.domain.turns.answers import IncomingAnswer
from palimpsest_clients import faults
from palimpsest_clients.retry import RetryPolicy

log = logging.getLogger(__name__)

TIMEOUT: Final = httpx.Timeout(connect=10, pool=10, write=60, read=300)
"""Seconds. `read` is the longest silence while a model thinks."""
FETCH_TIMEOUT: Final = httpx.Timeout(10)
"""Seconds for each step of a request that is answered at once."""
_ERROR_BODY_BYTES: Final = 64 * 1024
_BODY_BYTES: Final = 16 * 1024 * 1024
"""The longest answer that is read: lists of models reach a megabyte."""
_LINE_BYTES: Final = 32 * 1024 * 1024
"""The longest line of an event stream. Some services send many calls, each with a file in it, as one line."""
_ANSWER_BYTES: Final = 1 << 30
"""The longest stream: each piece of an answer has several hundred bytes around it."""
_ODD: Final = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""The exceptions of a decoder for an event that is not of the expected shape."""
_DRAIN_S: Final = 0.2
_TOLD_PAUSE_S: Final = 1.0
"""Nobody is told of a shorter pause between two attempts."""
_FOREIGN_ERRORS: Final = (
    *(httpx.HTTPError, httpx.InvalidURL, httpx.StreamError),
    *(OSError, UnicodeError, ExceptionGroup),  # sockets and name lookups, which httpx does not wrap completely
)


class Decoder(Protocol):
    """Turns the JSON events of one answer into stream events. No I/O; each attempt has its own decoder.

    It ignores what it does not know. An exception in `_ODD` means that an event is not of the expected shape.
    """

    def feed(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]: ...

    @property
    def is_done(self) -> bool:
        """Whether the answer is complete, with its usage, so that nothing more needs to be read."""
        ...

    def finish(self) -> Finished | None:
        """The last event; None when the service has not said that the answer is complete.

        Raises ProviderError when the service said that the answer failed.
        """
        ...


class KeyHeader(httpx.Auth):
    """Adds the key to each request, so that no client, request or error of ours holds it in sight."""

    __slots__ = ("_name", "_value")

    def __init__(self, provider: str, name: str, key: str, prefix: str = "") -> None:
        key = key.strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ProviderError(
                ErrorKind.AUTH,
                f"The key for {provider} is empty or contains characters that no key has. Enter it again.",
                ErrorDetail(provider=provider),
            )
        self._name = name
        self._value = prefix + key

    def __repr__(self) -> str:
        return f"KeyHeader({self._name})"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers[self._name] = self._value
        yield request


def key_header(provider: str, auth: tuple[str, str] | None, key: str | None) -> KeyHeader | None:
    """The header for `key`: `auth` is its name and what stands before the key. None when no key is sent.

    Raises ProviderError (auth) when `key` cannot be a key."""
    if key is None or auth is None:
        return None
    name, prefix = auth
    return KeyHeader(provider, name, key, prefix)


@dataclass(slots=True)
class _Pauses:
    """The pauses between the attempts of one call. The call itself waits, so that it can tell of them and end them."""

    provider: str
    pause: Pause | None = None
    """The pause before the next attempt; None before the first one."""
    _is_skipped: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, state: tenacity.RetryCallState) -> None:
        assert state.outcome is not None
        assert state.next_action is not None
        error = state.outcome.exception()
        assert isinstance(error, ProviderError)
        self._is_skipped = asyncio.Event()
        reason = faults.reason_to_wait(self.provider, error.kind)
        self.pause = Pause(reason, state.next_action.sleep, state.attempt_number, self._is_skipped.set)

    async def leave_out(self, seconds: float) -> None:
        """Tenacity's own wait."""

    async def wait(self) -> None:
        if self.pause is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.pause.seconds):
                    await self._is_skipped.wait()


class ModelService:
    """The address of one service and the way to ask it. Reusable; safe for several calls at once."""

    def __init__(
        self, provider: str, base_url: str, headers: Mapping[str, str], key: KeyHeader | None, retry: RetryPolicy
    ) -> None:
        self._provider = provider
        self._base_url = base_url
        self._headers = {"accept": "text/event-stream", "user-agent": "palimpsest", **headers}
        self._key = key
        self._retry = retry
        self._client: httpx.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close idle connections. A later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def stream(
        self, path: str, body: Mapping[str, Any], new_decoder: Callable[[], Decoder], model: str = ""
    ) -> AsyncGenerator[StreamEvent, None]:
        """One call of `model`, or of `body["model"]`, which is repeated after a failure as long as no part of an answer
        was yielded.

        Raises only ProviderError. Every event has passed `IncomingAnswer`.
        """
        model = model or str(body["model"])
        payload = _encoded(body)
        pauses = _Pauses(self._provider)
        async for attempt in self._retry.retrying().copy(before_sleep=pauses.begin, sleep=pauses.leave_out):
            if (pause := pauses.pause) is not None:
                if pause.seconds >= _TOLD_PAUSE_S:
                    yield pause
                await pauses.wait()
            events, failure = self._attempt(path, payload, model, new_decoder()), None
            try:
                # No part of an answer, so what fails behind it is tried again; yielded at once, because from here on
                # the service charges for the request, also when the call is cancelled before it says anything.
                while isinstance(first := await anext(events), Counted):
                    yield first
            except ProviderError as error:
                failure = error
            except BaseException:
                await events.aclose()
                raise
            with attempt:
                if failure is not None:
                    raise failure
        async with aclosing(events):
            yield first
            async for event in events:
                yield event

    async def fetch(self, path: str, model: str = "", body: Mapping[str, Any] | None = None) -> Any:
        """The JSON that the service answers at once, to a GET, or to a POST of `body`. There is one attempt.

        `path` may be a whole address; the key goes there too. Errors name `model`. Raises only ProviderError.
        """
        headers = {"accept": "application/json", "content-type": "application/json"}
        method, payload = ("GET", None) if body is None else ("POST", _encoded(body))
        try:
            asked = self._open().stream(method, path, content=payload, headers=headers, timeout=FETCH_TIMEOUT)
            async with asked as response:
                answer = await _body(response, _BODY_BYTES if response.is_success else _ERROR_BODY_BYTES)
        except _FOREIGN_ERRORS as error:
            raise transport_error(self._provider, model, error, self._base_url) from error
        if not response.is_success:
            raise self._refusal(model, response.status_code, answer, response.headers)
        if isinstance(answer, str):
            raise self._bad_response(model, "answered with something that is not JSON")
        return answer

    async def _attempt(
        self, path: str, payload: bytes, model: str, decoder: Decoder
    ) -> AsyncGenerator[StreamEvent, None]:
        answer = IncomingAnswer()
        has_begun = False
        try:
            request = self._open().stream("POST", path, content=payload, headers={"content-type": "application/json"})
            async with request as response, aclosing(self._events(response, model)) as events:
                async for event in events:
                    items = list(self._decoded(event, decoder, model))
                    if not has_begun and not any(isinstance(item, Counted) for item in items):
                        yield answer.take(Counted(TokenUsage()))
                    has_begun = True
                    for item in items:
                        yield answer.take(item)
                    if decoder.is_done:
                        break
                await _drain(events)
        except _FOREIGN_ERRORS as error:
            if (
                self._end(decoder, model) is None
            ):  # otherwise the answer is complete, and only the end of the connection is missing
                raise transport_error(self._provider, model, error, self._base_url) from error
        finished = self._end(decoder, model)
        if finished is None:
            raise faults.failure(self._provider, model, ErrorKind.NETWORK, "broke off in the middle of its answer")
        yield answer.take(finished)

    async def _events(self, response: httpx.Response, model: str) -> AsyncGenerator[Mapping[str, Any], None]:
        """The JSON objects of an event stream or of NDJSON, in order, up to the end or `[DONE]`."""
        content_type = response.headers.get("content-type", "")
        is_lines = "ndjson" in content_type
        if not response.is_success or not (is_lines or "text/event-stream" in content_type):
            body = await _body(response, _ERROR_BODY_BYTES)
            is_error = isinstance(body, Mapping) and "error" in body
            if not response.is_success or is_error:
                status = None if response.is_success else response.status_code
                raise self._refusal(model, status, body, response.headers)
            raise self._bad_response(model, "answered with something that is not an event stream")
        response.encoding = "utf-8"  # the encoding of event streams, whatever the header says
        async with aclosing(_lines(response) if is_lines else _event_data(response)) as source:
            async for data in source:
                if data == "[DONE]":
                    await _drain(source)
                    return
                if data:
                    yield self._json_object(data, model, response.headers)

    def _json_object(self, data: str, model: str, headers: Mapping[str, str]) -> Mapping[str, Any]:
        try:
            event = foreign_json.read(data)
        except ValueError:
            event = None
        if not isinstance(event, Mapping):
            raise self._bad_response(model, "sent an event that is not a JSON object")
        if event.get("error"):
            raise self._refusal(model, None, event, headers)
        return event

    def _decoded(self, event: Mapping[str, Any], decoder: Decoder, model: str) -> Sequence[StreamEvent]:
        try:
            return decoder.feed(event)
        except _ODD:
            # Not chained: the cause quotes the event.
            raise self._bad_response(model, "sent an event of an unknown shape") from None

    def _end(self, decoder: Decoder, model: str) -> Finished | None:
        try:
            return decoder.finish()
        except _ODD:
            raise self._bad_response(model, "sent an event of an unknown shape") from None

    def _bad_response(self, model: str, what: str) -> ProviderError:
        return faults.failure(self._provider, model, ErrorKind.BAD_RESPONSE, what)

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            try:
                self._client = _new_client(self._base_url, self._headers, self._key)
            except (ImportError, ValueError):
                # httpx refuses the proxies of the environment here: an unknown scheme, or SOCKS without its package.
                raise ProviderError(
                    ErrorKind.NETWORK,
                    f"{self._provider} cannot be asked through the proxy that the environment names. "
                    "Use a proxy address that begins with http:// or https://.",
                    ErrorDetail(provider=self._provider),
                ) from None
        return self._client

    def _refusal(self, model: str, status: int | None, body: Any, headers: Mapping[str, str]) -> ProviderError:
        """The error for the answer. The service's id of the request is for its support, so only the log gets it."""
        if request_id := faults.request_id(headers):
            log.info("%s did not answer its request %s", self._provider, request_id)
        return faults.from_answer(self._provider, model, status, body, headers, has_key=self._key is not None)


def transport_error(provider: str, model: str, error: Exception, base_url: str = "") -> ProviderError:
    """The ProviderError for every exception of httpx and of what httpx lets through. `base_url`: the address that
    was asked."""
    name = type(error).__name__
    place, next_step = _where(provider, base_url)
    if any(is_out_of_handles(each) for each in _chain(error)):
        return ProviderError(ErrorKind.NETWORK, NO_HANDLES, ErrorDetail(provider, model), is_retryable=True)
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in _chain(error)):
        what = "shows a certificate that this system does not trust. Add its authority to the system's store"
        return faults.failure(provider, model, ErrorKind.NETWORK, what, is_retryable=False)
    match error:
        case (
            httpx.InvalidURL()
            | httpx.UnsupportedProtocol()
            | httpx.LocalProtocolError()
            | UnicodeError()
            | ExceptionGroup()
        ):
            what = f"has no usable base address ({name}); it must be a whole one with http:// or https://"
            return faults.failure(provider, model, ErrorKind.NETWORK, what, is_retryable=False)
        case httpx.ProxyError():
            what = f"could not be reached: the proxy refused ({name})"
            return faults.failure(provider, model, ErrorKind.NETWORK, what, is_retryable=False)
        case httpx.TimeoutException():
            return faults.failure(provider, model, ErrorKind.NETWORK, f"did not answer in time{place} ({name})")
        case httpx.ConnectError() | OSError():
            what = f"could not be reached{place}{next_step}" if place else f"could not be reached ({name})"
            return faults.failure(provider, model, ErrorKind.NETWORK, what)
        case httpx.TransportError():
            return faults.failure(provider, model, ErrorKind.NETWORK, f"broke the connection off ({name})")
        case _:
            what = f"answered in a way that cannot be read ({name})"
            return faults.failure(provider, model, ErrorKind.BAD_RESPONSE, what)


def _where(provider: str, base_url: str) -> tuple[str, str]:
    """The place of a service, without a name and a password that the address may contain, and what to do when
    nothing answers there. Both are empty when `base_url` is no address."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        return "", ""
    if not url.host:
        return "", ""
    place = f" at {url.scheme}://{url.netloc.decode('ascii')}"
    entry = BY_NAME.get(provider)
    if entry is None:
        variable = f"providers.{provider}.base_url"
    else:
        variable = entry.address_variable if entry.takes_key else entry.host_variable
    start = f"with `{entry.start_command}`" if entry and entry.start_command else "there"
    if url.host == "localhost" or url.host.startswith("127.") or url.host == "::1":
        return place, f". Start the service {start}, or check {variable}, then try again"
    return place, ". Check the network and the address, then try again"


def _new_client(base_url: str, headers: Mapping[str, str], key: KeyHeader | None) -> httpx.AsyncClient:
    """No transport is passed: that would switch the proxies of the environment off."""
    return httpx.AsyncClient(
        base_url=base_url,
        headers=headers,
        auth=key,
        timeout=TIMEOUT,
        verify=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        limits=httpx.Limits(max_connections=20, max_keepalive_connections=5, keepalive_expiry=30),
    )


async def _event_data(response: httpx.Response) -> AsyncGenerator[str, None]:
    bounded = cast(httpx.Response, _BoundedLines(response))
    async with aclosing(EventSource(bounded).aiter_sse()) as events:
        async for event in events:
            yield event.data.strip()


class _BoundedLines:
    """The part of a response that `EventSource` needs. Raises httpx.StreamError when a line or the answer is too
    long."""

    def __init__(self, response: httpx.Response) -> None:
        self.headers = response.headers
        self._response = response

    async def aiter_text(self) -> AsyncGenerator[str, None]:
        n_in_line = n_in_all = 0
        async for text in self._response.aiter_text():
            end = max(text.rfind("\n"), text.rfind("\r"))
            n_in_line = n_in_line + len(text) if end < 0 else len(text) - end - 1
            n_in_all += len(text)
            if n_in_line > _LINE_BYTES or n_in_all > _ANSWER_BYTES:
                raise httpx.StreamError("A line, or the answer, is too long.")
            yield text


async def _lines(response: httpx.Response) -> AsyncGenerator[str, None]:
    """The lines, which end at a newline and nowhere else (for httpx also at U+2028 and U+0085). A line without its
    end was cut off and is left out."""
    begun = bytearray()
    async for chunk in response.aiter_bytes():
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            begun += line
            yield begun.decode("utf-8", "replace").strip()
            begun.clear()
        begun += rest
        if len(begun) > _LINE_BYTES:
            raise httpx.StreamError("A line is too long.")


async def _drain(rest: AsyncIterator[object]) -> None:
    """Read the little that may follow a complete answer, so that the connection can be used again."""
    with contextlib.suppress(TimeoutError, ProviderError, *_FOREIGN_ERRORS):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in rest:
                pass


def _encoded(body: Mapping[str, Any]) -> bytes:
    """A lone surrogate (a half-escaped emoji in the arguments of a call) has no UTF-8 and becomes a question mark."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


async def _body(response: httpx.Response, most_bytes: int) -> Any:
    """The decoded JSON, or the text when it is not JSON. It is bounded, because the error page of a proxy may be
    anything."""
    raw = bytearray()
    async for chunk in response.aiter_bytes():
        raw += chunk
        if len(raw) >= most_bytes:
            break
    text = raw[:most_bytes].decode("utf-8", "replace")
    try:
        return foreign_json.read(text)
    except ValueError:
        return text


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, its cause, and so on; for a group, those of each member."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for each in error.exceptions:
                yield from _chain(each)
        error = error.__cause__ or error.__context__
