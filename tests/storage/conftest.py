from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _template_store() -> None:
    """A no-op here: the migrations run for every store."""
