from __future__ import annotations

from pathlib import Path

import pytest
from tests.services.facts.librarians import CODE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one file, `shapes.py`."""
    root = tmp_path / "folder"
    root.mkdir()
    (root / "shapes.py").write_text(CODE)
    return root
