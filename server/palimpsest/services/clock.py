"""The wall clock, in the one form that is stored and shown. Nothing is ordered by it: sequence numbers order."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
