"""The check that an optional extra is installed."""

from __future__ import annotations

import importlib.util

from palimpsest.printing import complain


def has_extra(name: str) -> bool:
    """Whether an extra is installed; if not, tell the user how to install it. Its package has the same name."""
    if importlib.util.find_spec(name) is not None:
        return True
    complain(f"`palimpsest {name}` needs the extra `{name}`. Install it: pip install 'palimpsest-ls[{name}]'")
    return False
