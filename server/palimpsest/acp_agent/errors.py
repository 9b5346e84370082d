"""The errors of requests: one sentence that says what to do."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Final, ParamSpec, TypeVar

from acp import RequestError

from palimpsest.domain.errors import ErrorKind, InvalidRequest, PalimpsestError

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_INVALID_PARAMS: Final = -32602
_INTERNAL: Final = -32603
_NOT_FOUND: Final = -32002
"""Not -32000: clients read that as a request to log in, which here happens outside the protocol."""


def answers(handler: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Turn every failure of a handler into an answer. An unexpected one is logged without its text."""

    @functools.wraps(handler)
    async def handle(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await handler(*args, **kwargs)
        except PalimpsestError as error:
            raise to_request_error(error) from error
        except RequestError:
            raise
        except Exception as error:
            log.error("a request failed (%s)", type(error).__name__)
            sentence = "The request failed inside Palimpsest. All messages are kept. Try again."
            raise RequestError(_INTERNAL, sentence, {"kind": ErrorKind.INTERNAL.value}) from None

    return handle


def to_request_error(error: PalimpsestError) -> RequestError:
    code = _INVALID_PARAMS if isinstance(error, InvalidRequest) else _INTERNAL
    if error.kind is ErrorKind.NOT_FOUND:
        code = _NOT_FOUND
    return RequestError(code, str(error), {"kind": error.kind.value, "isRetryable": error.is_retryable})
