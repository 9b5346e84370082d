"""Cases that `make test` leaves out, beside others of the same test that it runs."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """One set of values for `pytest.mark.parametrize`, with the mark `slow`."""
    return pytest.param(*values, marks=pytest.mark.slow)
