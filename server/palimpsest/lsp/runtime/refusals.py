"""The errors that an editor gets in place of a result."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcException, JsonRpcInternalError


def refusal(kind: type[JsonRpcException], name: str, message: str, **data: Any) -> JsonRpcException:
    """An error that an editor can show (`message` is a sentence) and a program can read (`data.kind` is `name`)."""
    return kind(message, data={"kind": name, "retryable": False} | data)


def internal_error() -> JsonRpcException:
    """The error for every failure whose text must not leave the process."""
    return refusal(JsonRpcInternalError, "internal", "Something went wrong inside the server; its log says more.")
