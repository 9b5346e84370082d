"""The object that `palimpsest chat --json` prints, with the same keys for an answer and for a failure."""

from __future__ import annotations

from typing import Any

import attrs

from palimpsest.printing import say_json
from palimpsest.terminal import texts
from palimpsest.terminal.errors import REQUEST_CANCELLED, RequestFailed, TerminalError
from palimpsest.terminal.render import ending
from palimpsest.wire.areas.lifecycle import ErrorData
from palimpsest.wire.areas.turns import ChatResult, TurnStatus


def say_answer(text: str, result: ChatResult) -> None:
    """Print how a turn ended. `error` is null for a whole answer alone."""
    error = None if result.status is TurnStatus.COMMITTED else _error(ending(result) or "")
    _say(
        text,
        model=result.usage.model,
        usage=attrs.asdict(result.usage),
        conversation_id=result.conversation_id,
        status=result.status,
        stop_reason=result.stop_reason,
        error=error,
    )


def say_failure(error: TerminalError | str | None, text: str = "", conversation_id: str | None = None) -> None:
    """Print that there is no result: because of `error`, or None when the user stopped it. `text` is what came of an
    answer before."""
    is_stopped = error is None or (isinstance(error, RequestFailed) and error.code == REQUEST_CANCELLED)
    _say(
        text,
        conversation_id=conversation_id,
        status=TurnStatus.CANCELLED if is_stopped else TurnStatus.ERRORED,
        error=_error(str(error or texts.CANCELLED), error.data if isinstance(error, RequestFailed) else None),
    )


def _error(message: str, data: ErrorData | None = None) -> dict[str, Any]:
    return {
        "message": message,
        "kind": None if data is None else data.kind,
        "retryable": data is not None and data.retryable,
    }


def _say(
    text: str,
    *,
    status: TurnStatus,
    error: dict[str, Any] | None,
    model: str | None = None,
    usage: dict[str, Any] | None = None,
    conversation_id: str | None = None,
    stop_reason: str | None = None,
) -> None:
    say_json(
        {
            "text": text,
            "model": model,
            "usage": usage,
            "conversation_id": conversation_id,
            "status": status.value,
            "stop_reason": stop_reason,
            "error": error,
        }
    )
