"""Commands that need more than is installed with the server."""

from __future__ import annotations

import importlib.util

from palimpsest.printing import complain


def has_extra(name: str) -> bool:
    """Whether the package of an extra is installed, which has the extra's name; says so when not."""
    if importlib.util.find_spec(name) is not None:
        return True
    complain(f"`palimpsest {name}` needs the extra {name!r}. Install it: pip install 'palimpsest-ls[{name}]'")
    return False
