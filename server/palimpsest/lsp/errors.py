"""The conversion of our errors to JSON-RPC errors, in one place."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.errors import (
    NO_HANDLES,
    InvalidRequest,
    LeaseLost,
    PalimpsestError,
    SharedBusy,
    SharedIsAway,
    StoreError,
    is_out_of_handles,
)
from palimpsest.machine.extras import missing_in
from palimpsest.wire.areas.lifecycle import ErrorData
from palimpsest.wire.codec.convert import to_json

P = ParamSpec("P")
T = TypeVar("T")


def to_rpc(error: PalimpsestError) -> JsonRpcException:
    """The code, message and `ErrorData` of an expected failure."""
    if isinstance(error, InvalidRequest):
        code: int = lsp.ErrorCodes.InvalidParams
    elif isinstance(error, LeaseLost):
        code = lsp.LSPErrorCodes.ContentModified
    else:
        code = lsp.LSPErrorCodes.RequestFailed
    detail = error.detail
    data = ErrorData(
        kind=error.kind.value,
        retryable=error.is_retryable,
        retry_after_ms=detail.retry_after_ms,
        provider=detail.provider,
        model=detail.model,
        limit_tokens=detail.limit_tokens,
        projected_tokens=detail.projected_tokens,
        holder=detail.holder,
        until=detail.until,
        can_fork=True if isinstance(error, SharedBusy | SharedIsAway) else None,
        turn_id=getattr(error, "turn_id", None),
        missing_extra=missing_in(str(error)),
    )
    return JsonRpcException(str(error), int(code), to_json(data))


def answers(handler: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Wraps a handler so that its expected failures become errors that an editor can show."""

    @functools.wraps(handler)
    async def answer(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await handler(*args, **kwargs)
        except PalimpsestError as error:
            raise to_rpc(error) from error
        except OSError as error:
            if is_out_of_handles(error):
                raise to_rpc(StoreError(NO_HANDLES)) from error
            raise

    return answer
