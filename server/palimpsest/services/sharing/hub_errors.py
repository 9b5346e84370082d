"""What the hub says no to, as errors for the user."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from palimpsest.domain.errors import HubFailed, HubIsAway, SharedBusy
from palimpsest.domain.sharing.status import doing
from palimpsest_hub.errors import HubRefused, HubUnreachable

_IS_WRITING: Final = " is writing here: "
"""Stands behind the member's name in what the hub says (`hub.lease`)."""


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Raises what the hub raises in the block as errors for the user: HubIsAway, SharedBusy, HubFailed."""
    try:
        yield
    except HubUnreachable as error:
        raise HubIsAway from error
    except HubRefused as refused:
        if refused.kind == "busy":
            holder, _, work = str(refused).removesuffix(".").partition(_IS_WRITING)
            sentence = f"{holder} is {doing(work)}. Wait for the end, or go on in a fork."
            raise SharedBusy(sentence, holder, refused.until) from refused
        raise HubFailed(str(refused), needs_newer=refused.kind in ("upgrade", "schema")) from refused
