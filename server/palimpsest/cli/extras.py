"""The check that an optional extra is installed."""

from __future__ import annotations

import importlib.util
from typing import Final

from palimpsest.machine.extras import how_to_install
from palimpsest.printing import complain

_PACKAGES: Final = {"hub": "psycopg"}
"""The package of an extra that has another name."""


def has_extra(name: str) -> bool:
    """Whether an extra is installed; if not, tell the user how to install it."""
    if importlib.util.find_spec(_PACKAGES.get(name, name)) is not None:
        return True
    complain(f"`palimpsest {name}` needs the extra `{name}`. Install it: {how_to_install(name)}")
    return False
