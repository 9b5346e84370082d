"""The version in the lock of the VS Code extension. `dev.generate_settings` writes it into the manifest."""

from __future__ import annotations

import json
from typing import Final

from dev import ROOT
from palimpsest.__about__ import __version__

_LOCK: Final = "editors/vscode/package-lock.json"


def outputs() -> dict[str, str]:
    """The text of every file that is generated here, by its path below the repository's root."""
    lock = json.loads((ROOT / _LOCK).read_text("utf-8"))
    lock["version"] = lock["packages"][""]["version"] = __version__
    return {_LOCK: json.dumps(lock, ensure_ascii=False, indent=2) + "\n"}
