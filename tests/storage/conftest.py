from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _template_store() -> None:
    """Here the migrations run for every store."""
