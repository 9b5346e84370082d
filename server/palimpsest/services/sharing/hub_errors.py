"""What the hub says no to, as errors for the user."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from palimpsest.domain.errors import ConversationBusy, HubFailed, HubIsAway
from palimpsest_hub.errors import HubRefused, HubUnreachable


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Raises what the hub raises in the block as errors for the user: HubIsAway, ConversationBusy, HubFailed."""
    try:
        yield
    except HubUnreachable as error:
        raise HubIsAway from error
    except HubRefused as refused:
        if refused.kind == "busy":
            raise ConversationBusy(str(refused).rstrip(".")) from refused
        raise HubFailed(str(refused)) from refused
