"""What an editor says about its workspace folders before it asks for anything: their settings, and trust."""

from __future__ import annotations

from typing import Any

import attrs

from palimpsest.wire.declare import Direction, Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class EditorOptions(Wire):
    """`initializationOptions.palimpsest`, all of it optional."""

    trust: bool | list[str] | None = None
    """Whether the user trusts the workspace folders, all of them, or the URIs of those that are trusted. Absent: the
    folders count that were named to `palimpsest trust`."""
    settings: Any | None = None
    """The editor's settings, an object as in docs/settings.md, for all folders. An editor that answers
    `workspace/configuration` is asked instead, for the section `palimpsest` of each folder, and this counts where that
    is null."""


@attrs.frozen(eq=False, repr=False)
class TrustChangedParams(Wire):
    """The user trusts a workspace folder, or does not any more."""

    folder_uri: str
    """The folder."""
    is_trusted: bool
    """Whether its project settings, its instructions and its tools count."""


MESSAGES: tuple[Request | Notification, ...] = (
    Notification(
        "palimpsest/didChangeTrust",
        TrustChangedParams,
        "The user's trust in a workspace folder has changed. It counts at once.",
        Direction.CLIENT_TO_SERVER,
    ),
)
